"""From the documents of a recipe to training examples and batches."""
