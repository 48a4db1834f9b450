"""Jobs that wait for others: chains, diamonds, forks and joins worked out by hand, and what a failure does to them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from cluster_sim import Platform, ProcessorType, PState, Result, Simulation, Workload, make_scheduler
from cluster_sim.errors import FormatError, InputError
from cluster_sim.platform import Cluster, NodeGroup, NodeType
from cluster_sim.run import View
from cluster_sim.run.decisions import Decision, Reject, Start
from cluster_sim.workload.critical_path import CriticalPath, critical_path
from schedulers import Fcfs, Scheduler

SKIPPING = "list:first/first,blocking=no"


def machine(cores: int) -> Platform:
    """One-core nodes."""
    return Platform.homogeneous(nodes=cores, cores=1)


def jobs(**rows: Any) -> Workload:
    """Jobs from id=(cores, run time s, after), all submitted at 0; further columns as lists in ``columns``."""
    columns = rows.pop("columns", {})
    cores, seconds, after = zip(*rows.values(), strict=True)
    table = {
        "job_id": list(rows),
        "submit_time": [0.0] * len(rows),
        "requested_cores": cores,
        "recorded_run_time": seconds,
        "after": after,
    }
    return Workload({**table, **columns})


DIAMOND = {"a": (1, 10.0, ""), "b": (1, 20.0, "a"), "c": (1, 30.0, "a"), "d": (1, 5.0, "b c")}


def column(result: Result, name: str) -> dict[str, Any]:
    """A column of the jobs' records, by job."""
    return dict(zip(result.jobs["job_id"], result.jobs[name], strict=True))


def starts(workload: Workload, cores: int, scheduler: str = "fcfs", **options: Any) -> dict[str, float]:
    """When each job starts."""
    return column(Simulation(machine(cores), workload, make_scheduler(scheduler), **options).run(), "start_time")


# -- by hand ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheduler", ["fcfs", SKIPPING])
def test_chain(scheduler: str) -> None:
    """In a chain each job starts when the one before it ends, whatever the order in the table."""
    chain = jobs(c=(1, 3.0, "b"), a=(1, 1.0, ""), b=(1, 2.0, "a"))
    assert starts(chain, 8, scheduler) == {"a": 0.0, "b": 1.0, "c": 3.0}


def test_diamond() -> None:
    """With cores enough both arms run side by side and the last job waits for the longer; on one core all in turn."""
    assert starts(jobs(**DIAMOND), 4) == {"a": 0.0, "b": 10.0, "c": 10.0, "d": 40.0}
    assert starts(jobs(**DIAMOND), 1) == {"a": 0.0, "b": 10.0, "c": 30.0, "d": 60.0}


def test_fork_and_join() -> None:
    """Six jobs of 10 s after one of 1 s, on 4 cores in two waves, and a join after all of them."""
    arms = {f"arm{i}": (1, 10.0, "fork") for i in range(6)}
    work = jobs(fork=(2, 1.0, ""), **arms, join=(4, 2.0, " ".join(arms)))
    expected = {"fork": 0.0, **dict.fromkeys(list(arms)[:4], 1.0), "arm4": 11.0, "arm5": 11.0, "join": 21.0}
    assert starts(work, 4) == expected


@pytest.mark.parametrize(("scheduler", "e", "w"), [("fcfs", 19.0, 14.0), (SKIPPING, 0.0, 14.0)])
def test_a_held_job_blocks_nobody_and_keeps_its_place(scheduler: str, e: float, w: float) -> None:
    """b waits for a, and not in the queue; when a ends, b is before w and e, which were submitted after it.

    Two cores: a runs to 10; w asks for both. FCFS keeps e behind w; the skipping list lets it run at once.
    """
    work = jobs(a=(1, 10.0, ""), b=(1, 4.0, "a"), w=(2, 5.0, ""), e=(1, 3.0, ""))
    assert starts(work, 2, scheduler) == {"a": 0.0, "b": 10.0, "w": w, "e": e}


def test_held_time_is_told_from_queued_time() -> None:
    """wait = start - submission, and eligible_time divides it; the queue counts eligible jobs only."""
    result = Simulation(machine(1), jobs(**DIAMOND), Fcfs()).run()
    assert column(result, "eligible_time") == {"a": 0.0, "b": 10.0, "c": 10.0, "d": 60.0}
    assert column(result, "wait_time") == {"a": 0.0, "b": 10.0, "c": 30.0, "d": 60.0}
    # Only c queues, from 10 to 30.
    assert result.queue[["time", "pending"]].to_numpy().tolist() == [[0.0, 0], [10.0, 1], [30.0, 0], [60.0, 0]]


