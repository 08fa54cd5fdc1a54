"""Prediction on clusters: Ray, and Spark by way of Arrow."""
