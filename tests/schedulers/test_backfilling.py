"""Backfilling: worked-out schedules, the textbook's algorithms as a second opinion, and promises that are kept."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import AdvanceReservation, Platform, Simulation, SpecError, View, make_scheduler
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
from cluster_sim.workload import Job
from schedulers import EasyBackfilling
from schedulers.backfilling import candidates
from schedulers.backfilling.easy import CountedPlan
from tests.support import textbook
from tests.support.small_logs import KEYS, Rows, small_logs, starts, workload

# ---------------------------------------------------------------------- worked out by hand

# Four cores: a holds two until 10, and b wants all four. c and e would end by then; d, narrow and long, would not.
CLASSIC: Rows = [(0, 2, 10, 10), (1, 4, 5, 5), (2, 1, 8, 8), (3, 1, 20, 20), (4, 1, 6, 6)]


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        ("fcfs", [0, 10, 15, 15, 15]),
        ("easy", [0, 10, 2, 15, 4]),
        ("easy:depth=0", [0, 23, 2, 3, 10]),  # d starts when it fits, and b waits for it
        ("conservative", [0, 10, 2, 15, 4]),
        ("easy:depth=all", [0, 10, 2, 15, 4]),
    ],
)
def test_the_classic_case(scheduler: str, expected: list[float]) -> None:
    """One head that is protected, or is not."""
    assert starts(scheduler, CLASSIC) == expected


def test_a_head_whose_start_nobody_knows_uses_up_no_promise(tmp_path: Path) -> None:
    """A node is down until 100, and b wants all four: c is promised 10, and d, until 23, would delay it."""
    (tmp_path / "failures.csv").write_text("time,node,event\n0.5,3,fail\n100,3,repair\n")
    rows: Rows = [(0, 2, 10, 10), (1, 4, 5, 5), (2, 3, 5, 5), (3, 1, 20, 20)]
    assert starts("easy", rows, failures=f"trace:{tmp_path / 'failures.csv'}") == [0, 100, 10, 15]


@pytest.mark.parametrize("ends", [5, 10])
def test_nothing_is_backfilled_before_a_job_has_to_wait(ends: float) -> None:
    """Without promises, too: b is first, though c is shorter, whether a ends as they come or before."""
    rows: Rows = [(0, 1, ends, ends), (10, 2, 20, 20), (10, 2, 10, 10)]
    assert starts("easy:depth=0,backfill=sjf", rows, cores=3) == [0, 10, 30]


@pytest.mark.parametrize("comes", [5, 10])
def test_who_comes_before_a_job_that_waits_is_not_backfilled(comes: float) -> None:
    """c is more urgent than b, which waits for a; d is behind b, and shorter than c."""
    rows: Rows = [(0, 2, 30, 30), (comes, 3, 1, 1), (10, 1, 25, 25), (10, 1, 10, 10)]
    scheduler = "easy:order=priority,depth=0,backfill=sjf"
    assert starts(scheduler, rows, cores=3, columns={"priority": [0, 1, 2, 0]}) == [0, 40, 10, 30]


def test_the_node_order_is_asked_once_for_a_job_whose_node_has_to_boot() -> None:
    """c would end at 110 as b is to start, but for the boot; beside b there is room for it, on the same node.

    Asking twice, a random order would draw twice, and choose another node than the one that was found to boot.
    """
    asked: list[tuple[float, str]] = []

    def order(view: View, job: Job) -> None:
        asked.append((view.now, job.job_id))

    boot = PowerTransitions(switch_on_s=10.0)
    off = NodeType("off", (ProcessorType("p", 2, 1.0),), transitions=boot, initially_off=True)
    platform = Platform((Cluster("cluster0", (NodeGroup(off, 2),)),))
    rows: Rows = [(0, 2, 100, 100), (20, 3, 10, 10), (30, 1, 80, 80)]
    result = Simulation(platform, workload(rows), EasyBackfilling(nodes=order)).run()
    assert result.jobs["start_time"].tolist() == [10.0, 110.0, 40.0]
    assert [job for time, job in asked if time == 30.0 and job == "c"] == ["c"]


def test_easy_may_delay_the_second_job_and_conservative_does_not() -> None:
    """d takes cores that the head b leaves free, but that c was counting on."""
    rows: Rows = [(0, 3, 10, 10), (1, 4, 10, 10), (2, 3, 10, 10), (3, 1, 30, 30)]
    # EASY: b is promised 10 and nothing is left beside it, so d waits for it, then starts with c.
    assert starts("easy", rows) == [0, 10, 20, 20]
    rows = [(0, 2, 10, 10), (1, 3, 10, 10), (2, 4, 10, 10), (3, 1, 30, 30)]
    # EASY: b leaves one core free at 10, d takes it at 3 and holds it until 33, so that c has to wait for it.
    assert starts("easy", rows) == [0, 10, 33, 3]
    # Conservative promised c a start at 20; d has to come after it. So does a depth of 2.
    assert starts("conservative", rows) == [0, 10, 20, 30]
    assert starts("easy:depth=2", rows) == [0, 10, 20, 30]


def test_conservative_moves_forward_when_a_job_ends_early() -> None:
    """a asked for 100 s and needed 10: b, which was promised 100, starts at 10, and c keeps its place behind it."""
    rows: Rows = [(0, 4, 100, 10), (1, 3, 20, 20), (2, 2, 20, 20), (3, 1, 20, 20)]
    assert starts("conservative", rows) == [0, 10, 30, 10]


def test_saf_backfills_the_smallest_area_first() -> None:
    """Behind the head, c is longer and d shorter: saf-easy takes d, EASY c; with order=saf the head itself changes."""
    rows: Rows = [(0, 3, 20, 20), (1, 4, 5, 5), (2, 1, 15, 15), (2, 1, 10, 10)]
    assert starts("easy", rows) == [0, 20, 2, 25]
    assert starts("saf-easy", rows) == starts("easy:backfill=saf", rows) == [0, 20, 25, 2]
    # The smallest area first: d starts, c is the head then, and b, the largest, is promised nothing before c has started.
    assert starts("easy:order=saf", rows) == [0, 27, 12, 2]


@pytest.mark.parametrize("scheduler", ["easy", "conservative", "easy:depth=2"])
def test_a_job_that_outlives_its_request_is_put_off(scheduler: str) -> None:
    """a asked for 10 s and runs for 100: at 12 it is expected to end at 70, so d (until 62) may start beside the wait."""
    rows: Rows = [(0, 2, 10, 100), (1, 4, 5, 5), (12, 2, 50, 50)]
    assert starts(scheduler, rows) == [0, 100, 12]
    assert starts(scheduler, rows, enforce_walltime=True) == [0, 10, 15]


@pytest.mark.parametrize("scheduler", ["easy", "conservative", "easy:depth=3", "easy:reservation=pinned"])
def test_jobs_that_request_no_time_do_not_starve_the_head(scheduler: str) -> None:
    """a ends at no known time: only what leaves room for b may start, or b might never."""
    never = math.inf
    rows: Rows = [(0, 2, never, 10), (1, 3, 5, 5), (2, 1, 5, 5), (3, 1, never, 5), (4, 1, never, 5)]
    begins = starts(scheduler, rows)
    assert begins[1] <= 15.0
    assert begins[0] == 0.0


@pytest.mark.parametrize("scheduler", ["easy", "conservative", "easy:depth=2", "easy:reservation=pinned"])
def test_a_cancelled_head_frees_its_promise(scheduler: str) -> None:
    """b, which kept c waiting, is cancelled at 3: c starts in that pass."""
    simulation = Simulation(
        Platform.homogeneous(nodes=4, cores=1),
        workload([(0, 2, 10, 10), (1, 4, 5, 5), (2, 2, 20, 20), (9, 1, 1, 1)]),
        make_scheduler(scheduler),
    )
    simulation.env.timeout(3.0).callbacks.append(lambda event: simulation.kill("b"))
    jobs = simulation.run().jobs
    assert jobs["state"].tolist() == ["completed", "killed", "completed", "completed"]
    assert jobs["start_time"].tolist()[2:] == [3.0, 10.0]


def test_a_promise_counts_the_boot() -> None:
    """c, on a node that needs 3 s to boot, would end at 11: too late for b, which is promised 10. Of 5 s, it is in time."""
    processor = ProcessorType("p", 1, 1.0)
    types = [
        NodeType("n", (processor,)),
        NodeType("s", (processor,), transitions=PowerTransitions(switch_on_s=3.0), initially_off=True),
    ]
    platform = Platform([Cluster("c", tuple(NodeGroup(kind, 2) for kind in types))])
    for length, begins in ((6.0, 18.0), (5.0, 5.0)):
        rows: Rows = [(0, 2, 10, 10), (1, 4, 5, 5), (2, 1, length, length)]
        assert starts("easy", rows, platform=platform) == [0.0, 13.0, begins]


# ---------------------------------------------------------------------- nodes


def two_nodes() -> Platform:
    """Two nodes of four cores."""
    return Platform.homogeneous(nodes=2, cores=4)


@pytest.mark.parametrize(
    ("scheduler", "expected"),
    [
        # a on node 0, b on node 1; c needs a whole node: at 10 it has node 0. d fits beside b, not where c will be.
        ("easy", [0, 0, 10, 3]),
        ("easy:reservation=pinned", [0, 0, 10, 3]),
        ("conservative", [0, 0, 10, 3]),
    ],
)
def test_a_promise_on_nodes(scheduler: str, expected: list[float]) -> None:
    """Counting cores is not enough where a job wants one node: d has to go where c is not promised its place."""
    rows: Rows = [(0, 3, 10, 10), (0, 3, 50, 50), (1, 4, 5, 5), (3, 1, 30, 30)]
    assert starts(scheduler, rows, platform=two_nodes()) == expected


def test_counted_promises_are_of_any_place_and_pinned_ones_of_one() -> None:
    """Both nodes will be free for c at 10. d is on the first: counted, c goes to the other; pinned, d has to go there."""
    rows: Rows = [(0, 3, 10, 10), (0, 3, 10, 10), (1, 4, 5, 5), (3, 1, 30, 30)]
    for reservation, node in (("counted", "cluster0.node0"), ("pinned", "cluster0.node1")):
        simulation = Simulation(two_nodes(), workload(rows), make_scheduler(f"easy:reservation={reservation}"))
        result = simulation.run()
        assert result.jobs["start_time"].tolist() == [0.0, 0.0, 10.0, 3.0]
        assert result.allocations.set_index("job_id").loc["d", "node"] == node


def test_memory_is_promised_too() -> None:
    """b waits for a's memory, not for cores; c has cores and memory now, but not beside b."""
    platform = Platform.homogeneous(nodes=1, cores=8, memory_gb=1.0)
    rows: Rows = [(0, 1, 10, 10), (1, 1, 10, 10), (2, 1, 30, 30), (3, 1, 30, 30)]
    columns = {"memory": [700.0, 700.0, 400.0, 300.0]}
    assert starts("easy", rows, platform=platform, columns=columns) == [0, 1, 2, 3]
    for scheduler in ("easy:memory=yes", "conservative:memory=yes"):
        # c would leave 624 MB at 10; d leaves 724.
        assert starts(scheduler, rows, platform=platform, columns=columns) == [0, 10, 20, 3]


