"""A hand-made run with the tables that the charts read: nothing here comes from the simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cluster_sim.machine.core_ranges import Holds
from cluster_sim.platform import Platform
from cluster_sim.records.core_holds import CoreHolds
from cluster_sim.records.saved_tables import core_numbers


@dataclass
class FakeResult:
    """The attributes of a Result that `analysis` is allowed to use."""

    platform: Platform
    jobs: pd.DataFrame
    allocations: pd.DataFrame
    node_states: pd.DataFrame
    power: pd.DataFrame
    meta: dict[str, Any] = field(default_factory=lambda: {"scheduler": "fcfs", "seed": 0, "version": "0.1"})
    metrics: dict[str, Any] = field(default_factory=dict)

    def summary(self) -> pd.Series:
        return pd.Series(self.metrics, dtype=object)

    @property
    def off_states(self) -> pd.DataFrame:
        return self.node_states[~self.node_states["state"].isin(["IDLE", "COMPUTING"])]

    @property
    def core_holds(self) -> CoreHolds:
        """The allocations in numbers, each job in one attempt; what has no end lasts until the power's."""
        table, ids = self.allocations, self.jobs["job_id"].to_numpy(dtype=object)
        first, last = core_numbers(table, self.platform, "allocations")
        owner = pd.Index(ids).get_indexer(pd.Index(table["job_id"]))
        end = table["end"].fillna(self.power["time"].max())
        used = Holds(owner, first, last, table["start"].to_numpy(dtype=float), end.to_numpy(dtype=float))
        return CoreHolds(ids, np.arange(len(ids)), np.ones(len(ids), np.int64), (), used, used.start)


ALLOCATION_COLUMNS = ["job_id", "node", "processor", "first_core", "last_core", "start", "end"]
Held = tuple[str, str, str, int, int, float, float]


def make_result(
    platform: Platform,
    held: Sequence[Held],
    states: Sequence[tuple[str, str, float, float]] = (),
    power: Sequence[tuple[float, float]] = ((0.0, 0.0),),
    **columns: Any,
) -> FakeResult:
    """A run from allocation rows; other columns of the jobs table as keywords, by job in order of first appearance."""
    allocations = pd.DataFrame(list(held), columns=ALLOCATION_COLUMNS)
    spans = allocations.groupby("job_id", sort=False).agg(start=("start", "min"), end=("end", "max"))
    width = (allocations["last_core"] - allocations["first_core"] + 1).groupby(allocations["job_id"], sort=False).sum()
    jobs = pd.DataFrame(
        {
            "job_id": spans.index.astype(str),
            "submit_time": 0.0,
            "start_time": spans["start"].to_numpy(),
            "finish_time": spans["end"].to_numpy(),
            "state": "completed",
            "reason": "",
            "requested_cores": width.to_numpy(),
            "requested_time": np.inf,
            "wait_time": spans["start"].to_numpy(),
            "run_time": (spans["end"] - spans["start"]).to_numpy(),
            "slowdown": (spans["end"] / (spans["end"] - spans["start"])).to_numpy(),
            "energy_j": 1.0,
            "profile": "",
            "user": "",
        }
    ).assign(**columns)
    node_states = pd.DataFrame(list(states), columns=["node", "state", "start", "end"])
    return FakeResult(platform, jobs, allocations, node_states, pd.DataFrame(list(power), columns=["time", "watts"]))


@pytest.fixture
def two_nodes() -> Platform:
    """Two nodes of two processors of two cores: cores 0-3 and 4-7 in platform order."""
    return Platform.homogeneous(nodes=2, cores=4, processors=2)


@pytest.fixture
def small() -> FakeResult:
    """A run of three jobs."""
    return hand_made()


def hand_made() -> FakeResult:
    """Job a on a processor, b across both nodes and later, c on a core; node1 is off for a while at the end."""
    held: list[Held] = [
        ("a", "cluster0.node0", "processor0", 0, 1, 0.0, 10.0),
        ("b", "cluster0.node0", "processor1", 0, 1, 5.0, 20.0),
        ("b", "cluster0.node1", "processor0", 0, 0, 5.0, 20.0),
        ("c", "cluster0.node1", "processor1", 1, 1, 2.0, 8.0),
    ]
    states = [
        ("cluster0.node0", "COMPUTING", 0.0, 20.0),
        ("cluster0.node1", "COMPUTING", 2.0, 20.0),
        ("cluster0.node1", "SWITCHING_OFF", 20.0, 22.0),
        ("cluster0.node1", "OFF", 22.0, 30.0),
    ]
    power = [(0.0, 100.0), (10.0, 50.0), (20.0, 20.0), (30.0, 20.0)]
    platform = Platform.homogeneous(nodes=2, cores=4, processors=2)
    return make_result(platform, held, states, power, user=["ann", "bob", "ann"], profile=["x", "y", "x"])


def later() -> FakeResult:
    """The same jobs, c a second later."""
    result = hand_made()
    moved = result.jobs["job_id"] == "c"
    for name in ("start_time", "finish_time", "wait_time"):
        result.jobs.loc[moved, name] += 1.0
    result.allocations.loc[result.allocations["job_id"] == "c", ["start", "end"]] += 1.0
    return result


@pytest.fixture
def many() -> Callable[[int, int], FakeResult]:
    """A function (jobs, nodes) -> run of one-core jobs laid side by side in columns, seeded."""

    def make(jobs: int, nodes: int) -> FakeResult:
        node = np.arange(jobs) % nodes
        start = (np.arange(jobs) // nodes) * 10.0
        length = np.random.default_rng(1).uniform(1.0, 10.0, jobs)
        held = [
            (str(i), f"cluster0.node{n}", "processor0", 0, 0, s, e)
            for i, (n, s, e) in enumerate(zip(node.tolist(), start.tolist(), (start + length).tolist(), strict=True))
        ]
        return make_result(Platform.homogeneous(nodes=nodes, cores=1), held)

    return make
