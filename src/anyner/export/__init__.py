"""Exports models to ONNX graphs, and checks that these give the same entities."""
