"""Values of a wrong kind, given in Python, end in one line that names them and what was expected."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis import gantt
from cluster_sim import CautionWarning, InputError, Platform, Simulation, View, Workload
from cluster_sim.errors import ClusterSimError, FormatError, PlacementError, StallWarning
from cluster_sim.machine.placement import Placement
from cluster_sim.run.decisions import Decision, Preempt, Reserve, Resize, Start, check_decision
from schedulers import (
    ConservativeBackfilling,
    EasyBackfilling,
    Fcfs,
    ListScheduler,
    easy,
    make_power_policy,
    make_scheduler,
)
from schedulers.policy.policy import Scheduler

PLATFORM = Platform.homogeneous(nodes=2, cores=4)
JOBS = Workload({"submit_time": [0, 1], "requested_cores": [4, 4], "recorded_run_time": [10, 10]})


def simulation(**options: Any) -> Simulation:
    """A run of the two jobs."""
    return Simulation(PLATFORM, JOBS, Fcfs(), **options)


def placed(order: Any) -> Placement | None:
    """A job placed by that order of the nodes."""
    view = View.by_hand(PLATFORM, JOBS)
    return view.place(view.pending[0], order)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: simulation(enforce_walltime="no"), "Simulation, enforce_walltime: expected True or False, found no"),
        (lambda: simulation(explain=1), "Simulation, explain: expected True or False, found 1"),
        (lambda: simulation(until="10"), "simulation, until: expected a finite time in s, 0 or later, found 10"),
        (lambda: EasyBackfilling(memory="no"), "EasyBackfilling, memory: expected True or False, found no"),  # type: ignore[arg-type]
        (lambda: easy(commit="yes"), "easy, commit: expected True or False, found yes"),  # type: ignore[arg-type]
        (
            lambda: EasyBackfilling(depth="all"),
            "EasyBackfilling, depth: expected a whole number of jobs, 0 or more, found all",
        ),  # type: ignore[arg-type]
        (
            lambda: EasyBackfilling(depth=1.5),
            "EasyBackfilling, depth: expected a whole number of jobs, 0 or more, found 1.5",
        ),  # type: ignore[arg-type]
        (
            lambda: ConservativeBackfilling(replan="no"),
            "ConservativeBackfilling, replan: expected True or False, found no",
        ),  # type: ignore[arg-type]
        (lambda: ListScheduler(blocking="no"), "ListScheduler, blocking: expected True or False, found no"),  # type: ignore[arg-type]
        (lambda: placed([2, 1]), r"node order: expected a number for each node, .* shape \(2,\), found \[2, 1\]"),
        (lambda: placed("first"), "node order: expected a number for each node, .*, found first"),
        (lambda: placed(np.arange(5.0)), r"node order: expected a number for each node, .*, found one of shape \(5,\)"),
        (
            lambda: Platform.homogeneous(nodes=1, cores=4, power={"static": 10, "dynamic_w": 1, "min_power": 0.5}),
            r"power: expected static_w, dynamic_w, min_power \(the nearest is static_w\), found static",
        ),
        (
            lambda: Platform.homogeneous(nodes=1, cores=4, power=5),
            "power: expected a mapping of names to numbers, found 5",
        ),  # type: ignore[arg-type]
        (lambda: make_scheduler(None), r"scheduler: expected a spec, name\[.*, found None"),  # type: ignore[arg-type]
        (lambda: make_power_policy(3), r"power policy: expected a spec, name\[.*, found 3"),  # type: ignore[arg-type]
        (lambda: Workload.read(None), "Workload.read: expected a file or a spec, found None"),  # type: ignore[arg-type]
        (lambda: Platform.read(3), "Platform.read: expected a file or a spec, found 3"),  # type: ignore[arg-type]
        (lambda: JOBS.first(1.5), "first: expected a number of jobs >= 0, found 1.5"),  # type: ignore[arg-type]
        (lambda: JOBS.split("2"), "split: expected a number of parts from 1 to 2, found 2"),  # type: ignore[arg-type]
        (lambda: JOBS.scale_load("2"), "scale_load: expected a factor above 0, found 2"),  # type: ignore[arg-type]
        (lambda: simulation().submit("job"), "simulation.submit: expected a job's fields .*, found job"),  # type: ignore[arg-type]
        (lambda: gantt(JOBS), r"gantt: expected a result, such as Simulation.run\(\) returns, found"),  # type: ignore[arg-type]
    ],
)
def test_values_of_a_wrong_kind(make: Callable[[], Any], told: str) -> None:
    """Words that specs have would count as true, or end in an error of Python's or NumPy's."""
    with pytest.raises(ClusterSimError, match=told):
        make()


def test_what_is_decided_by_hand() -> None:
    """Pairs, and no grace below 0; who is not pending runs already; on which node there is no room, and when."""
    run = Simulation(PLATFORM, JOBS)
    view = run.step_to_decision()
    assert view is not None
    (job,) = view.pending
    with pytest.raises(InputError, match=r"simulation.decide: expected pairs \(job, placement\)"):
        run.decide(Start(job, Placement.on({0: 4})))  # type: ignore[arg-type]
    run.decide((job, Placement.on({0: 4})))
    with pytest.raises(PlacementError, match="job 0 is not pending any more: it has its cores"):
        run.decide((job, Placement.on({1: 4})))
    with pytest.raises(InputError, match="Preempt, grace_s: expected a time in s, 0 or more, found -1 for job 0"):
        check_decision(Preempt(job, grace_s=-1))
    view = run.step_to_decision()
    assert view is not None
    with pytest.raises(PlacementError, match=r"fewer cores are free at 1 s: 0 on cluster0\.node0"):
        run.decide((view.pending[0], Placement.on({0: 4})))


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (lambda: Placement([(0, 1, 4.0)]), r"made of spans, .* in whole numbers, not of \[\(0, 1, 4.0\)\]"),  # type: ignore[list-item]
        (lambda: Placement([(0.0, 1.0, 4)]), "made of spans, .* in whole numbers"),  # type: ignore[list-item]
        (lambda: Placement([("0", "1", "4")]), "made of spans, .* in whole numbers"),  # type: ignore[list-item]
        (lambda: Placement([(0, 4)]), r"made of spans, \(first node, node after the last, cores"),  # type: ignore[list-item]
        (lambda: Placement(4), "made of spans, .* not of 4"),  # type: ignore[arg-type]
        (lambda: Placement.on({"cluster0.node0": 4}), "Placement.on takes .* from nodes, by their position"),  # type: ignore[dict-item]
        (lambda: Placement.on({0: None}), r"Placement.on takes .* in whole numbers, not \{0: None\}"),  # type: ignore[dict-item]
        (lambda: Placement.on([0, 4]), "Placement.on takes a mapping .*, not"),  # type: ignore[arg-type]
        (lambda: Placement([(0, 1, 2), (0, 1, 2)]), "node 0: 2, node 0: 2>: a node appears twice"),
        (lambda: Placement([(0, 1, 6), (1, 2, -2)]), "node 1: -2>: on each node it has a core or more"),
        (lambda: Placement([(0, 1, 4), (1, 2, 0)]), "node 1: 0>: on each node it has a core or more"),
        (lambda: Placement.on({2: 4}), "node 2: 4>: no such nodes"),
        (lambda: Placement.on({-1: 4}), "node -1: 4>: no such nodes"),
        (lambda: Placement.on({True: 4}), r"Placement.on takes .* in whole numbers, not \{True: 4\}"),
        (lambda: Placement([(True, 2, 4)]), "made of spans, .* in whole numbers"),
        (lambda: Placement([(np.True_, 2, 4)]), "made of spans, .* in whole numbers"),  # type: ignore[list-item]
        (lambda: Placement(np.array([[0.0, 1.0, 4.0]])), "made of spans, .* in whole numbers"),  # type: ignore[arg-type]
        (lambda: Placement.on(pd.Series([4.0])), "Placement.on takes .* in whole numbers"),
        (lambda: Placement([[1, 2, 2], (0, 2, 2)]), "a node appears twice"),  # type: ignore[list-item]
    ],
)
@pytest.mark.parametrize("kind", [Start, Reserve, Resize])
def test_a_placement_that_is_none(kind: type, place: Callable[[], Placement], told: str) -> None:
    """What a scheduler of one's own makes is refused with what is wrong with it, whatever it is decided for."""

    class Mine(Scheduler):
        def schedule(self, view: View) -> Iterator[Decision]:
            for job in view.pending:
                if kind is Start:
                    yield Start(job, place())
                elif kind is Reserve:
                    yield Reserve(job, 5.0, place())
                else:
                    yield Start(job, Placement.on({0: 4}))
                    yield Resize(job, place())

    jobs = {"submit_time": [0], "requested_cores": [4], "recorded_run_time": [10]}
    jobs |= {"min_cores": [1], "max_cores": [8], "malleable": [True]}
    with pytest.raises(PlacementError, match=told):
        Simulation(PLATFORM, Workload(jobs), Mine(), explain=True).run().decisions  # noqa: B018 - it is made when asked for


