"""Prediction: from texts to documents with entities; tuning of thresholds, and calibration."""

from typing import Literal

RuntimeName = Literal["auto", "torch", "onnx", "int8"]
"""The runtime of a model; `auto` chooses between torch and onnx."""
