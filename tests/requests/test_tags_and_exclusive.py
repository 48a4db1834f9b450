"""Node tags and exclusive nodes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster_sim import Placement, Platform, Simulation, View, make_scheduler
from cluster_sim.errors import PlacementError
from cluster_sim.machine.node import NodeState
from cluster_sim.run.decisions import Decision, Resize
from schedulers import Fcfs, ListScheduler

from .conftest import jobs, machine

# ---------------------------------------------------------------------- tags


def test_a_job_runs_on_nodes_that_have_all_its_tags() -> None:
    """The third node alone has both; the second job waits for it although the others idle."""
    platform = machine((1, 2, ""), (1, 2, "ib"), (1, 2, "ib ssd"))
    workload = jobs((0, 2, 5), (0, 2, 5), (0, 1, 5), requires=["ssd ib", "ssd", "ib"])
    result = Simulation(platform, workload, ListScheduler(blocking=False)).run()
    assert result.jobs["start_time"].tolist() == [0, 5, 0]
    by_job = dict(zip(result.allocations["job_id"], result.allocations["node"], strict=True))
    assert by_job == {"0": "lab.node2", "1": "lab.node2", "2": "lab.node1"}


@pytest.mark.parametrize(
    ("cores", "columns", "reason"),
    [
        (1, {"requires": ["gpu"]}, "no node has the tag gpu"),
        (1, {"requires": ["ib  gpu"]}, "no node has the tags gpu, ib"),
        (5, {"requires": ["ib"]}, "it asks for 5 cores on nodes with the tag ib, which have 4"),
        (
            4,
            {"requires": ["ib"], "nodes": [1]},
            "it asks for 1 node of 4 cores with the tag ib, the platform has too few",
        ),
        (1, {"reservation": ["course"]}, "there is no advance reservation 'course'"),
    ],
)
def test_what_no_node_can_serve_is_rejected_at_once(cores: int, columns: dict[str, list[object]], reason: str) -> None:
    """In words that name what is missing."""
    platform = machine((1, 8, ""), (2, 2, "ib"))
    result = Simulation(platform, jobs((3, cores, 5), **columns), Fcfs()).run()
    assert result.jobs["state"].tolist() == ["rejected"]
    assert reason in result.jobs["reason"][0]


def test_the_width_rule_counts_the_nodes_that_have_the_tags() -> None:
    """Four cores fit the wide node, but there are no such with the tag: the job is spread over both that have it."""
    platform = machine((1, 8, ""), (2, 2, "ib"))
    result = Simulation(platform, jobs((0, 4, 5), requires=["ib"]), Fcfs()).run()
    assert result.allocations["node"].tolist() == ["lab.node1", "lab.node2"]


def test_a_scheduler_that_places_by_itself_is_held_to_the_tags() -> None:
    """The machine refuses the placement, and says why."""
    simulation = Simulation(machine((1, 2, ""), (1, 2, "ib")), jobs((0, 1, 5), requires=["ib"]))
    view = simulation.step_to_decision()
    assert view is not None
    job = view.pending[0]
    with pytest.raises(
        PlacementError, match=r"job 0 may not start on lab\.node0 now: it may run only on nodes with the tag"
    ):
        simulation.decide((job, Placement.on({0: 1})))
    assert simulation.decide((job, Placement.on({1: 1}))).pending == ()


def test_the_view_tells_which_nodes_are_eligible() -> None:
    """By tags; None where it does not matter."""
    workload = jobs((0, 1, 5), (0, 1, 5), requires=["ib", ""])
    view = View.by_hand(machine((1, 2, ""), (1, 4, "ib")), workload)
    tagged, other = view.pending
    mask = view.machine.eligible(tagged)
    assert mask is not None
    assert mask.tolist() == [False, True]
    assert view.machine.eligible(other) is None
    assert (view.machine.widest_node(tagged), view.machine.restricts) == (4, True)


# ---------------------------------------------------------------------- exclusive nodes


def test_an_exclusive_job_waits_for_an_empty_node_and_nobody_joins() -> None:
    """Job 1 needs a node for itself, job 2 would fit beside it but may not."""
    workload = jobs((0, 1, 10), (1, 1, 5), (2, 1, 5), exclusive=[False, True, False])
    result = Simulation(machine((1, 4, "")), workload, Fcfs()).run()
    assert result.jobs["start_time"].tolist() == [0, 10, 15]


def test_what_an_exclusive_job_leaves_idle_is_neither_free_nor_busy() -> None:
    """Two of four cores idle; the job pays for the processor, utilisation counts what is busy."""
    simulation = Simulation(machine((1, 4, "")), jobs((0, 2, 10), exclusive=[True]), Fcfs())
    simulation.run(until=5)
    view = simulation.view
    assert (view.free_cores.tolist(), view.free_total) == ([0], 0)
    assert view.watts == 14
    assert simulation.node(0).state is NodeState.COMPUTING
    result = simulation.run()
    assert (view.free_cores.tolist(), view.free_total) == ([4], 4)
    summary = result.summary()
    assert summary["utilisation"] == 0.5
    assert (summary["energy_jobs_j"], summary["energy_unused_j"], summary["energy_j"]) == (140, 0, 140)
    assert result.allocations[["first_core", "last_core"]].to_numpy().tolist() == [[0, 1]]


def test_processors_that_an_exclusive_job_does_not_use_are_unused() -> None:
    """The second processor of the node idles at 5 W, which no job pays for."""
    platform = machine((1, 2, ""), processors=2)
    summary = Simulation(platform, jobs((0, 1, 10), exclusive=[True]), Fcfs()).run().summary()
    assert (summary["energy_jobs_j"], summary["energy_unused_j"], summary["energy_idle_j"]) == (120, 50, 0)


def test_a_wide_exclusive_job_takes_whole_nodes_only() -> None:
    """Five cores: the partly used node is left out, and the last core of its last node stays idle."""
    workload = jobs((0, 1, 10), (0, 5, 10), (0, 1, 1), exclusive=[False, True, False])
    result = Simulation(machine((4, 2, "")), workload, Fcfs()).run()
    by_job = result.allocations.groupby("job_id")["node"].unique().map(list).to_dict()
    assert by_job == {"0": ["lab.node0"], "1": ["lab.node1", "lab.node2", "lab.node3"], "2": ["lab.node0"]}


@pytest.mark.parametrize("scheduler", ["fcfs", "conservative", "easy", "equipartition", "shrink-expand"])
def test_an_exclusive_job_that_fills_its_node_keeps_its_cores(scheduler: str) -> None:
    """Its second part would want one core of the two: job 1 would join it at 4, and waits until 8."""
    shapes = {"parts": ["1 1@1", ""], "malleable": [True, False], "min_cores": [1, 1]}
    workload = jobs((0, 2, 8), (1, 1, 5), exclusive=[True, False], **shapes)
    result = Simulation(machine((1, 2, "")), workload, make_scheduler(scheduler)).run()
    assert result.jobs["start_time"].tolist() == [0, 8]


class Shrinks(Fcfs):
    """Takes a core from every job that runs."""

    def schedule(self, view: View) -> Iterator[Decision]:
        """Of what runs when the pass begins."""
        yield from (Resize(running.job, Placement.on({0: 1})) for running in view.running)
        yield from super().schedule(view)


def test_a_scheduler_that_resizes_an_exclusive_job_is_told_why_not() -> None:
    """The job has its node, and one of its cores cannot be given to others."""
    workload = jobs((0, 2, 8), (1, 1, 5), exclusive=[True, False], malleable=[True, False], min_cores=[1, 1])
    with pytest.raises(PlacementError, match="job 0 has its nodes for itself: its cores cannot change"):
        Simulation(machine((1, 2, "")), workload, Shrinks()).run()


def test_memory_does_not_keep_an_exclusive_job_from_an_empty_node() -> None:
    """Room for one task on a node of two cores is enough for a job of one task."""
    platform = Platform.homogeneous(1, 2, memory_gb=1.0)
    workload = jobs((0, 1, 5), exclusive=[True], memory=[1000.0])
    assert Simulation(platform, workload, Fcfs(memory=True)).run().jobs["start_time"].tolist() == [0]


def test_a_killed_exclusive_job_gives_its_nodes_back() -> None:
    """Also when a node of it fails while another one boots."""
    simulation = Simulation(machine((2, 4, "")), jobs((0, 5, 10), (0, 8, 10), exclusive=[True, True]), Fcfs())
    simulation.run(until=3)
    simulation.node(0).fail()
    simulation.run(until=4)
    assert simulation.view.free_total == 4
    simulation.node(0).repair()
    assert simulation.run().jobs["state"].tolist() == ["killed", "completed"]


def test_an_exclusive_placement_on_a_shared_node_is_refused() -> None:
    """With nothing changed."""
    simulation = Simulation(machine((1, 4, "")), jobs((0, 1, 10), (0, 1, 5), exclusive=[False, True]))
    view = simulation.step_to_decision()
    assert view is not None
    first, second = view.pending
    simulation.decide((first, Placement.on({0: 1})))
    with pytest.raises(PlacementError, match="another job is there"):
        simulation.decide((second, Placement.on({0: 1})))
    assert view.free_total == 3


def test_without_wishes_nothing_is_looked_at() -> None:
    """The flag is worked out once a run."""
    simulation = Simulation(machine((1, 4, "ib")), jobs((0, 1, 10)), make_scheduler("fcfs"))
    assert not simulation.machine.cores.eligibility.restricts
