"""The hardware as it is described: nodes, processors, cores, what they draw, and a library of machines."""

from cluster_sim.packages import offered

__getattr__, __dir__, __all__ = offered(__name__, __file__)
