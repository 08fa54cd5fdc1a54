"""SetGNER: every word that starts an entity generates its entities, word by word, all of them in parallel."""
