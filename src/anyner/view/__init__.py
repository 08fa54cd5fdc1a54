"""Entities drawn in the terminal and in HTML."""