def test_an_advance_reservation_is_planned_around() -> None:
    """Maintenance of all nodes from 10 to 20: b would not end before it, c does."""
    rows: Rows = [(0, 2, 5, 5), (1, 4, 8, 8), (2, 2, 3, 3), (3, 1, 9, 9)]
    windows = [AdvanceReservation("maintenance", 10.0, 20.0, range(4))]
    for scheduler in ("easy", "conservative", "easy:depth=2"):
        assert starts(scheduler, rows, reservations=windows) == [0, 20, 2, 28], scheduler


def test_a_job_starts_after_a_window_that_nothing_else_marks() -> None:
    """One node; a runs in its reservation, b may not: it starts when the window ends, at 4."""
    window = [AdvanceReservation("r", 0.0, 4.0, [0])]
    rows: Rows = [(0, 1, 2, 1), (1, 1, 10, 5)]
    for scheduler in ("easy", "conservative"):
        columns = {"reservation": ["r", ""]}
        platform = Platform.homogeneous(nodes=1, cores=3)
        assert starts(scheduler, rows, platform=platform, reservations=window, columns=columns) == [0, 4]


# ---------------------------------------------------------------------- second opinion


@settings(max_examples=40)
@given(small_logs(), st.sampled_from(sorted(KEYS)), st.sampled_from(["", *sorted(KEYS)]))
def test_easy_is_the_textbooks(log: tuple[int, Rows], order: str, backfill: str) -> None:
    """Every queue order and every order of backfilling, with estimates that are too long: the same starts."""
    cores, rows = log
    spec = f"easy:order={order}" + (f",backfill={backfill}" if backfill else "")
    expected = textbook.easy(cores, rows, KEYS[order], KEYS.get(backfill))
    assert starts(spec, rows, cores) == expected