@pytest.mark.parametrize(
    "place",
    [
        lambda: Placement(np.array([[1, 2, 2], [0, 1, 2]])),
        lambda: Placement([[1, 2, 2], (0, 1, 2)]),  # type: ignore[list-item]
        lambda: Placement([(np.int64(1), np.int64(2), 2), (0, 1, np.uint8(2))]),
        lambda: Placement.on(pd.Series([2, 2], index=[1, 0])),
        lambda: Placement.on({np.int64(1): np.int64(2), np.int8(0): np.int8(2)}),
        lambda: Placement.on(dict(zip(np.array([1, 0]), np.array([2, 2]), strict=True))),
    ],
)
def test_whole_numbers_of_numpy_and_pandas_are_some(place: Callable[[], Placement]) -> None:
    """Two cores on either node, the second one first: in arrays, lists, mappings and series."""

    class Mine(Scheduler):
        def schedule(self, view: View) -> Iterator[Decision]:
            for job in view.pending:
                yield Start(job, place())

    jobs = Workload({"submit_time": [0], "requested_cores": [4], "recorded_run_time": [10]})
    result = Simulation(PLATFORM, jobs, Mine(), explain=True).run()
    assert result.holds[["first_core", "last_core"]].values.tolist() == [[0, 1], [0, 1]]
    assert result.decisions["nodes"].tolist() == ["cluster0.node1:2;cluster0.node0:2"]
    assert all(type(number) is int for span in place().spans for number in span)


