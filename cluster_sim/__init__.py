"""Simulate how jobs are scheduled on heterogeneous clusters: time, memory contention, power, nodes that sleep.

Everything a script needs is here by name, and loaded when it is first touched::

    import cluster_sim as cs

    result = cs.Simulation(cs.Platform.homogeneous(64, 16), cs.Workload.read("log.swf"), cs.make_scheduler("fcfs")).run()
    cs.gantt(result).show()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analysis import comparison_table, gantt, write_report
    from cluster_sim.errors import ClusterSimError, FormatError, InputError, ModelWarning, SimulationError, SpecError
    from cluster_sim.machine.placement import Placement
    from cluster_sim.platform.platform import (
        Cluster,
        NodeGroup,
        NodeType,
        Platform,
        PowerTransitions,
        ProcessorType,
        PState,
    )
    from cluster_sim.records.result import Result
    from cluster_sim.run.decisions import Reject, Start, WakeAt
    from cluster_sim.run.simulation import Simulation
    from cluster_sim.run.view import View
    from cluster_sim.workload.advance_reservations import AdvanceReservation
    from cluster_sim.workload.jobs import Job
    from cluster_sim.workload.workload import Workload
    from schedulers import PowerPolicy, Scheduler, make_power_policy, make_scheduler

__version__ = "0.1.0"

_HOMES = {
    "analysis": ("comparison_table", "gantt", "write_report"),
    "cluster_sim.workload.advance_reservations": ("AdvanceReservation",),
    "cluster_sim.run.decisions": ("Reject", "Start", "WakeAt"),
    "cluster_sim.errors": (
        "ClusterSimError",
        "FormatError",
        "InputError",
        "ModelWarning",
        "SimulationError",
        "SpecError",
    ),
    "cluster_sim.workload.jobs": ("Job",),
    "cluster_sim.machine.placement": ("Placement",),
    "cluster_sim.platform.platform": (
        "Cluster",
        "NodeGroup",
        "NodeType",
        "Platform",
        "PowerTransitions",
        "ProcessorType",
        "PState",
    ),
    "cluster_sim.records.result": ("Result",),
    "cluster_sim.run.simulation": ("Simulation",),
    "cluster_sim.run.view": ("View",),
    "cluster_sim.workload.workload": ("Workload",),
    "schedulers": ("PowerPolicy", "Scheduler", "make_power_policy", "make_scheduler"),
}
_HOME_OF = {name: home for home, exported in _HOMES.items() for name in exported}

__all__ = [
    "AdvanceReservation",
    "ClusterSimError",
    "Cluster",
    "FormatError",
    "InputError",
    "Job",
    "ModelWarning",
    "NodeGroup",
    "NodeType",
    "Placement",
    "Platform",
    "PowerPolicy",
    "PState",
    "PowerTransitions",
    "ProcessorType",
    "Reject",
    "Result",
    "Scheduler",
    "Simulation",
    "SimulationError",
    "SpecError",
    "Start",
    "View",
    "WakeAt",
    "Workload",
    "comparison_table",
    "gantt",
    "make_power_policy",
    "make_scheduler",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'cluster_sim' has no attribute {name!r}")
    home = _HOME_OF[name]
    if home.startswith("cluster_sim."):
        module = import_module(home)
    else:
        from cluster_sim.siblings import sibling

        module = sibling(home)
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
