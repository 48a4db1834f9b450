"""Jobs that ask for few leaf switches: where they go, how long they wait for that, and what is promised to them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import InputError, Placement, Platform, Simulation, View, Workload, make_scheduler
from cluster_sim.errors import PlacementError
from cluster_sim.platform.switches import Switch
from cluster_sim.run.decisions import Start
from schedulers import Fcfs
from schedulers.optimum.search import optimum
from tests.support.contract import checks

from .conftest import jobs, machine

BACKFILLING = ["easy", "easy:depth=3", "easy:reservation=pinned", "conservative", "conservative:replan=yes"]
ANY = [
    "fcfs",
    "list:first/random,blocking=no",
    "list:first/fewest-switches",
    "preemptive",
    "pcbe",
    "moldable",
    *BACKFILLING,
]


def racks(*sizes: int, cores: int = 1) -> Platform:
    """Racks of so many nodes, one switch above all."""
    ends = np.cumsum(sizes).tolist()
    leaves = [
        Switch(f"rack{i}", tuple(range(end - size, end))) for i, (size, end) in enumerate(zip(sizes, ends, strict=True))
    ]
    top = Switch("top", (), tuple(leaf.name for leaf in leaves))
    return replace(machine((sum(sizes), cores, "")), switches=(*leaves, top))


def nodes_of(result: Any, job: str) -> list[str]:
    """The nodes of a job."""
    table = result.allocations
    return sorted(name.removeprefix("lab.node") for name in table[table["job_id"] == job]["node"])


@pytest.mark.parametrize("spec", ANY)
def test_a_job_waits_for_one_rack(spec: str) -> None:
    """Of two racks of two nodes one node each is busy until 10 s: two nodes are free, under two switches."""
    workload = jobs((0, 1, 10), (0, 1, 4), (0, 1, 10), (1, 2, 5), nodes=[1, 1, 1, 2], switches=[0, 0, 0, 1])
    result = Simulation(racks(2, 2), workload, make_scheduler(spec)).run()
    places = [nodes_of(result, job) for job in "0123"]
    leaf = racks(2, 2).switch_tree.leaf_of_node
    assert len({leaf[int(node)] for node in places[3]}) == 1
    together = leaf[int(places[0][0])] == leaf[int(places[2][0])]
    assert result.jobs["start_time"][3] == (4.0 if together else 10.0)


@pytest.mark.parametrize("spec", [spec for spec in ANY if spec != "pcbe" and "random" not in spec])
@pytest.mark.parametrize(("wait", "start"), [(3, 4), (0, 1), (20, 10), (math.inf, 10)])
def test_when_it_has_waited_long_enough_any_nodes_will_do(spec: str, wait: float, start: float) -> None:
    """Nothing else happens then: the end of the wait itself brings a pass. Nodes 0 and 2 are busy until 10 s."""
    holders = [(0, 1, 10), (0, 1, 1), (0, 1, 10), (0, 1, 1)]
    wishes = {"nodes": [1, 1, 1, 1, 2], "switches": [0, 0, 0, 0, 1], "switch_wait": [math.inf] * 4 + [wait]}
    platform = racks(2, 2)
    result = Simulation(platform, jobs(*holders, (1, 2, 5), **wishes), make_scheduler(spec)).run()
    assert [nodes_of(result, str(job)) for job in range(4)] == [[str(node)] for node in range(4)]
    assert result.jobs["start_time"][4] == start


@pytest.mark.parametrize("spec", BACKFILLING)
def test_a_promise_is_of_nodes_under_one_switch(spec: str) -> None:
    """Job 3 can have a rack at 10 s, not before; a job behind it that would take a node of that rack until 12 s has to wait."""
    # Racks of two and one: node 0 is busy until 10, node 2 until 3.
    workload = jobs(
        (0, 1, 10), (0, 1, 1), (0, 1, 3), (2, 2, 5), (2, 1, 10), nodes=[1, 1, 1, 2, 1], switches=[0, 0, 0, 1, 0]
    )
    result = Simulation(racks(2, 1), workload, make_scheduler(spec)).run()
    assert result.jobs["start_time"].tolist() == [0, 0, 0, 10, 3]
    assert (nodes_of(result, "3"), nodes_of(result, "4")) == (["0", "1"], ["2"])


@pytest.mark.parametrize("spec", BACKFILLING)
def test_a_promise_may_be_of_the_end_of_the_wait(spec: str) -> None:
    """Nodes 1 and 2 are free, under two switches: job 3 is promised them for 7 s, when it has waited 5 s.

    So a job that would hold one of them until 8 s waits, and one until 6 s does not.
    """
    workload = jobs(
        (0, 1, 20), (0, 1, 1), (0, 1, 1), (0, 1, 20), (2, 2, 5), (3, 1, 5), (3, 1, 3),
        nodes=[1, 1, 1, 1, 2, 1, 1],
        switches=[0, 0, 0, 0, 1, 0, 0],
        switch_wait=[math.inf] * 4 + [5.0] + [math.inf] * 2,
    )  # fmt: skip
    result = Simulation(racks(2, 2), workload, make_scheduler(spec)).run()
    assert result.jobs["start_time"].tolist() == [0, 0, 0, 0, 7, 12, 3]


def test_the_machine_keeps_to_it_whatever_the_scheduler() -> None:
    """A placement on two racks is refused before the wait is over."""
    view = View.by_hand(racks(2, 2), jobs((0, 2, 5), nodes=[2], switches=[1]))
    with pytest.raises(PlacementError, match="at most 1 leaf switch, not rack0, rack1"):
        Simulation(racks(2, 2), jobs((0, 2, 5), nodes=[2], switches=[1]), _Stubborn()).run()
    assert view.machine.leaf_limit(view.pending[0], 3.0) == 1


class _Stubborn(Fcfs):
    def schedule(self, view: View) -> Any:
        return [Start(job, Placement.on({0: 1, 2: 1})) for job in view.pending]


@pytest.mark.parametrize("wait", [math.inf, 5.0])
def test_a_job_that_no_rack_could_hold(wait: float) -> None:
    """It is rejected, unless it takes any nodes after some time."""
    workload = jobs((0, 3, 5), nodes=[3], switches=[1], switch_wait=[wait])
    result = Simulation(racks(2, 2), workload, Fcfs()).run()
    if wait < math.inf:
        assert result.jobs["start_time"].tolist() == [5.0]
    else:
        assert result.jobs["reason"].tolist() == [
            "it asks for at most 1 leaf switch, and so few never have room for it"
        ]


def test_cores_of_partly_free_nodes_count_by_rack() -> None:
    """Six cores fit no node: the racks have 5 and 8 free, so they go to the second."""
    workload = jobs((0, 3, 9), (0, 6, 9), switches=[0, 1])
    result = Simulation(racks(2, 2, cores=4), workload, Fcfs()).run()
    assert nodes_of(result, "1") == ["2", "3"]


def test_a_job_of_uneven_parts() -> None:
    """Three tasks and two need a node with three free: only the second rack has one, though the first has two nodes free."""
    workload = jobs((0, 2, 9), (0, 2, 9), (0, 5, 9), nodes=[1, 1, 2], switches=[0, 0, 1])
    view = View.by_hand(racks(2, 2, cores=4), workload)
    for job, node in zip(view.pending[:2], (0, 1), strict=True):
        view.apply(Start(job, Placement.on({node: 2})))
    assert view.place(view.pending[0]) == Placement.on({2: 3, 3: 2})


def test_without_a_topology_it_asks_for_nothing() -> None:
    """All nodes hang on one switch; the run is the same as without the wish."""
    rows = [(0, 1, 10), (0, 2, 4), (1, 2, 5), (2, 1, 3)]
    plain = Simulation(machine((4, 1, "")), jobs(*rows, nodes=[1, 2, 2, 1]), make_scheduler("easy")).run()
    asked = jobs(*rows, nodes=[1, 2, 2, 1], switches=[1] * 4)
    same = Simulation(machine((4, 1, "")), asked, make_scheduler("easy")).run()
    assert same.allocations.equals(plain.allocations)


def test_the_optimum_refuses_it_by_name() -> None:
    """The search does not know of switches."""
    with pytest.raises(InputError, match="switches"):
        optimum(racks(2, 2), jobs((0, 2, 5), switches=[1]))


def test_it_is_explained(tmp_path: Any) -> None:
    """Why it waited, and until when; also from a saved result."""
    workload = jobs(
        (0, 1, 10), (0, 1, 1), (0, 1, 10), (0, 1, 1), (1, 2, 5),
        nodes=[1, 1, 1, 1, 2], switches=[0, 0, 0, 0, 1], switch_wait=[math.inf] * 4 + [6.0],
    )  # fmt: skip
    result = Simulation(racks(2, 2), workload, Fcfs()).run()
    assert "fits only under more leaf switches than it asks for" in result.explain("4")
    result.save(tmp_path / "run")
    assert type(result).load(tmp_path / "run").explain("4") == result.explain("4")


def test_a_job_submitted_while_the_run_goes_on() -> None:
    """It is the first that asks for few switches, and waits 2 s for them."""
    simulation = Simulation(
        racks(2, 2), jobs((0, 1, 10), (0, 1, 1), (0, 1, 10), (0, 1, 1), nodes=[1] * 4), make_scheduler("easy")
    )
    simulation.run(until=2.0)
    wishes = {"requested_cores": 2, "nodes": 2, "recorded_run_time": 5.0, "requested_time": 5.0}
    simulation.submit({**wishes, "switches": 1, "switch_wait": 2.0})
    assert simulation.run().jobs["start_time"].tolist()[-1] == 4.0


@st.composite
def cases(draw: st.DrawFn) -> tuple[Platform, Workload]:
    """Racks of one to three nodes of one or two cores, and jobs of which some ask for one or two switches."""
    platform = racks(*draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)), cores=draw(st.integers(1, 2)))
    count = draw(st.integers(1, 12))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=count, max_size=count))

    return platform, Workload(
        {
            "submit_time": column(st.sampled_from([0.0, 1.0, 2.0, 5.0])),
            "requested_cores": (cores := column(st.integers(1, 6))),
            "nodes": [min(n, c) for n, c in zip(column(st.integers(0, 4)), cores, strict=True)],
            "recorded_run_time": (seconds := column(st.sampled_from([1.0, 2.0, 5.0]))),
            "requested_time": [s * f for s, f in zip(seconds, column(st.sampled_from([1.0, 2.0, 0.5])), strict=True)],
            "switches": column(st.integers(0, 2)),
            "switch_wait": column(st.sampled_from([math.inf, 0.0, 1.0, 3.0])),
        }
    )


@pytest.mark.parametrize(
    "spec", [*ANY, "easy:nodes=fewest-switches", "conservative:nodes=in-a-row", "list:first/group-packing"]
)
@settings(settings.get_profile("requests"), max_examples=25)
@given(case=cases())
def test_no_job_starts_under_more_switches_than_it_waited_for(spec: str, case: tuple[Platform, Workload]) -> None:
    """Over every scheduler; and every job is completed, or rejected with a reason."""
    platform, workload = case
    result = Simulation(platform, workload, make_scheduler(spec)).run()
    checks.check_wishes(result, workload, [])
    assert set(result.jobs["state"]) <= {"completed", "rejected"}


@pytest.mark.parametrize("spec", ["malleable", "malleable:size=fixed", "moldable", "shrink-expand", "equipartition"])
def test_a_job_that_may_have_fewer_cores_takes_what_one_rack_has(spec: str) -> None:
    """It asks for four cores, would do with one, and no rack has more than two: it is not left to wait for ever."""
    wishes = {"switches": [1], "malleable": [True], "min_cores": [1], "max_cores": [4]}
    result = Simulation(racks(2, 1), jobs((0, 4, 8), **wishes), make_scheduler(spec)).run()
    assert result.jobs["state"].tolist() == ["completed"]
    assert set(nodes_of(result, "0")) <= {"0", "1"}
