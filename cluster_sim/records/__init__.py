"""What a run leaves: tables, accounts, metrics, explanations; saved and loaded."""

from cluster_sim.packages import offered

__getattr__, __dir__, __all__ = offered(__name__, __file__)
