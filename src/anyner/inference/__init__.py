"""From texts to documents with entities, and the thresholds in between."""