@pytest.mark.parametrize(
    "spans",
    [
        np.array([[0, 200, 2]], dtype=np.uint8),
        [(np.uint8(0), 200, 2)],
        [(0, 100, 2), (np.int8(100), np.uint8(200), np.uint8(2))],
        [(np.uint8(0), 100, 2), (100, 200, 2)],
    ],
)
def test_numbers_of_a_small_type_are_counted_in_full(spans: Any) -> None:
    """400 cores are more than the type of the parts can hold; nothing warns, and nothing is cut."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CautionWarning)
        assert Placement(spans).cores == 400
        assert Placement([(np.uint8(0), 300, 2)]).cores == 600


def test_what_a_generator_of_spans_raises_is_its_own() -> None:
    """It is not told as a wrong span."""

    def spans() -> Iterator[tuple[int, int, int]]:
        yield 0, 1, 2
        raise ValueError("no more nodes")

    with pytest.raises(ValueError, match="no more nodes"):
        Placement(spans())


def test_truths_of_a_spreadsheet_are_read(tmp_path: Path) -> None:
    """TRUE is one; what is none is told with its line."""
    path = tmp_path / "jobs.csv"
    head = "submit_time,requested_cores,recorded_run_time,exclusive"
    path.write_text(f"{head}\n0,1,10,TRUE\n1,1,10,false\n2,1,10,\n")
    assert Workload.read(str(path)).jobs["exclusive"].tolist() == [True, False, False]
    path.write_text(f"{head}\n0,1,10,TRUE\n1,1,10,yes\n")
    with pytest.raises(FormatError, match=r"jobs\.csv line 3, exclusive: expected True or False, found yes"):
        Workload.read(str(path))


@pytest.mark.parametrize(
    ("do", "told"),
    [
        (lambda env: env.timeout(np.nan), "a delay of an event: expected 0 s or more, found nan"),
        (lambda env: env.timeout(np.float64("nan")), "a delay of an event: expected 0 s or more, found nan"),
        (lambda env: env.timeout(-1.0), "Negative delay -1.0"),
        (lambda env: env.schedule(env.event(), delay=-np.inf), "a delay of an event: expected 0 s or more, found -inf"),
        (lambda env: env.schedule(env.event(), delay=-1e-3), "a delay of an event: expected 0 s or more, found -0.001"),
        (lambda env: env.at(np.nan), "env.at: expected a time from now on, 3 s, found nan"),
        (lambda env: env.at(-np.inf), "env.at: expected a time from now on, 3 s, found -inf"),
        (lambda env: env.at(2.9), "env.at: expected a time from now on, 3 s, found 2.9"),
        (lambda env: env.run(until=np.nan), "env.run, until: expected a time after now, 3 s, found nan"),
    ],
)
def test_no_event_is_planned_for_a_time_that_is_none(do: Callable[[Any], Any], told: str) -> None:
    """A process that asks for one ends in a line that names its own file: the clock has not gone back."""
    run = simulation()

    def process() -> Iterator[Any]:
        yield run.env.timeout(3.0)
        yield do(run.env)

    run.env.process(process())
    with pytest.raises(ValueError, match=re.escape(told)) as error:
        run.run()
    assert run.env.now == 3.0
    assert "Negative" in told or re.match(rf"{re.escape(__file__)} line \d+, ", str(error.value))


@pytest.mark.parametrize("never", [lambda env: env.timeout(np.inf), lambda env: env.at(np.inf)])
def test_what_is_to_happen_at_no_time_never_does(never: Callable[[Any], Any]) -> None:
    """A guest that stays for ever leaves a job without cores: the run says so, and no job starts at infinity."""
    run = simulation()

    def guest() -> Iterator[Any]:
        with run.node(0).request(4) as held:
            yield held
            yield never(run.env)

    def another() -> Iterator[Any]:
        with run.node(1).request(4) as held:
            yield held
            yield never(run.env)

    run.env.process(guest())
    run.env.process(another())
    with pytest.warns(StallWarning, match="2 jobs are unfinished"):
        result = run.run()
    assert np.isnan(result.jobs["start_time"]).all()
    assert run.env.now == 1.0  # the second submission
