"""What a head is, and one folder for each architecture."""
