"""SetGNER: every word that begins an entity grows its entities, word by word, all of them in parallel."""
