"""Locate and Label: seed spans are filtered, their boundaries moved, and what comes of them labelled (Shen et al. 2021)."""
