"""Trainings: configuration, validation, checkpoints, agents and their evaluation."""

from cluster_sim.packages import offered

__getattr__, __dir__, __all__ = offered(__name__, __file__)
