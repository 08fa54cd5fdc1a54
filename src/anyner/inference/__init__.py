"""From texts to documents with entities, and the thresholds in between."""

from typing import Literal

RuntimeName = Literal["auto", "torch", "onnx", "int8"]
"""What runs a model; `auto` chooses between torch and onnx."""
