"""Formats in and out, the synthetic corpus, statistics."""
