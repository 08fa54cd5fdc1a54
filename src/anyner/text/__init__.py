"""Words, windows, and alignment of characters and words."""