def test_without_dependencies_everybody_is_eligible_at_once() -> None:
    """eligible_time is submit_time."""
    result = Simulation(machine(1), jobs(a=(1, 5.0, ""), b=(1, 5.0, "")), Fcfs()).run()
    assert result.jobs["eligible_time"].tolist() == result.jobs["submit_time"].tolist() == [0.0, 0.0]


def test_a_late_job_need_not_wait() -> None:
    """A job submitted after the end of what it waits for is eligible when it is submitted."""
    work = jobs(a=(1, 5.0, ""), b=(1, 5.0, "a"), columns={"submit_time": [0.0, 7.0]})
    result = Simulation(machine(1), work, Fcfs()).run()
    assert column(result, "eligible_time") == column(result, "start_time") == {"a": 0.0, "b": 7.0}


class Watching(Fcfs):
    """FCFS that notes what each pass sees."""

    def begin(self, view: View) -> None:
        """Begin with no notes."""
        super().begin(view)
        self.seen: list[tuple[float, list[str], int]] = []

    def schedule(self, view: View) -> Iterable[Decision]:
        """Note the time, the jobs that are new and the free cores."""
        self.seen.append((view.now, [job.job_id for job in view.submitted], view.free_total))
        return super().schedule(view)


def test_one_pass_sees_the_cores_and_the_jobs_of_an_end() -> None:
    """When a ends, one pass sees its core free and both jobs that waited for it, beside one that is submitted then."""
    columns = {"submit_time": [0.0, 0.0, 0.0, 0.0, 10.0]}
    work = jobs(**DIAMOND, late=(1, 1.0, ""), columns=columns)
    watching = Watching()
    Simulation(machine(4), work, watching).run()
    (at_ten,) = [(set(new), free) for time, new, free in watching.seen if time == 10.0]
    assert at_ten == ({"b", "c", "late"}, 4)


def test_the_queue_does_not_show_held_jobs() -> None:
    """An agent that steps sees what is eligible, and submissions are told of when they happen."""
    simulation = Simulation(machine(4), jobs(**DIAMOND))
    told = []

    def listener() -> Any:
        while True:
            batch = yield simulation.on("job_submitted")
            told.append((simulation.env.now, [job.job_id for job in batch]))

    simulation.env.process(listener())
    view = simulation.step_to_decision()
    assert view is not None
    assert [job.job_id for job in view.pending] == ["a"]
    assert told == [(0.0, ["a", "b", "c", "d"])]


# -- jobs that do not complete ----------------------------------------------------------------------------------------

FAILING = jobs(
    a=(1, 10.0, ""),
    ok=(1, 1.0, "a"),
    then=(1, 1.0, "ok"),
    anyway=(1, 1.0, "any:a"),
    last=(1, 1.0, "any:ok any:then anyway"),
    columns={"requested_time": [5.0, 9.0, 9.0, 9.0, 9.0]},
)


def test_a_killed_job_takes_along_who_waits_for_its_success() -> None:
    """a is killed at its walltime: who waits for its success is rejected then, and so on; `any:` does not mind."""
    result = Simulation(machine(2), FAILING, Fcfs(), enforce_walltime=True).run()
    states = {"a": "killed", "ok": "rejected", "then": "rejected", "anyway": "completed", "last": "completed"}
    assert column(result, "state") == states
    assert column(result, "reason") == {
        "a": "walltime",
        "ok": "job a, which it waits for, was killed",
        "then": "job ok, which it waits for, was rejected",
        "anyway": "",
        "last": "",
    }
    assert column(result, "finish_time") == {"a": 5.0, "ok": 5.0, "then": 5.0, "anyway": 6.0, "last": 7.0}
    assert result.jobs["eligible_time"].tolist()[3:] == [5.0, 6.0]
    assert result.jobs["eligible_time"].isna().tolist() == [False, True, True, False, False]


def test_rejected_when_submitted() -> None:
    """A job that is submitted after what it waits for has failed is rejected when it is submitted."""
    work = jobs(a=(9, 1.0, ""), b=(1, 1.0, "a"), columns={"submit_time": [0.0, 3.0]})
    result = Simulation(machine(2), work, Fcfs()).run()
    assert result.jobs["state"].tolist() == ["rejected", "rejected"]
    assert result.jobs["reason"].tolist()[1] == "job a, which it waits for, was rejected"


