"""Many runs are analysis.sweep now; this name stays for one release."""

import warnings

from cluster_sim.siblings import sibling

warnings.warn("cluster_sim.sweep is analysis.sweep now", DeprecationWarning, stacklevel=2)


def __getattr__(name: str) -> object:
    return getattr(sibling("analysis.sweep"), name)
