"""Scores, slices and errors of entity sets; no torch."""
