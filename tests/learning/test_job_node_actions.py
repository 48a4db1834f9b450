"""Pairs: what is allowed, what is the same, what an action starts."""

from __future__ import annotations

import numpy as np
import pytest

from cluster_sim import Platform, View, Workload
from cluster_sim.machine.placement import Placement
from cluster_sim.platform import Cluster, NodeGroup, NodeType, ProcessorType
from cluster_sim.read_only import renew
from cluster_sim.run import Start
from cluster_sim.run.jobs.run_jobs import RunJobs
from learning.tasks.episodes import Whole
from learning.tasks.job_node.actions import PairFinder
from learning.tasks.job_node.decision_batch import DecisionBatch, estimates
from learning.tasks.job_node.environment import TOO_HUNGRY, JobNode
from learning.tasks.job_node.pairs import PairOptions, Pairs
from learning.tasks.occupancy import JobRequests

POWER = {"static_w": 30.0, "dynamic_w": 2.0, "min_power": 0.5}


def machine() -> Platform:
    """Two nodes of four cores at 2 GHz, and one of eight at 4 GHz."""
    slow = NodeType("slow", (ProcessorType("s", 4, 2.0, power=POWER),))
    fast = NodeType("fast", (ProcessorType("f", 8, 4.0, power=POWER),))
    return Platform((Cluster("c", (NodeGroup(slow, 2), NodeGroup(fast, 1))),), "three")


def jobs(cores: list[int], **columns: list[float]) -> Workload:
    """Jobs of 10 s, all there at 0."""
    table = {"submit_time": [0.0] * len(cores), "requested_cores": cores, "recorded_run_time": [10.0] * len(cores)}
    return Workload(table | {"requested_time": [10.0] * len(cores)} | columns)


def pairs_of(view: View, **options: object) -> Pairs:
    """The pairs in a state written down by hand."""
    finder = PairFinder(PairOptions(**options))  # type: ignore[arg-type]
    finder.begin(view)
    return finder.pairs(view, may_wait=True)


def test_action_is_job_times_nodes_plus_node() -> None:
    """Each allowed action starts that job on that node, and the last one waits."""
    view = View.by_hand(machine(), jobs([4, 5]))
    pairs = pairs_of(view, num_jobs=3, merge_equal=False, wait=True)
    assert pairs.mask.tolist() == [1, 1, 1, 0, 0, 1, 0, 0, 0, 1]
    assert pairs.action(9) is None
    chosen = pairs.action(5)
    assert chosen is not None
    assert (chosen[0].job_id, chosen[1]) == ("1", Placement.on({2: 5}))


def test_equal_jobs_and_nodes_are_offered_once() -> None:
    """Of jobs with one request the oldest, of idle nodes of one type the first; a job in between keeps its place."""
    view = View.by_hand(machine(), jobs([4, 4, 2, 4]))
    pairs = pairs_of(view, num_jobs=4)
    assert [job.job_id for job in pairs.jobs] == ["0", "2"]
    assert pairs.mask.tolist() == [1, 0, 1, 1, 0, 1] + [0] * 6


def test_a_busy_node_is_another_one() -> None:
    """Nodes of one type differ when jobs run on one of them, and are the same when equal jobs started there together."""
    view = View.by_hand(machine(), jobs([2, 2, 2]))
    first, second, _ = view.pending
    finder = PairFinder(PairOptions(num_jobs=1))
    finder.begin(view)
    view.apply(Start(first, Placement.on({0: 2})))
    assert finder.pairs(view).mask.tolist() == [1, 1, 1]
    view.apply(Start(second, Placement.on({1: 2})))
    assert finder.pairs(view).mask.tolist() == [1, 0, 1]


def test_requests_differ_in_anything_that_is_asked_for() -> None:
    """Another time, volume or limit is another request; another user is not."""
    same = jobs([1, 1], user=["a", "b"])  # type: ignore[list-item]
    assert len(pairs_of(View.by_hand(machine(), same), num_jobs=4).jobs) == 1
    for column in ("requested_time", "mem_vol", "max_energy", "memory", "deadline"):
        other = jobs([1, 1], **{column: [20.0, 30.0]})
        assert len(pairs_of(View.by_hand(machine(), other), num_jobs=4).jobs) == 2, column


def test_only_the_oldest_are_eligible() -> None:
    """``num_jobs`` of them; with equal ones merged, that many different ones."""
    view = View.by_hand(machine(), jobs([1, 1, 1, 2, 3]))
    assert [job.job_id for job in pairs_of(view, num_jobs=2, merge_equal=False).jobs] == ["0", "1"]
    assert [job.job_id for job in pairs_of(view, num_jobs=2).jobs] == ["0", "3"]


