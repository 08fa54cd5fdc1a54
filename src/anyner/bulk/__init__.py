"""Prediction on files of any size: in chunks, by several processes, resumable after a kill."""
