"""The model folder."""
