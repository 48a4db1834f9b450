"""Cores of a machine by what their nodes do, for agents that switch nodes."""

from __future__ import annotations

from cluster_sim.machine.node import NodeState
from cluster_sim.run.view import View
from learning.tasks.feature_table import FeatureTable, feature


class CoresByState(FeatureTable):
    """Cores by what their node does."""

    off = feature("cores of nodes that are off", "over all")
    booting = feature("cores of nodes that boot", "over all")
    idle_cores = feature("idle cores of nodes that are on", "over all")
    computing = feature("cores in use", "over all")
    shutting_down = feature("cores of nodes that shut down", "over all")


def cores_by_state(view: View) -> tuple[float, float, float, float, float]:
    """Return :class:`CoresByState`, in cores."""
    cores, free = view.platform.node_cores, view.free_cores
    on, off = view.machine.powered_on, view.machine.powered_off
    booting = closing = 0
    for node in view.machine.transition_ends:
        if view.machine.node(node).state is NodeState.SWITCHING_ON:
            booting += int(cores[node])
        else:
            closing += int(cores[node])
    idle, cores_on, cores_off = (float(sum(counts.tolist())) for counts in (free[on], cores[on], cores[off]))
    return cores_off, float(booting), idle, cores_on - idle, float(closing)
