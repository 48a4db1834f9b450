"""The contention models against values worked out by hand, the published formula, and what must hold of any of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_sim import InputError, Platform, ProcessorType, Simulation, Workload
from cluster_sim.models.contention import NoContention, PiecewiseContention, contention_models
from cluster_sim.models.gompertz import GompertzContention
from cluster_sim.models.roofline import RooflineContention
from cluster_sim.platform.hardware import CONTENTION_PARAMETERS, Cluster, NodeGroup, NodeType
from schedulers import Fcfs

# With one other task: onset (da - 1)·db = 0, width dc - dd = 900; the slope falls by 1/1000 for each MB/s above 1000.
CURVE = {"b": -1e-3, "c": 1000.0, "da": 1.0, "db": 100.0, "dc": 1000.0, "dd": 100.0}
# Of a real processor: 48 cores at 3 GHz in experiments 2 and 3 of López (2023).
PUBLISHED = {"b": -1.85e-5, "c": 21000.0, "da": 1.0, "db": 100.0, "dc": 25000.0, "dd": 10.0}


def processor(parameters: Mapping[str, float], cores: int = 64) -> ProcessorType:
    """A processor with these contention parameters."""
    return ProcessorType("p", cores, 3.0, contention=parameters)


def by_the_book(k: Fraction, p: Mapping[str, Fraction], own: Fraction, total: Fraction, others: int) -> Fraction:
    """The speedup as the formula is printed (falling smoothstep), in exact fractions."""
    q = (own - (p["da"] - others) * p["db"]) / (p["dc"] - others * p["dd"])
    s = Fraction(1) if q < 0 else Fraction(0) if q > 1 else 1 - q**3 * (6 * q**2 - 15 * q + 10)
    d = s * (k * others) / (1 + k * others) + 1 / (1 + k * others)
    if total < p["c"]:
        return Fraction(1)
    if total > (d + p["b"] * p["c"] - 1) / p["b"]:
        return d
    return 1 + p["b"] * (total - p["c"])


def test_two_tasks_worked_out_by_hand_with_k_of_one() -> None:
    """400 MB/s: q = 4/9, s = 35625/59049, d = (s + 1)/2 = 0.801656. 800 MB/s: d = 0.505767. The slope at 1200 is 0.8."""
    found = PiecewiseContention(k=1.0).speedups(processor(CURVE), [(1, 400.0), (1, 800.0)])
    assert found == pytest.approx([0.801656, 0.8], abs=5e-7)


def test_two_tasks_worked_out_by_hand_with_the_published_k() -> None:
    """k = 0.6: d = (0.6·35625/59049 + 1)/1.6 = 0.851242 for the first; for the second the slope still holds, 0.8."""
    assert PiecewiseContention().k == 0.6
    found = PiecewiseContention().speedups(processor(CURVE), [(1, 400.0), (1, 800.0)])
    assert found == pytest.approx([0.851242, 0.8], abs=5e-7)


def test_at_the_ends_of_the_smoothstep() -> None:
    """q = 0: nothing is lost, d = 1; q = 1: all that can be, d = 1/(1 + k·n); with three others the ends have moved."""
    model, kind = PiecewiseContention(k=1.0), processor(CURVE | {"b": -0.1, "c": 100.0})  # the slope is soon below 0
    assert model.speedups(kind, [(1, 0.0), (1, 900.0)]) == pytest.approx([1.0, 0.5])
    assert model.speedups(kind, [(1, 500.0), (3, 1e6)]) == pytest.approx([0.25, 0.25])  # onset -200, width 700


def test_a_task_alone_is_never_slowed() -> None:
    """Without others d = 1, whatever the task asks for."""
    assert PiecewiseContention(k=1.0).speedups(processor(CURVE), [(1, 1e9)]) == [1.0]


def test_the_threshold_itself() -> None:
    """Just below c nothing happens; at c the slope begins, at 1."""
    model, kind = PiecewiseContention(), processor(CURVE)
    assert model.on(kind).threshold == 1000.0
    assert model.speedups(kind, [(2, 499.9999)]) == [1.0]
    assert model.speedups(kind, [(2, 500.0)]) == [1.0]
    assert model.speedups(kind, [(2, 500.05)])[0] == pytest.approx(1 - 1e-3 * 0.1)


def test_tasks_that_move_nothing_are_slowed_too() -> None:
    """Once the processor is beyond its threshold, the slope takes everyone down to his own d."""
    idle_task = PiecewiseContention().speedups(processor(CURVE | {"db": 0.0, "dd": 990.0}), [(1, 10.0), (1, 1090.0)])[0]
    # q = 10 / (1000 - 990) = 1: s = 0, d = 1/1.6 = 0.625; the slope at 1100 is 0.9.
    assert idle_task == pytest.approx(0.9)


@pytest.mark.parametrize(("others", "width"), [(2, 0.0), (3, -500.0)])
def test_where_the_formula_means_nothing(others: int, width: float) -> None:
    """dc - n·dd ≤ 0: s(q) = 0 is taken, so that d = 1/(1 + k·n), and nothing divides by zero."""
    meaningless = CURVE | {"dd": 500.0}
    assert meaningless["dc"] - others * meaningless["dd"] == width
    found = PiecewiseContention().speedups(processor(meaningless), [(others + 1, 1e6)])
    assert found == pytest.approx([1 / (1 + 0.6 * others)])


@pytest.mark.parametrize("k", [0.0, 0.5, 1.0, 2.0])
def test_a_threshold_of_nothing(k: float) -> None:
    """c = 0: at T = c the slope is 1, so tasks that move nothing run at full speed, and no tasks have no speedups."""
    model, kind = PiecewiseContention(k), processor(CURVE | {"c": 0.0})
    assert model.speedups(kind, []) == []
    assert model.speedups(kind, [(4, 0.0), (1, 0.0)]) == [1.0, 1.0]


def test_a_run_with_a_threshold_of_nothing() -> None:
    """The processor empties at the end of each job, k = 1 and c = 0: two tasks at 1/2 take 20 s, one alone takes 10."""
    kind = ProcessorType("p", 2, 3.0, contention={"b": -1.0, "c": 0.0, "da": 1.0, "db": 0.0, "dc": 1.0, "dd": 0.0})
    platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (kind,)), 1),)),), contention_model="piecewise:k=1")
    jobs = {"submit_time": [0.0, 50.0], "requested_cores": [2, 1], "recorded_run_time": [10.0, 10.0]}
    result = Simulation(platform, Workload(jobs | {"mem_vol": [1e6, 1e6]}), Fcfs()).run()
    assert result.jobs["finish_time"].tolist() == [20.0, 60.0]


numbers = st.sampled_from([0.0, 5e-324, 1e-300, 0.5, 1.0, 500.0, 1e100])


@given(
    st.sampled_from(["piecewise", "roofline", "gompertz"]),
    st.lists(st.one_of(numbers, numbers.map(lambda number: -number)), min_size=25, max_size=25),
    numbers,
    st.lists(st.tuples(st.integers(1, 64), st.sampled_from([0.0, 5e-324, 1.0, 1e3, 1e300, math.inf])), max_size=3),
)
def test_no_parameters_at_their_ends_make_a_speedup_that_is_none(
    name: str, values: list[float], option: float, groups: list[tuple[int, float]]
) -> None:
    """Whatever parameters a model takes, every speedup is above 0 and at most 1: at 0 a task would have no end."""
    model = {
        "piecewise": PiecewiseContention(option),
        "roofline": RooflineContention(option or math.inf),
        "gompertz": GompertzContention(option or 1.0, option or 1.0),
    }[name]
    names = CONTENTION_PARAMETERS[name]
    try:
        speedups = model.speedups(processor(dict(zip(names, values, strict=False))), groups)
    except InputError:
        return
    assert len(speedups) == len(groups)
    assert all(0.0 < speedup <= 1.0 for speedup in speedups)


@pytest.mark.parametrize(
    ("model", "parameters", "expected"),
    [
        ("piecewise", {"bandwidth": 5.0}, "contention: expected all of b, c, da, db, dc, dd, found no b"),
        ("piecewise", CURVE | {"c": -1.0}, r"contention\.c: expected a finite non-negative number, found -1"),
        ("piecewise", CURVE | {"dd": 1e300}, r"contention\.dd: expected at most 1e\+100"),
        ("gompertz", {"bandwidth": 5.0}, "contention: expected all of aaa"),
        ("roofline", {"bandwidth": 0.0}, r"contention\.bandwidth: expected a finite positive number, found 0"),
    ],
)
def test_a_model_refuses_the_parameters_of_another(model: str, parameters: dict[str, float], expected: str) -> None:
    """A model that is given for one run only checks what its platform has for it, when the run is made, whatever its jobs do."""
    kind = ProcessorType("p", 2, 3.0, contention=parameters)
    platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (kind,)), 1),)),), contention_model="none")
    jobs = {"submit_time": [0.0], "requested_cores": [2], "recorded_run_time": [10.0]}
    with pytest.raises(InputError, match=expected):
        Simulation(platform, Workload(jobs), Fcfs(), contention=model)


@pytest.mark.parametrize("k", [-0.1, float("nan"), float("inf"), 1e308])
def test_an_impossible_k(k: float) -> None:
    """Negative, infinite and no numbers are refused, in a spec too."""
    with pytest.raises(InputError, match="k: expected a number, 0 or more"):
        PiecewiseContention(k)
    with pytest.raises(InputError, match="k: expected a number, 0 or more"):
        contention_models.make(f"piecewise:k={k}")


rates = st.integers(0, 4000).map(lambda quarter: quarter * 0.25)
group_lists = st.lists(st.tuples(st.integers(1, 12), rates), min_size=1, max_size=5)
curves = st.fixed_dictionaries(
    {
        "b": st.sampled_from([-1.85e-5, -1e-3, -0.05]),
        "c": st.sampled_from([0.0, 500.0, 2100.0]),
        "da": st.sampled_from([0.0, 1.0, 1.75]),
        "db": st.sampled_from([0.0, 100.0, 350.0]),
        "dc": st.sampled_from([250.0, 2500.0]),
        "dd": st.sampled_from([0.0, 10.0, 300.0]),
    }
)
ks = st.sampled_from([0.0, 0.6, 1.0])


@given(parameters=curves, groups=group_lists, k=ks)
def test_the_formula_as_it_is_printed(parameters: dict[str, float], groups: list[tuple[int, float]], k: float) -> None:
    """Each speedup is what the three-part formula gives in exact arithmetic, where it means something."""
    others = sum(tasks for tasks, _ in groups) - 1
    total = sum((tasks * Fraction(rate) for tasks, rate in groups), Fraction(0))
    exact = {name: Fraction(value) for name, value in parameters.items()}
    found = PiecewiseContention(k).speedups(processor(parameters), groups)
    if parameters["dc"] - others * parameters["dd"] > 0:
        expected = [float(by_the_book(Fraction(k), exact, Fraction(rate), total, others)) for _, rate in groups]
        assert found == pytest.approx(expected, rel=1e-12)


@given(parameters=curves, groups=group_lists, k=ks)
def test_what_holds_of_every_curve(parameters: dict[str, float], groups: list[tuple[int, float]], k: float) -> None:
    """Speedups are in (0, 1]; below the threshold 1; neither order nor the cutting of groups into tasks matters."""
    model, kind = PiecewiseContention(k), processor(parameters)
    found = model.speedups(kind, groups)
    assert all(0.0 < speedup <= 1.0 for speedup in found)
    if sum(tasks * rate for tasks, rate in groups) < model.on(kind).threshold:
        assert set(found) == {1.0}
    assert model.speedups(kind, groups[::-1]) == found[::-1]
    one_by_one = [(1, rate) for tasks, rate in groups for _ in range(tasks)]
    expected = [speedup for (tasks, _), speedup in zip(groups, found, strict=True) for _ in range(tasks)]
    assert model.speedups(kind, one_by_one) == expected


@given(parameters=curves, groups=group_lists, newcomer=st.tuples(st.integers(1, 8), rates), k=ks)
def test_company_never_helps(
    parameters: dict[str, float], groups: list[tuple[int, float]], newcomer: tuple[int, float], k: float
) -> None:
    """More tasks beside it make no task faster."""
    model, kind = PiecewiseContention(k), processor(parameters)
    before, after = model.speedups(kind, groups), model.speedups(kind, [*groups, newcomer])
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in zip(before, after, strict=False))


@given(groups=group_lists, more=st.integers(1, 400))
def test_greedier_neighbours_never_help(groups: list[tuple[int, float]], more: int) -> None:
    """A neighbour that asks for more bandwidth makes no other task faster."""
    model, kind = PiecewiseContention(), processor(CURVE)
    before = model.speedups(kind, [*groups, (1, 100.0)])
    after = model.speedups(kind, [*groups, (1, 100.0 + more)])
    assert all(later <= earlier for earlier, later in zip(before[:-1], after[:-1], strict=True))


@given(groups=group_lists)
def test_a_higher_k_slows_more(groups: list[tuple[int, float]]) -> None:
    """k is how much each other task can cost."""
    speedups = [PiecewiseContention(k).speedups(processor(PUBLISHED), groups) for k in (0.0, 0.6, 1.0)]
    for low, high in pairwise(speedups):
        assert all(b <= a for a, b in zip(low, high, strict=True))


@given(groups=group_lists)
def test_without_contention_cores_are_independent(groups: list[tuple[int, float]]) -> None:
    """The baseline model, and a processor without parameters, slow nothing, and never need computing."""
    for model, kind in ((NoContention(), processor(PUBLISHED)), (PiecewiseContention(), processor({}))):
        assert model.speedups(kind, groups) == [1.0] * len(groups)
        assert model.on(kind).threshold == float("inf")


def test_specs_of_models() -> None:
    """``piecewise:k=1`` is the paper as printed; an unknown name lists those there are."""
    assert contention_models.make("piecewise:k=1").k == 1.0  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"expected one of .*none, piecewise"):
        contention_models.make("no-such-model")


class Constant:
    """A user's model whose speedups are all the same."""

    threshold = 0.0

    def __init__(self, speed: float):
        self.speed = speed

    def on(self, processor: ProcessorType) -> Constant:
        """The same for every type."""
        return self

    def speedups(self, *groups: Any) -> list[float]:
        """One for each group."""
        return [self.speed] * len(groups[-1])


