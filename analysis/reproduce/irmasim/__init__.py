"""Herrera et al. (2021), IRMaSim."""
