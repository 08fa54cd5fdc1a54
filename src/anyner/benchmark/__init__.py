"""Accuracy, speed and memory of a recipe or a model, in the form of the files in benchmarks/results."""
