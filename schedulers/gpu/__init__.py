"""Schedulers and orders for GPUs."""
