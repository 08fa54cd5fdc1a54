"""The contract of a head, and one folder for each architecture."""