class Refusing(Scheduler):
    """Rejects the job called a; starts all others."""

    def schedule(self, view: View) -> Iterable[Decision]:
        """One pass."""
        for job in view.pending:
            placement = view.place(job)
            if job.job_id == "a":
                yield Reject(job, "not wanted")
            elif placement is not None:
                yield Start(job, placement)


def test_a_rejection_in_the_middle_of_a_pass() -> None:
    """Who waits for the end of a rejected job is seen in another pass of the same instant."""
    work = jobs(a=(1, 1.0, ""), b=(1, 1.0, "any:a"), c=(1, 1.0, "b"), d=(1, 1.0, "a"))
    result = Simulation(machine(2), work, Refusing()).run()
    assert column(result, "state") == {"a": "rejected", "b": "completed", "c": "completed", "d": "rejected"}
    assert result.jobs["start_time"].tolist()[1:3] == [0.0, 1.0]


def test_a_held_job_can_be_killed() -> None:
    """Killing a job that waits for others ends it, and those that wait for its success."""
    simulation = Simulation(machine(1), jobs(**DIAMOND), Fcfs())
    simulation.run(until=5.0)
    simulation.kill("b")
    result = simulation.run()
    assert column(result, "state") == {"a": "completed", "b": "killed", "c": "completed", "d": "rejected"}
    assert column(result, "finish_time") == {"a": 10.0, "b": 5.0, "c": 40.0, "d": 5.0}


@pytest.mark.parametrize(("end", "start", "eligible"), [(5.0, 10.0, 10.0), (12.0, 12.0, 12.0)])
def test_a_held_job_that_was_killed_and_comes_back_still_waits_for_the_other(
    end: float, start: float, eligible: float
) -> None:
    """b waits for a, which runs to 10 s; it is killed at 2 s, and comes back before a has ended, or after it."""
    simulation = Simulation(machine(2), jobs(a=(1, 10.0, ""), b=(1, 5.0, "a"), c=(1, 30.0, "")), Fcfs())
    simulation.env.at(2.0).callbacks.append(lambda event: simulation.kill("b"))
    simulation.env.at(end).callbacks.append(lambda event: simulation.requeue("b"))
    result = simulation.run()
    assert column(result, "start_time")["b"] == start
    assert column(result, "eligible_time")["b"] == eligible
    assert result.queue["pending"].tolist() == [0] * len(result.queue)


def test_a_held_job_that_comes_back_when_the_other_has_failed_is_refused() -> None:
    """b is killed at 2 s, a, for whose success it waits, at 4 s; b comes back at 6 s."""
    simulation = Simulation(machine(2), jobs(a=(1, 10.0, ""), b=(1, 5.0, "a"), c=(1, 30.0, "")), Fcfs())
    for time, act, job in ((2.0, simulation.kill, "b"), (4.0, simulation.kill, "a"), (6.0, simulation.requeue, "b")):
        simulation.env.at(time).callbacks.append(lambda event, act=act, job=job: act(job))
    result = simulation.run()
    assert column(result, "state") == {"a": "killed", "b": "rejected", "c": "completed"}
    assert column(result, "reason")["b"] == "job a, which it waits for, was killed"


def test_a_run_that_stops_early(tmp_path: Path) -> None:
    """Held jobs are unfinished and were never eligible; the saved tables say so, too."""
    result = Simulation(machine(1), jobs(**DIAMOND), Fcfs(), until=15.0).run()
    assert column(result, "state") == {"a": "completed", "b": "unfinished", "c": "unfinished", "d": "unfinished"}
    assert result.jobs["eligible_time"].isna().tolist() == [False, False, False, True]
    assert result.summary()["jobs_submitted"] == 4
    result.save(tmp_path)
    pd.testing.assert_frame_equal(Result.load(tmp_path).jobs, result.jobs)


# -- the column, the graph --------------------------------------------------------------------------------------------


