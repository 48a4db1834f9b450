"""Networks of agents, and their registry."""

from cluster_sim.extras import needed

with needed("learning.networks"):
    import torch  # noqa: F401
