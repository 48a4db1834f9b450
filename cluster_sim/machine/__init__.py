"""The SimPy side: cores that are held, channels that are shared, nodes that switch, and the ledger of it all."""