def test_speedups_of_an_own_model_are_looked_at() -> None:
    """With half the speed jobs take twice as long; with none, a negative one, more than all or NaN time would not go on."""
    jobs = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [10.0], "mem_vol": [1e6]})
    platform = Platform.homogeneous(nodes=1, cores=2)
    assert Simulation(platform, jobs, Fcfs(), contention=Constant(0.5)).run().jobs["finish_time"].tolist() == [20.0]
    for speed in (0.0, -1.0, 2.0, math.nan):
        with pytest.raises(InputError, match="'processor': expected speedups above 0, at most 1, found"):
            Simulation(platform, jobs, Fcfs(), contention=Constant(speed)).run()


@pytest.mark.parametrize("speeds", [None, "fast", 0.5, [], [0.5, 0.5], ["fast"], [None], [True]])
def test_an_own_model_that_gives_no_speedups_is_named(speeds: Any) -> None:
    """Another type, or another number of them: one line, and not where it came up within."""

    class Wrong(Constant):
        def speedups(self, *groups: Any) -> Any:
            return speeds

    jobs = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [10.0], "mem_vol": [1e6]})
    expected = r"^contention model Wrong, processor type 'processor': expected (a list of )?speedups.*, found "
    with pytest.raises(InputError, match=expected):
        Simulation(Platform.homogeneous(nodes=1, cores=2), jobs, Fcfs(), contention=Wrong(0.5)).run()


@pytest.mark.parametrize("applied", [None, "none", Fcfs()])
def test_an_own_model_that_applies_to_nothing_is_named(applied: Any) -> None:
    """``on`` has to return something with a threshold and speedups."""

    class Wrong(Constant):
        def on(self, processor: ProcessorType) -> Any:
            return applied

    jobs = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [10.0], "mem_vol": [1e6]})
    with pytest.raises(InputError, match=r"^contention model Wrong, processor type 'processor': expected on\(…\) to"):
        Simulation(Platform.homogeneous(nodes=1, cores=2), jobs, Fcfs(), contention=Wrong(0.5)).run()
