"""The jobs: their columns, what can be done to them before a run, and where they come from."""

from cluster_sim.packages import offered

__getattr__, __dir__, __all__ = offered(__name__, __file__)
