"""SetGNER: every word that begins an entity generates its entities, word by word, all of them in parallel."""
