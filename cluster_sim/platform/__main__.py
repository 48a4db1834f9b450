"""``python -m cluster_sim.platform > docs/reference/machines.md``: the manual's page of machines."""

from cluster_sim.platform.library import machines_page

print(machines_page(), end="")
