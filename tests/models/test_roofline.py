"""The roofline model against hand-worked shares, and what max-min fairness promises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import InputError, SpecError
from cluster_sim.models.contention import contention_models
from cluster_sim.models.roofline import fair_level
from cluster_sim.platform import ProcessorType

CAPACITY = 100.0
PROCESSOR = ProcessorType("p", 8, 1.0, contention={"bandwidth": CAPACITY})
GROUPS = st.lists(st.tuples(st.integers(1, 16), st.floats(0.0, 1e6, allow_subnormal=False)), min_size=1, max_size=8)


def speedups(*groups: tuple[int, float]) -> list[float]:
    """Speedups on a processor of 100 MB/s."""
    return contention_models.make("roofline").speedups(PROCESSOR, groups)


def test_shares_worked_by_hand() -> None:
    """Two tasks ask for 10 MB/s, one for 50, one for 90: the small ones are served, the others get 40 each."""
    assert speedups((2, 10.0), (1, 50.0), (1, 90.0)) == pytest.approx([1.0, 40 / 50, 40 / 90])
    assert speedups((4, 50.0)) == pytest.approx([0.5])
    assert speedups((1, 400.0)) == pytest.approx([0.25])
    assert speedups((1, 0.0), (1, 200.0)) == pytest.approx([1.0, 0.5])


def test_up_to_the_capacity_nothing_is_slowed() -> None:
    """Exactly the capacity is still enough."""
    assert speedups((2, 50.0)) == [1.0]
    assert speedups((1, 60.0), (1, 40.0)) == [1.0, 1.0]
    assert contention_models.make("roofline").on(PROCESSOR).threshold == CAPACITY


@given(GROUPS)
def test_work_conserving_and_fair(groups: list[tuple[int, float]]) -> None:
    """All the capacity is used when it is short, nobody gets more than it asks for, and who is cut gets no less."""
    shares = [
        (tasks, speedup * bandwidth) for (tasks, bandwidth), speedup in zip(groups, speedups(*groups), strict=True)
    ]
    asked = sum(tasks * bandwidth for tasks, bandwidth in groups)
    given_out = sum(tasks * share for tasks, share in shares)
    assert given_out == pytest.approx(min(asked, CAPACITY), rel=1e-9)
    cut = [share for (_, share), (_, bandwidth) in zip(shares, groups, strict=True) if share < bandwidth * (1 - 1e-9)]
    assert all(share <= min(cut, default=float("inf")) * (1 + 1e-9) for _, share in shares)
    assert all(0.0 < speedup <= 1.0 for speedup in speedups(*groups))


@given(GROUPS, st.tuples(st.integers(1, 16), st.floats(0.0, 1e6, allow_subnormal=False)))
def test_a_newcomer_speeds_nobody_up(groups: list[tuple[int, float]], newcomer: tuple[int, float]) -> None:
    """The fair level only falls when tasks are added."""
    assert fair_level([*groups, newcomer], CAPACITY) <= fair_level(groups, CAPACITY) * (1 + 1e-12)


def test_capacity_from_the_spec_and_none_at_all() -> None:
    """A processor's own bandwidth comes first, then the spec's; without either nothing contends."""
    bare = ProcessorType("q", 4, 1.0)
    other = ProcessorType("r", 4, 1.0, contention={"b": -1.0, "c": 1.0, "da": 1.0, "db": 1.0, "dc": 1.0, "dd": 1.0})
    groups = [(4, 100.0)]
    assert contention_models.make("roofline").speedups(bare, groups) == [1.0]
    assert contention_models.make("roofline:bandwidth=200").speedups(other, groups) == [0.5]
    assert contention_models.make("roofline:200").speedups(PROCESSOR, groups) == [0.25]
    with pytest.raises(SpecError, match="above 0"):
        contention_models.make("roofline:bandwidth=0")


def test_a_platform_is_checked_for_its_capacity() -> None:
    """Parameters of another model only are refused, unless the spec brings a bandwidth, as the line says; so is one of 0."""
    piecewise = Platform.read("mixed:1x8@4.2")
    with pytest.raises(InputError, match=r"or one for all that have none: roofline:bandwidth=MB/s, found no bandwidth"):
        piecewise.with_models(contention="roofline")
    assert piecewise.with_models(contention="roofline:bandwidth=1e4").contention_model == "roofline:bandwidth=1e4"
    with pytest.raises(InputError, match="bandwidth"):
        Platform.homogeneous(1, 2, contention={"bandwidth": 0.0}, contention_model="roofline")


def test_the_model_of_a_run_is_no_less_strict() -> None:
    """Chosen for one run only, it must not pass over processors that contend under another model as if they had no limit."""
    piecewise = Platform.read("mixed:1x8@4.2")
    jobs = {"submit_time": [0], "requested_cores": [8], "operations": [42e9], "mem_vol": [1e6]}
    with pytest.raises(InputError, match=r"contention: expected bandwidth, MB/s, .* found no bandwidth"):
        Simulation(piecewise, Workload(jobs), make_scheduler("fcfs"), contention="roofline")
    spec = "roofline:bandwidth=8e5"  # R is 1e5 MB/s: just enough
    result = Simulation(piecewise, Workload(jobs), make_scheduler("fcfs"), contention=spec).run()
    assert result.jobs["finish_time"].tolist() == pytest.approx([10.0])


def test_two_tasks_in_a_run() -> None:
    """Two jobs of 10 s that ask for 75 MB/s each: both at 2/3 until the first ends.

    The first has 10 s of work, the second 20 s. At 50 MB/s each the first ends at 15 s; the second has 10 s left then,
    runs alone and ends at 25 s.
    """
    platform = Platform.homogeneous(1, 2, 1.0, contention={"bandwidth": 100.0}, contention_model="roofline")
    jobs = {"submit_time": [0, 0], "requested_cores": [1, 1], "operations": [10e9, 20e9], "mem_vol": [750, 1500]}
    result = Simulation(platform, Workload(jobs), make_scheduler("fcfs")).run()
    assert result.jobs["finish_time"].tolist() == pytest.approx([15.0, 25.0])
