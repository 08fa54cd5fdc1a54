"""Drawings of entities, reports and trainings: terminal, HTML, SVG."""
