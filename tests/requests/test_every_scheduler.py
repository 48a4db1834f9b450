"""What jobs ask for holds under every scheduler, over random platforms, jobs and reservations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import AdvanceReservation, Platform, Simulation, Workload, make_scheduler
from tests.support.contract import checks

from .conftest import machine

SPECS = ["fcfs", "list:smallest/low_cores,blocking=no", "easy", "conservative", "pcbe"]


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


@pytest.mark.parametrize("spec", SPECS)
@settings(settings.get_profile("requests"), max_examples=25)
@given(case=cases())
def test_wishes_are_honoured_and_nobody_is_left(spec: str, case: Any) -> None:
    """Tags, reservations, exclusive nodes and the sum of energies; every job is completed or rejected."""
    platform, workload, reservations = case
    simulation = Simulation(platform, workload, make_scheduler(spec), reservations=reservations)
    result = simulation.run()
    checks.check_wishes(result, workload, reservations)
    checks.check_energy_identities(result)
    assert set(result.jobs["state"]) <= {"completed", "rejected"}
    assert simulation.view.free_total == platform.core_count
    assert simulation.view.free_cores.tolist() == platform.node_cores.tolist()
