"""The best schedule there is, for small instances: see :mod:`schedulers.optimum.search`."""

from schedulers.optimum.search import OBJECTIVES, Optimum, optimum

__all__ = ["OBJECTIVES", "Optimum", "optimum"]
