"""NodeShutdown: choose how many nodes are kept off (Casagrande et al. 2022)."""
