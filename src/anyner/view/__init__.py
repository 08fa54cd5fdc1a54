"""Entities drawn for people."""
