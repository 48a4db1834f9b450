"""The threshold on the summed stretch: when it opens, what it leaves off, and that nobody waits longer than its bound."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import Simulation, make_power_policy
from cluster_sim.errors import SpecError
from schedulers import Fcfs, IdleTimeout, SummedStretch

from .conftest import jobs, nodes, states


def test_one_job_opens_it_alone() -> None:
    """Half of 8 requested seconds after its submission at 2 the OFF node is offered, and boots for a second."""
    workload = jobs((0, 1, 10, 10), (2, 1, 4, 8))
    result = Simulation(nodes(1, off=1), workload, Fcfs(), SummedStretch(0.5)).run()
    assert result.jobs["start_time"].tolist() == [0.0, 7.0]
    assert states(result, 1)[:3] == [("OFF", 0.0, 6.0), ("SWITCHING_ON", 6.0, 7.0), ("COMPUTING", 7.0, 11.0)]
    assert states(result, 0)[1][:2] == ("SWITCHING_OFF", 10.0)  # what is left idle


def test_several_jobs_open_it_together() -> None:
    """(t − 2) / 8 + (t − 4) / 2 = 0.5 at 4.4: the first boots a node, the second follows it there."""
    workload = jobs((0, 1, 20, 20), (2, 1, 4, 8), (4, 1, 1, 2))
    result = Simulation(nodes(1, off=1), workload, Fcfs(), SummedStretch(0.5)).run()
    assert result.jobs["start_time"].tolist() == pytest.approx([0.0, 5.4, 9.4], abs=1e-12)


def test_a_node_that_gets_free_is_taken_before_anything_boots() -> None:
    """The waiting job starts where the first has ended; the OFF node never boots."""
    workload = jobs((0, 1, 3, 3), (2, 1, 4, 8))
    result = Simulation(nodes(1, off=1), workload, Fcfs(), SummedStretch(0.5)).run()
    assert result.jobs["start_time"].tolist() == [0.0, 3.0]
    assert [state for state, *_ in states(result, 1)] == ["OFF"]


@pytest.mark.parametrize("requested", [0.0, math.inf])
def test_a_job_without_a_stretch_is_let_through(requested: float) -> None:
    """It requests no time, or an endless one: no wait would ever be long for it, or any."""
    result = Simulation(nodes(0, off=1), jobs((3, 1, 1, requested)), Fcfs(), SummedStretch(9.0)).run()
    assert result.jobs["start_time"].tolist() == [4.0]


@pytest.mark.parametrize("threshold", ["-0.1", "inf", "nan"])
def test_a_threshold_is_a_number(threshold: str) -> None:
    """0 or more."""
    with pytest.raises(SpecError, match="summed-stretch"):
        make_power_policy(f"summed-stretch:{threshold}")


ROWS = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 3), st.integers(1, 9), st.integers(1, 12)), min_size=1, max_size=8
)
SETTINGS = settings(deadline=None, derandomize=True, database=None, max_examples=40)


@given(ROWS)
@SETTINGS
def test_a_threshold_of_nothing_is_a_timeout_of_nothing(rows: list[tuple[float, int, float, float]]) -> None:
    """Every table is the same."""
    runs = [
        Simulation(nodes(1, off=2), jobs(*rows), Fcfs(), power).run()
        for power in (SummedStretch(0.0), IdleTimeout(0.0))
    ]
    assert runs[0].jobs.equals(runs[1].jobs)
    assert runs[0].node_states.equals(runs[1].node_states)


@given(ROWS, st.sampled_from([0.1, 0.5, 2.0]))
@SETTINGS
def test_everybody_runs_and_the_first_in_time(rows: list[tuple[float, int, float, float]], threshold: float) -> None:
    """All jobs complete; one alone in the machine starts within threshold times its requested time, a switch and a boot."""
    result = Simulation(nodes(1, off=2), jobs(*rows), Fcfs(), SummedStretch(threshold)).run()
    assert (result.jobs["state"] == "completed").all()
    submitted, _, _, requested = rows[0]
    alone = Simulation(nodes(1, off=2), jobs(rows[0]), Fcfs(), SummedStretch(threshold)).run()
    switched = 3.0  # two seconds to switch off, one to boot
    assert alone.jobs["start_time"][0] <= submitted + threshold * requested + switched + 1e-9
