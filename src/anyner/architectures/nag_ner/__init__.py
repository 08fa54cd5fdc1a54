"""NAG-NER: a non-autoregressive decoder generates all entities of all words in one pass."""
