"""NAG-NER: all entities of all words in one pass of a decoder that writes nothing after anything else."""