def test_the_energy_estimate_is_equation_3_6() -> None:
    """By hand: 10 s as requested on the slowest, static 30 W shared with the jobs there, 2 W a core; half on the fast node."""
    view = View.by_hand(machine(), jobs([4]))
    finder = PairFinder(PairOptions())
    finder.begin(view)
    request = finder.requests.of(view.pending[0])
    estimate = finder.estimate.of(
        np.array([request.requested_time]), np.array([1.0 * request.cores]), np.array([0.0, 2.0, 0.0])
    )
    assert estimate[0].tolist() == pytest.approx([10 * (30 + 8), 10 * (30 / 3 + 8), 5 * (30 + 8)])


def test_pairs_over_the_limit_are_not_allowed() -> None:
    """A job that may take 200 J may run on the fast node (190 J) only; one that may take 100 J nowhere."""
    view = View.by_hand(machine(), jobs([4, 4], max_energy=[200.0, 100.0]))
    assert pairs_of(view, num_jobs=2).mask.tolist() == [0, 0, 1, 0, 0, 0]


def test_a_job_that_is_too_hungry_for_every_node_is_rejected() -> None:
    """It would keep an idle machine for ever; the others run."""
    env = JobNode(episodes=Whole(machine(), jobs([4, 4], max_energy=[100.0, 200.0])), placements="all")
    _, info = env.reset()
    while not env._is_over:
        *_, info = env.step(int(info["action_mask"].argmax()))
    table = env.result().jobs
    assert table["state"].tolist() == ["rejected", "completed"]
    assert table["reason"][0] == TOO_HUNGRY


def test_a_wide_job_begins_with_the_node() -> None:
    """Ten cores fit on no node: they begin with the one that is chosen and go on in platform order."""
    view = View.by_hand(machine(), jobs([10]))
    pairs = pairs_of(view, num_jobs=1, merge_equal=False)
    found = [pairs.action(int(number)) for number in pairs.actions]
    assert [chosen[1].cores_by_node() for chosen in found if chosen] == [
        {0: 4, 1: 4, 2: 2},
        {1: 4, 0: 4, 2: 2},
        {2: 8, 0: 2},
    ]


def test_what_a_wide_job_needs_is_the_sum_over_its_nodes() -> None:
    """Nodes of 2 cores, 90 W dearer busy than idle and 1 W a core; 4 cores for 10 s on two of them: 2 · (90 + 2) · 10 J.

    Where a core is busy for 20 s already, that node's 90 W are paid for, and the job spreads over three: 1 + 2 + 1 cores.
    """
    power = {"static_w": 100.0, "dynamic_w": 1.0, "min_power": 0.1}
    kind = NodeType("n", (ProcessorType("p", 2, 1.0, power=power),))
    platform = Platform((Cluster("c", (NodeGroup(kind, 3),)),), "small", "none", "linear")
    times = {"requested_time": [20.0, 10.0], "recorded_run_time": [20.0, 10.0]}
    view = View.by_hand(platform, jobs([1, 4], **times))
    for expected in (1840.0, 4 * 10.0 + 2 * 900.0):
        finder = PairFinder(PairOptions(num_jobs=2, merge_equal=False))
        finder.begin(view)
        pairs = finder.pairs(view)
        wide = int(np.flatnonzero([pairs.jobs[row].requested_cores == 4 for row in pairs.job_of])[0])
        expects = estimates(DecisionBatch([finder], [view], [pairs]))
        assert expects.energy[wide] == pytest.approx(expected)
        assert expects.finish[wide] == pytest.approx(10.0)
        if view.pending_count == 2:
            view.apply(Start(view.pending[0], Placement.on({0: 1})))


def test_memory_is_respected_on_request() -> None:
    """A node of 1 GB holds one task of 600 MB."""
    platform = Platform.homogeneous(nodes=1, cores=4, memory_gb=1.0)
    view = View.by_hand(platform, jobs([2], memory=[600.0]))
    renew(view.planning, counts_memory=True)
    assert pairs_of(view, num_jobs=1).mask.tolist() == [1]
    assert pairs_of(view, num_jobs=1, memory=True).mask.tolist() == [0]


def test_requests_are_known_in_the_next_run_of_a_workload() -> None:
    """They are numbered once; what a job that was added in between asked for is not taken for another one's request."""
    workload, requests = jobs([1, 2]), JobRequests()
    first = RunJobs(workload)
    known = [requests.of(first.job(0)), requests.of(first.job(1))]
    second = RunJobs(workload)
    assert [requests.of(second.job(i)) for i in range(2)] == known
    assert requests.of(second.job(0)) is known[0]
    assert requests.of(second.add({"requested_cores": 3, "recorded_run_time": 1.0}, 0.0)).cores == 3
    third = RunJobs(workload)
    assert requests.of(third.add({"requested_cores": 4, "recorded_run_time": 1.0}, 0.0)).cores == 4
