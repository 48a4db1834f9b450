"""Counted units of the machine: GPUs and other resources of nodes, and licences."""
