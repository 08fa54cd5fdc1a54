"""The analyses of the papers, a script for each architecture, and their tables."""