@pytest.mark.parametrize(("few", "at_once"), [(candidates.FEW, candidates.AT_ONCE), (0, 1), (0, 3)])
@settings(max_examples=40)
@given(log=small_logs(), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_easy_on_nodes_is_the_textbooks(few: int, at_once: int, log: tuple[int, Rows], sizes: list[int]) -> None:
    """Heads that want one node and heads that take what is free; jobs tried one by one, or first compared."""
    rows = [(at, min(width, sum(sizes)), *times) for at, width, *times in log[1]]
    kinds = [NodeType(f"n{i}", (ProcessorType(f"p{i}", size, 1.0),)) for i, size in enumerate(sizes)]
    platform = Platform([Cluster("c", tuple(NodeGroup(kind, 1) for kind in kinds))])
    with mock.patch.multiple(candidates, FEW=few, AT_ONCE=at_once):
        assert starts("easy", rows, platform=platform) == textbook.easy_on_nodes(sizes, rows)  # type: ignore[arg-type]


@pytest.mark.parametrize("platform", [Platform.homogeneous(64, 1), Platform.homogeneous(8, 8)])
def test_thousands_of_jobs_that_could_start_alone_are_not_asked_one_by_one(platform: Platform) -> None:
    """The head will leave three cores: three of 3,000 jobs start, and few of the others are tried after them."""
    rows: Rows = [(0, 60, 100, 100), (1, 61, 100, 100), *((2.0, 1, 1_000, 1_000) for _ in range(3_000))]
    with mock.patch.object(CountedPlan, "place", autospec=True, side_effect=CountedPlan.place) as place:
        begun = starts("easy", rows, platform=platform, until=3.0)
    assert sum(time == 2.0 for time in begun) == 3
    assert place.call_count <= 2 * candidates.AT_ONCE


@settings(max_examples=40)
@given(small_logs(exact=True))
def test_conservative_is_the_textbooks(log: tuple[int, Rows]) -> None:
    """With exact estimates; and a depth of more jobs than there are comes to the same."""
    cores, rows = log
    expected = textbook.conservative(cores, rows)
    assert starts("conservative", rows, cores) == expected
    assert starts("easy:depth=99", rows, cores) == expected


# ---------------------------------------------------------------------- promises

PROMISING = [
    "easy",
    "easy:reservation=pinned",
    "easy:depth=3",
    "easy:nodes=high_cores",
    "conservative",
    "conservative:order=saf,nodes=low_cores",
    "conservative:reservation=pinned",
]


@pytest.mark.parametrize("scheduler", PROMISING)
@settings(max_examples=25)
@given(data=st.data())
def test_promises_are_kept(scheduler: str, data: st.DataObject) -> None:
    """With estimates that are exact or too long: no job starts after any time that it was promised.

    On flat machines, and on nodes of several cores, where a job wants one node or takes what is free on several.
    """
    cores, rows = data.draw(small_logs())
    if data.draw(st.booleans()):
        sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
        kinds = [NodeType(f"n{i}", (ProcessorType(f"p{i}", size, 1.0),)) for i, size in enumerate(sizes)]
        platform = Platform([Cluster("c", tuple(NodeGroup(kind, 1) for kind in kinds))])
        rows = [(at, min(width, platform.core_count), *times) for at, width, *times in rows]  # type: ignore[misc]
    else:
        platform = Platform.homogeneous(nodes=cores, cores=1)
    result = Simulation(platform, workload(rows), make_scheduler(scheduler), explain=True).run()
    promises = result.decisions[result.decisions["decision"] == "reserve"]
    begun = result.jobs.set_index("job_id")["start_time"]
    # EASY makes its promises anew in every pass: with a promise to more than the head, a job ending early may let
    # the first take the place of the second. What the head is promised, and all that is conservative, holds.
    if scheduler == "easy:depth=3":
        promises = promises[[_was_head(result, row) for row in promises.itertuples()]]
    for row in promises.itertuples():
        assert begun[row.job_id] <= row.promised_time, row


def _was_head(result: Any, row: Any) -> bool:
    jobs = result.jobs
    waiting = jobs[(jobs["submit_time"] <= row.time) & ~(jobs["start_time"] <= row.time)]
    return bool(waiting["job_id"].iloc[0] == row.job_id)


@settings(max_examples=30)
@given(small_logs())
def test_pinned_and_counted_agree_on_one_core(log: tuple[int, Rows]) -> None:
    """With a single core there is nothing to choose."""
    rows = [(at, 1, *times) for at, _, *times in log[1]]
    for name in ("easy", "conservative"):
        assert starts(name, rows, 1) == starts(f"{name}:reservation=pinned", rows, 1)  # type: ignore[arg-type]


# ---------------------------------------------------------------------- specs


def test_bad_options_are_named() -> None:
    """One line that says which option, what it may be, and what it was."""
    for spec, words in (
        ("easy:depth=-1", "depth.*0 or more, or all.*-1"),
        ("easy:depth=few", "depth.*found few"),
        ("conservative:reservation=soft", "reservation.*counted or pinned.*soft"),
        ("easy:order=nearest", "job order.*nearest"),
    ):
        with pytest.raises(SpecError, match=words):
            make_scheduler(spec)


def test_specs_name_what_was_asked_for() -> None:
    """The records say which scheduler it was, usual values left out."""
    from schedulers import ConservativeBackfilling, EasyBackfilling

    assert EasyBackfilling().spec == "easy"
    assert EasyBackfilling("saf", backfill="first").spec == "easy:order=saf,backfill=first"
    assert EasyBackfilling("saf", depth=2, reservation="pinned").spec == "easy:order=saf,depth=2,reservation=pinned"
    assert ConservativeBackfilling(nodes="high_cores").spec == "conservative:nodes=high_cores"


# ---------------------------------------------------------------------- ageing


def test_ageing_ends_starvation() -> None:
    """Shortest first, and a short job every two seconds: the long wide one waits for all of them, unless it may age."""
    short: Rows = [(2.0 * i, 1, 3, 3) for i in range(40)]
    rows = [short[0], (1.0, 2, 50, 50), *short[1:]]
    for name in ("easy:order=sjf", "list:shortest/first"):
        patient = starts(name, rows, 2)[1]
        separator = "," if ":" in name else ":"
        aged = starts(f"{name}{separator}aging=20", rows, 2)[1]
        assert patient > 80.0, name
        assert 21.0 <= aged <= 25.0, name


@settings(max_examples=25)
@given(small_logs(), st.sampled_from(["sjf", "ljf", "saf", "f1", "expansion-factor"]), st.integers(0, 30))
def test_nobody_starves_who_ages(log: tuple[int, Rows], order: str, aging: int) -> None:
    """An aged job waits for the jobs that ran or were older when it aged, and for no other: here, no more than for all.

    When it has aged it is, sooner or later, the head, and what a head is promised holds.
    """
    cores, rows = log
    begins = starts(f"easy:order={order},aging={aging}", rows, cores)
    for i, (at, *_) in enumerate(rows):
        before = [j for j, row in enumerate(rows) if row[0] < at or (row[0] == at and j < i)]
        running = [j for j in range(len(rows)) if begins[j] < at + aging]
        most = at + aging + sum(rows[j][2] for j in {*before, *running} - {i})
        assert begins[i] <= most


# ---------------------------------------------------------------------- corners


@pytest.mark.parametrize(
    "scheduler", ["easy", "easy:depth=2", "easy:memory=yes", "easy:reservation=pinned", "conservative"]
)
def test_a_stream_of_jobs_without_a_time_does_not_starve_the_head(scheduler: str) -> None:
    """b wants the whole machine and a, which named no time, ends at 10: none of the forty that follow may pass b."""
    never = math.inf
    rows: Rows = [(0, 2, never, 10), (1, 4, 5, 5), *((2.0 + 5 * i, 2, never, 10) for i in range(40))]
    assert starts(scheduler, rows, 4)[1] == 10.0
    rows = [(0, 1, never, 1000), (1, 4, 5, 5), *((2.0 + 5 * i, 3, 10, 10) for i in range(40))]
    assert starts(scheduler, rows, 4)[1] == 1000.0


@pytest.mark.parametrize("scheduler", ["easy:memory=yes", "conservative:memory=yes"])
def test_an_exclusive_job_with_memory_gets_an_empty_node(scheduler: str) -> None:
    """The job's memory is less than the node's, and its one task would leave three cores: it starts all the same."""
    platform = Platform.homogeneous(nodes=2, cores=4, memory_gb=4)
    columns = {"memory": [2000.0, 10.0], "exclusive": [True, False]}
    rows: Rows = [(0, 1, 10, 10), (1, 1, 10, 10)]
    assert starts(scheduler, rows, platform=platform, columns=columns) == [0, 1]


@pytest.mark.parametrize("scheduler", ["easy:depth=2,memory=yes", "conservative:memory=yes"])
def test_an_exclusive_job_gives_back_the_memory_of_its_tasks(scheduler: str) -> None:
    """a has 1000 MB, not four times as many: b and c, of two tasks of 1200 MB, cannot both be promised its end."""
    platform = Platform.homogeneous(nodes=1, cores=4, memory_gb=4)
    columns = {"memory": [1000.0, 1200.0, 1200.0], "exclusive": [True, False, False]}
    rows: Rows = [(0, 1, 100, 100), (1, 2, 50, 50), (2, 2, 50, 50)]
    scheduler_made = make_scheduler(scheduler)
    result = Simulation(platform, workload(rows, **columns), scheduler_made, explain=True).run()
    promised = result.decisions.query("decision == 'reserve'").set_index("job_id")["promised_time"].to_dict()
    assert promised == {"b": 100.0, "c": 150.0}
    assert result.jobs["start_time"].tolist() == [0.0, 100.0, 150.0]


def test_conservative_promises_in_order_of_submission_always() -> None:
    """Two jobs submitted together, on the first pass and later: the order of the queue has no say in who is promised first."""
    rows: Rows = [(0, 1, 8, 8), (0, 1, 2, 2)]
    assert starts("conservative:order=sjf", rows, 1) == [0, 8]
    rows = [(0, 1, 4, 4), (5, 1, 8, 8), (5, 1, 2, 2)]
    assert starts("conservative:order=sjf", rows, 1) == [0, 5, 13]


@pytest.mark.parametrize("scheduler", ["easy", "easy:reservation=pinned", "easy:depth=2", "conservative"])
def test_a_job_that_requests_no_time_at_all_is_planned_with_a_minute(scheduler: str) -> None:
    """c requests 0 s and takes 30: it may not start beside a, whose end b is promised."""
    rows: Rows = [(0, 2, 10, 10), (1, 4, 5, 5), (2, 2, 0, 30)]
    assert starts(scheduler, rows) == [0, 10, 15]


def test_ageing_is_checked() -> None:
    """Ageing is refused where it is no number of seconds, and where it cannot be."""
    for spec in ("easy:aging=-1", "easy:aging=nan", "list:first/first,aging=-1", "easy:depth=all,aging=5"):
        with pytest.raises(SpecError, match="aging"):
            make_scheduler(spec)


@pytest.mark.parametrize("scheduler", ["easy", "easy:reservation=pinned", "conservative", "easy:depth=2"])
def test_a_job_over_several_nodes_is_found_in_a_long_queue(scheduler: str) -> None:
    """One core is free on each of four nodes, and only the last of thirty jobs can do with that: one core on each."""
    platform = Platform.homogeneous(nodes=4, cores=4)
    wide: Rows = [(0.0, 12, 100, 100), *((1.0, 4, 10, 10) for _ in range(30)), (2.0, 4, 5, 5)]
    columns = {"nodes": [4] + [1] * 30 + [4]}
    jobs = Simulation(platform, workload(wide, **columns), make_scheduler(scheduler)).run().jobs
    assert jobs["start_time"].iloc[[0, 1, 31]].tolist() == [0.0, 100.0, 2.0]
