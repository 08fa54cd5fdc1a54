"""Models for other runtimes: their graphs, and the proof that these give the same entities."""
