"""One run: jobs on their way through it, who decides when, and what policies see."""

from cluster_sim.packages import offered

__getattr__, __dir__, __all__ = offered(__name__, __file__)
