"""Random platforms, workloads and runs: small, so that many fit, on grids of few values, so that instants coincide."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from cluster_sim import Platform, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
from schedulers import job_orders, node_orders, power_policies, schedulers

CONTENTION = [
    {},
    {"b": -1.85e-5, "c": 100.0, "da": 1.0, "db": 100.0, "dc": 2500.0, "dd": 10.0},  # slows, smoothly
    {"b": -0.05, "c": 50.0, "da": 1.75, "db": 200.0, "dc": 450.0, "dd": 3000.0},  # meaningless from n = 1 on
]
# Every order of jobs with every order of nodes would be some two hundred; each of both is there, in several pairs.
LIST_SPECS = sorted({f"list:{jobs}/{node}" for i, jobs in enumerate(job_orders) for node in [*node_orders][i % 3 :: 3]})


def _needs_arguments(name: str) -> bool:
    """Whether a scheduler cannot be made from its name alone, as one that replays a file."""
    parameters = inspect.signature(schedulers.factory(name)).parameters.values()
    return any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


POWER = ["linear", "linear", "baseline", "idle", "stall-aware:0.25"]
OTHER_SPECS = [
    *(name for name in schedulers if name != "list" and not _needs_arguments(name)),
    "easy:depth=0",
    "easy:depth=3,memory=yes",
    "easy:order=wfp,nodes=high_gflops,backfill=saf",
    "easy:reservation=pinned",
    "conservative:order=sjf,reservation=pinned",
    "conservative:nodes=low_cores,memory=yes",
]


@dataclass(frozen=True)
class Case:
    """One run to be made, of which everything is written down, so that a failure can be made again."""

    platform: Platform
    jobs: dict[str, list[Any]]
    options: dict[str, Any] = field(default_factory=dict)
    power: str | None = None

    def simulation(self, scheduler: str | None) -> Simulation:
        """The run under a scheduler."""
        policy = make_power_policy(self.power) if self.power else None
        made = make_scheduler(scheduler) if scheduler else None
        return Simulation(self.platform, Workload(self.jobs), made, policy, **self.options)


@st.composite
def processor_types(draw: st.DrawFn, number: int) -> ProcessorType:
    """A type of its own name; watts in quarters, so that sums are exact where they should be equal."""
    watts = {
        "static_w": draw(st.sampled_from([0.0, 10.0, 35.25])),
        "dynamic_w": draw(st.sampled_from([0.0, 2.5, 4.0])),
        "min_power": draw(st.sampled_from([0.0, 0.25, 1.0])),
    }
    return ProcessorType(
        f"p{number}",
        draw(st.integers(1, 5)),
        draw(st.sampled_from([1.0, 1.5, 3.0])),
        power=draw(st.sampled_from([watts, {}])),
        contention=draw(st.sampled_from(CONTENTION)),
    )


@st.composite
def platforms(draw: st.DrawFn, sleepy: bool = True) -> Platform:
    """One or two clusters of up to six nodes, of up to three types with one to three processors each."""
    kinds = [draw(processor_types(i)) for i in range(draw(st.integers(1, 2)))]
    seconds = st.sampled_from([0.0, 1.0, 2.5])
    watts = st.sampled_from([None, 7.0, 125.0])
    types = [
        NodeType(
            f"n{i}",
            tuple(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))),
            draw(st.sampled_from([None, 1.0, 2.0])),
            PowerTransitions(draw(st.sampled_from([0.0, 3.0])), draw(seconds), draw(watts), draw(seconds), draw(watts)),
            initially_off=sleepy and draw(st.booleans()) and draw(st.booleans()),
        )
        for i in range(draw(st.integers(1, 3)))
    ]
    count = st.integers(1, 3)
    clusters = [
        Cluster(f"c{i}", tuple(NodeGroup(t, draw(count)) for t in draw(st.permutations(types))[:2]))
        for i in range(draw(st.integers(1, 2)))
    ]
    contention = draw(st.sampled_from(["none", "piecewise", "piecewise:k=1"]))
    return Platform(tuple(clusters), "random", contention, draw(st.sampled_from(POWER)))


@st.composite
def job_columns(draw: st.DrawFn, platform: Platform) -> dict[str, list[Any]]:
    """Up to 14 jobs on a coarse grid of times: many come, start and end together; some take no time, some never fit."""
    widest, everything = platform.widest_node, platform.core_count
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 6).map(float),
                st.one_of(st.integers(1, widest), st.integers(1, widest), st.integers(1, everything + 1)),
                st.sampled_from([0.0, 1.0, 1.0, 2.0, 3.0, 4.5]),
                st.sampled_from([float("inf"), 0.0, 1.0, 2.0, 3.0]),
                st.sampled_from([0.0, 0.0, 40.0, 5000.0]),
                st.sampled_from([0.0, 0.0, 300.0, 900.0]),
                st.sampled_from([(0, 0), (0, 0), (0, 0), (0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (2, 2), (3, 1)]),
                st.booleans(),
            ),
            min_size=1,
            max_size=14,
        )
    )
    rows.sort(key=lambda row: row[0])
    fastest = platform.fastest_ops_per_s
    given_in_operations = draw(st.booleans())
    return {
        "submit_time": [row[0] for row in rows],
        "requested_cores": [row[1] for row in rows],
        "recorded_run_time": [float("nan") if given_in_operations and row[7] else row[2] for row in rows],
        "operations": [row[2] * fastest if given_in_operations and row[7] else float("nan") for row in rows],
        "requested_time": [row[3] for row in rows],
        "mem_vol": [row[4] for row in rows],
        "memory": [row[5] for row in rows],
        "nodes": [row[6][0] for row in rows],
        "ntasks_per_node": [row[6][1] for row in rows],
    }


@st.composite
def cases(draw: st.DrawFn, sleepy: bool = True) -> Case:
    """A platform, jobs for it, and a run's options."""
    platform = draw(platforms(sleepy))
    quirk = st.sampled_from([(), (), ("contention-at-job-boundaries",), ("unused-processors-draw-nothing",)])
    options = {"enforce_walltime": draw(st.booleans()), "quirks": draw(quirk), "seed": draw(st.integers(0, 3))}
    power = draw(st.sampled_from([None, *(name for name in power_policies if name != "learned")])) if sleepy else None
    return Case(platform, draw(job_columns(platform)), options, power)