def test_three_ways_to_say_the_same() -> None:
    """The column, a mapping and a networkx graph make the same workload; the graph comes out again."""
    plain = jobs(**{job: (cores, seconds, "") for job, (cores, seconds, _) in DIAMOND.items()})
    graph: nx.DiGraph = nx.DiGraph([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    by_column, by_graph = jobs(**DIAMOND), plain.with_dag(graph)
    by_mapping = plain.with_dependencies({"b": "a", "c": ["a"], "d": ["b", "c"]})
    pd.testing.assert_frame_equal(by_mapping.jobs, by_column.jobs)
    pd.testing.assert_frame_equal(by_graph.jobs, by_column.jobs)
    assert nx.utils.graphs_equal(nx.DiGraph(by_column.dependencies().edges), nx.DiGraph(graph.edges))
    assert plain.jobs["after"].tolist() == [""] * 4


def test_ids_may_be_numbers() -> None:
    """Ids that are numbers in Python name the jobs whose ids are their digits; a single one needs no list."""
    plain = Workload({"submit_time": [0, 0], "requested_cores": [1, 1], "recorded_run_time": [1, 1]})
    assert plain.with_dependencies({1: [0]}).jobs["after"].tolist() == ["", "0"]
    assert plain.with_dependencies({1: 0}).jobs["after"].tolist() == ["", "0"]


def test_what_says_not_who_waits() -> None:
    """Pairs, which do not say which of the two is first, and what is no graph are refused in a line that says what is wanted."""
    with pytest.raises(
        InputError, match=r"with_dependencies: expected a mapping, job id -> ids .*, found \[\('a', 'b'\)\]"
    ):
        jobs(**DIAMOND).with_dependencies([("a", "b")])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"with_dag: expected a directed graph, .* found a list"):
        jobs(**DIAMOND).with_dag([("a", "b")])  # type: ignore[arg-type]


def test_whatever_becomes_of_it(tmp_path: Path) -> None:
    """when="over" is written any:, survives CSV and the way over a graph."""
    work = jobs(a=(1, 1.0, ""), b=(1, 1.0, "")).with_dependencies({"b": ["a"]}, when="over")
    assert work.jobs["after"].tolist() == ["", "any:a"]
    work.write(tmp_path / "jobs.csv")
    assert Workload.read(tmp_path / "jobs.csv").jobs["after"].tolist() == ["", "any:a"]
    assert work.with_dag(work.dependencies()).jobs["after"].tolist() == ["", "any:a"]
    assert work.with_dependencies({"b": []}).jobs["after"].tolist() == ["", ""]


def test_swf_cannot_say_it(tmp_path: Path) -> None:
    """Writing SWF warns that who waits for whom is lost."""
    with pytest.warns(UserWarning, match="no field for after;"):
        jobs(**DIAMOND).write(tmp_path / "jobs.swf")


def test_json_says_it(tmp_path: Path) -> None:
    """In JSON it is a key that IRMaSim leaves alone: the jobs that come back wait for each other as before."""
    work = jobs(**DIAMOND)
    work.write(tmp_path / "jobs.json")
    assert Workload.read(tmp_path / "jobs.json").jobs["after"].tolist() == work.jobs["after"].tolist()


def test_parts_forget_jobs_that_are_left_out() -> None:
    """A dependency on a job outside the part counts as satisfied; those inside stay."""
    columns = {"submit_time": [0.0, 1.0, 2.0, 3.0]}
    work = jobs(a=(1, 1.0, ""), b=(5, 1.0, "any:a"), c=(1, 1.0, "any:b a"), d=(1, 1.0, "b c"), columns=columns)
    assert work.slice(1.0, 9.0).jobs["after"].tolist() == ["", "any:b", "b c"]
    assert [part.jobs["after"].tolist() for part in work.split(2)] == [["", "any:a"], ["", "c"]]
    assert work.first(3).jobs["after"].tolist() == ["", "any:a", "any:b a"]
    assert work.fit_to(machine(2), "drop").jobs["after"].tolist() == ["", "a", "c"]
    assert work.fit_to(machine(2)).jobs["after"].tolist() == work.jobs["after"].tolist()
    assert work.scale_load(2.0).jobs["after"].tolist() == work.jobs["after"].tolist()
    assert starts(work.slice(2.0, 9.0), 4) == {"c": 0.0, "d": 1.0}


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ({"a": "d"}, "expected jobs that do not wait for each other in a circle, found "),
        ({"b": "b"}, "expected jobs that do not wait for each other in a circle, found b after b"),
        ({"b": "nobody"}, "with_dependencies, job b: expected ids of jobs of the workload, found nobody"),
        ({"x": "a"}, "with_dependencies: expected ids of jobs of the workload, found x"),
    ],
)
def test_wrong_dependencies(after: dict[str, str], message: str) -> None:
    """Circles and unknown ids are told in one line, which names the jobs."""
    with pytest.raises(InputError) as caught:
        jobs(**DIAMOND).with_dependencies(after)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_circle_is_spelt_out() -> None:
    """Every job of the circle is named, in order, and none that is not in it."""
    with pytest.raises(InputError) as caught:
        jobs(**DIAMOND).with_dependencies({"a": "b"})
    assert caught.value.found in ("a after b after a", "b after a after b")


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        ("", "3", "line 3, job 1"),
        ("7", "", "line 2, job 0"),
        ("", "1", "line 3, job 1"),
        ("1", "0", "line [23], job [01]"),
    ],
)
def test_a_file_names_the_line(tmp_path: Path, first: str, second: str, place: str) -> None:
    """A file with an id that no job has, or a circle, is refused, and the line named."""
    path = tmp_path / "jobs.csv"
    path.write_text(f"submit_time,requested_cores,recorded_run_time,after\n0,1,1,{first}\n0,1,1,{second}\n")
    with pytest.raises(FormatError, match=rf"jobs\.csv {place}, after: "):
        Workload.read(path)


