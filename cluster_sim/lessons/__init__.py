"""The lessons are analysis.lessons now; this name stays for one release."""

import warnings

from cluster_sim.siblings import sibling

warnings.warn("cluster_sim.lessons is analysis.lessons now", DeprecationWarning, stacklevel=2)


def __getattr__(name: str) -> object:
    return getattr(sibling("analysis.lessons"), name)
