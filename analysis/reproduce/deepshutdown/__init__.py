"""Casagrande et al. (2022), DeepShutdown."""
