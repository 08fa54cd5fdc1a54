"""Reading and writing corpus formats, the synthetic corpus, statistics."""
