"""Locate and Label: seed spans are filtered, their boundaries shifted, and the shifted spans labelled (Shen et al. 2021)."""
