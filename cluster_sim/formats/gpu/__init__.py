"""Logs of clusters with GPUs."""
