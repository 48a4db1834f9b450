"""The best schedule there is, for small instances: see :mod:`schedulers.optimum.search`."""

from schedulers.optimum.search import OBJECTIVES, Objective, Optimum, optimum

__all__ = ["OBJECTIVES", "Objective", "Optimum", "optimum"]
