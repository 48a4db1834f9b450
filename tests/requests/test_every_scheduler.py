"""What jobs ask for holds under every scheduler, over random platforms, jobs and reservations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import AdvanceReservation, Platform, Result, Simulation, Workload, make_scheduler

from .conftest import machine

SPECS = ["fcfs", "list:smallest/low_cores,blocking=no", "easy", "conservative", "pcbe"]
ENERGIES = ("jobs", "unused", "idle", "switching_on", "switching_off", "off")


@st.composite
def cases(draw: st.DrawFn) -> tuple[Platform, Workload, list[AdvanceReservation]]:
    """Up to five nodes with tags, up to ten jobs with wishes, two reservations that follow each other."""
    tags = st.sampled_from(["", "a", "b", "a b"])
    groups = draw(st.lists(st.tuples(st.integers(1, 2), st.integers(1, 3), tags), min_size=1, max_size=3))
    platform = machine(*groups, processors=draw(st.integers(1, 2)))
    count = draw(st.integers(1, 10))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    seconds = column(st.sampled_from([1.0, 2.0, 5.0]))
    factors = column(st.sampled_from([1.0, 1.0, 2.0, 0.5, np.inf]))
    workload = Workload(
        {
            "submit_time": column(st.sampled_from([0.0, 1.0, 2.0, 5.0])),
            "requested_cores": column(st.integers(1, 6)),
            "recorded_run_time": seconds,
            "requested_time": [second * factor for second, factor in zip(seconds, factors, strict=True)],
            "requires": column(tags),
            "exclusive": column(st.booleans()),
            "reservation": column(st.sampled_from(["", "", "r0", "r1"])),
        }
    )
    nodes = st.sets(st.integers(0, platform.node_count - 1), min_size=1)
    middle = draw(st.sampled_from([4.0, 6.0]))
    reservations = [
        AdvanceReservation("r0", draw(st.sampled_from([0.0, 2.0])), middle, draw(nodes)),
        AdvanceReservation("r1", middle, middle + draw(st.sampled_from([2.0, 9.0])), draw(nodes)),
    ]
    return platform, workload, reservations


def check(result: Result, workload: Workload, reservations: list[AdvanceReservation]) -> None:
    """Every wish, from the tables alone."""
    platform = result.platform
    kinds = dict(zip(platform.node_names(), platform.type_of_node, strict=True))
    wishes = workload.jobs.set_index("job_id")
    times = result.jobs.set_index("job_id")
    windows = {r.name: (r.start, r.end, {platform.node_name(n) for n in r.nodes}) for r in reservations}
    held: dict[str, list[tuple[float, float, str]]] = {}
    for row in result.allocations.itertuples():
        held.setdefault(row.node, []).append((times.loc[row.job_id, "allocation_time"], row.end, row.job_id))
        wish = wishes.loc[row.job_id]
        assert set(wish["requires"].split()) <= platform.node_types[kinds[row.node]].tags
        start = times.loc[row.job_id, "allocation_time"]
        end = start + wish["requested_time"]
        for name, (opens, closes, nodes) in windows.items():
            if name == wish["reservation"]:
                assert row.node in nodes
                assert opens <= start
                assert end <= closes
            elif row.node in nodes:
                assert start >= closes or end <= opens
                assert not opens <= start < closes
    for holds in held.values():
        for start, end, job in holds:
            if wishes.loc[job, "exclusive"]:
                others = [(s, e) for s, e, other in holds if other != job]
                assert not any(s < end and start < e for s, e in others)
                assert not any(s == start for s, _ in others if end > start)
    summary = result.summary()
    assert sum(summary[f"energy_{name}_j"] for name in ENERGIES) == pytest.approx(summary["energy_j"], rel=1e-9)
    power = result.power
    integral = float((np.diff(power["time"]) * power["watts"].to_numpy()[:-1]).sum())
    assert integral == pytest.approx(summary["energy_j"], rel=1e-9)


@pytest.mark.parametrize("spec", SPECS)
@settings(settings.get_profile("requests"), max_examples=25)
@given(case=cases())
def test_wishes_are_honoured_and_nobody_is_left(spec: str, case: Any) -> None:
    """Tags, reservations, exclusive nodes and the sum of energies; every job is completed or rejected."""
    platform, workload, reservations = case
    simulation = Simulation(platform, workload, make_scheduler(spec), reservations=reservations)
    result = simulation.run()
    check(result, workload, reservations)
    assert set(result.jobs["state"]) <= {"completed", "rejected"}
    assert simulation.view.free_total == platform.core_count
    assert simulation.view.free_cores.tolist() == platform.node_cores.tolist()
