"""Words, windows, and the way between characters and words."""