def test_an_id_with_a_space_cannot_be_waited_for() -> None:
    """Ids are separated by spaces, so an id that has one is refused."""
    work = jobs(**{"a b": (1, 1.0, ""), "c": (1, 1.0, "")})
    with pytest.raises(InputError, match="ids without spaces"):
        work.with_dependencies({"c": ["a b"]})


def test_an_id_that_looks_like_a_condition() -> None:
    """A job that is called any:x is waited for by that name."""
    work = jobs(**{"any:x": (1, 2.0, ""), "y": (1, 1.0, "any:x")})
    assert work.dependencies().edges["any:x", "y"]["when"] == "completed"
    assert starts(work, 2)["y"] == 2.0


# -- the critical path ------------------------------------------------------------------------------------------------


def test_critical_path() -> None:
    """The longer arm of the diamond; a job submitted late lengthens the path it is on; without jobs there is none."""
    assert critical_path(jobs(**DIAMOND), machine(1)) == CriticalPath(("a", "c", "d"), 45.0)
    late = jobs(**DIAMOND, columns={"submit_time": [0.0, 25.0, 0.0, 0.0]})
    assert critical_path(late, machine(1)) == CriticalPath(("b", "d"), 50.0)
    assert critical_path(late.first(0), machine(1)) == CriticalPath((), 0.0)


def test_critical_path_is_that_of_the_fastest_core() -> None:
    """Run times measured at 1 Gflop/s halve at 2."""
    work = jobs(**DIAMOND)
    measured = Workload(work.jobs, reference_gflops=1.0)
    fast = Platform.homogeneous(nodes=4, cores=1, ghz=2.0)
    seconds = 45.0 / (fast.fastest_ops_per_s / 1e9)
    assert critical_path(measured, fast).makespan_s == pytest.approx(seconds)
    assert np.isclose(Simulation(fast, measured, Fcfs()).run().summary()["makespan_s"], seconds)


def test_the_critical_path_takes_the_cores_and_the_clock_that_suit_a_job_best() -> None:
    """A chain of two, 100 s each at 1 GHz on the core they request: 25 s on four cores, 12.5 s where these run at 2 GHz."""
    chain = Workload(
        {
            "job_id": ["a", "b"],
            "submit_time": [0, 0],
            "requested_cores": [1, 1],
            "operations": [100e9, 100e9],
            "after": ["", "a"],
            "max_cores": [4, 8],  # the platform has four
        }
    )
    kind = ProcessorType("p", 4, 1.0, p_states=(PState(1.0), PState(2.0)))
    platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (kind,)), 1),)),))
    simulation = Simulation(platform, chain, make_scheduler("moldable"))
    simulation.env.at(0.0).callbacks.append(lambda event: simulation.node(0).set_p_state(1))
    assert simulation.run().summary()["makespan_s"] == 25.0
    assert critical_path(chain, platform) == CriticalPath(("a", "b"), 25.0)
    slower_on_more = Workload(chain.jobs.assign(speedup="table:1=1,2=1.6,4=0.5"))
    assert critical_path(slower_on_more, platform).makespan_s == pytest.approx(62.5)  # on two cores


def test_a_graph_without_directions_is_refused() -> None:
    """It says of two jobs that one waits for the other, but not which."""
    with pytest.raises(InputError, match=r"with_dag: expected a directed graph, in which .*, found a Graph"):
        jobs(**DIAMOND).with_dag(nx.Graph([("a", "b")]))  # type: ignore[arg-type]
