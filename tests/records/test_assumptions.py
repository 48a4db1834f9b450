"""What a run assumes where its inputs say nothing is counted, told once for each kind, and kept with the result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import FormatError
from cluster_sim.platform.hardware import PowerTransitions
from cluster_sim.records.assumptions import merged, of_inputs, of_simulation
from cluster_sim.records.result import Result
from schedulers import EasyBackfilling, Fcfs, IdleTimeout, make_power_policy

TRANSITIONS = PowerTransitions(off_w=1.0, switch_on_s=10.0, switch_off_s=5.0)


def jobs(**columns: list) -> Workload:
    """Four jobs, 100 s apart, all of which say everything."""
    default = {
        "submit_time": [0.0, 100.0, 200.0, 300.0],
        "requested_cores": [1, 2, 1, 2],
        "recorded_run_time": [10.0] * 4,
        "requested_time": [20.0] * 4,
    }
    return Workload(default | columns)


def machine(**options) -> Platform:
    """Two nodes of two cores, with transitions and watts."""
    return Platform.homogeneous(nodes=2, cores=2, **{"transitions": TRANSITIONS} | options)


def test_nothing_is_assumed_where_all_is_said() -> None:
    """Jobs that fit and ask for a time, on nodes with watts and transitions: no line, though nodes switch."""
    result = Simulation(machine(), jobs(), EasyBackfilling(), IdleTimeout(20.0)).run()
    assert result.summary()["node_switches"] > 0
    assert result.assumptions == []


def test_rejected_jobs_are_counted_with_the_first_reason() -> None:
    """Two of four jobs ask for more cores than the platform's four: the line names the first and says why."""
    workload = jobs(requested_cores=[1, 5, 1, 9])
    (line,) = Simulation(machine(), workload, Fcfs()).run().cautions.left_out
    assert line == "rejected: 2 of 4 jobs, the first is job 1: it asks for 5 cores, the platform has 4"
    (before,) = of_inputs(machine(), workload)
    assert before.startswith("rejected: 2 of 4 jobs will be")
    assert "the widest asks for 9 cores, the platform has 4" in before


def test_requests_for_cores_in_vain() -> None:
    """Of four evolving jobs one is not malleable, and one has its nodes for itself: these keep their cores."""
    evolving = {"parts": ["", "1 1@2", "1 1@2", "1 1@2"], "malleable": [False, False, True, True]}
    workload = jobs(**evolving, max_cores=[0, 0, 2, 2], exclusive=[False, False, True, False])
    told = "parts: 2 of 4 jobs ask for cores (@) and keep theirs: they are not malleable, or exclusive"
    assert of_inputs(machine(), workload) == [told]
    assert Simulation(machine(), workload, make_scheduler("shrink-expand")).run().assumptions == [told]


def test_lublins_nodes_are_cores() -> None:
    """Where lublin's jobs are too wide, the line says that its nodes count cores, and how many they are."""
    workload = Workload.read("lublin:jobs=100,nodes=64,seed=1,estimates=tsafrir")
    result = Simulation(machine(), workload, Fcfs()).run()
    (line,) = result.cautions.left_out
    count = int((workload.jobs["requested_cores"] > 4).sum())
    assert line.startswith(f"rejected: {count} of 100 jobs")
    assert line.endswith("the workload is one for 64 cores (nodes= of lublin counts cores)")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"requested_time_assumed": [True, False, True, True]}, "3 of 4 jobs have none; their run time stands in"),
        ({"requested_time": [20.0, float("inf"), 20.0, 20.0]}, "1 of 4 jobs have none, and count as endless"),
        (
            {"requested_time": [20.0, float("inf"), 20.0, 20.0], "requested_time_assumed": [True, False, False, False]},
            "1 of 4 jobs have none; their run time stands in, a perfect estimate; 1 more have none, and count as endless",
        ),
    ],
)
def test_missing_requested_times_are_counted(columns: dict[str, list], said: str) -> None:
    """Whether the run time stands in for a requested time, or none at all, both are told, in one line."""
    (line,) = Simulation(machine(), jobs(**columns), EasyBackfilling()).run().assumptions
    assert line.startswith("requested time: ")
    assert said in line


def test_switching_for_nothing_is_counted() -> None:
    """Two nodes without transitions under timeout:20 by hand: the first goes off and comes on between jobs."""
    result = Simulation(machine(transitions=None), jobs(), Fcfs(), IdleTimeout(20.0)).run()
    (line,) = result.assumptions
    switches = result.metrics["node_switches"]
    assert line == (
        f"transitions: {switches} switches took 0 s and 0 J, for 2 of 2 nodes state none, and draw 0 W while off"
    )
    still = Simulation(machine(transitions=None), jobs(), Fcfs())
    assert still.run().assumptions == []  # without a policy nothing switches


def test_a_check_knows_which_policies_switch() -> None:
    """Before a run, of nodes without transitions: told under timeout, not where the policy leaves nodes on."""

    def told(policy: str | None) -> list[str]:
        power = None if policy is None else make_power_policy(policy)
        return of_simulation(Simulation(machine(transitions=None), jobs(), Fcfs(), power))

    assert told("timeout:20") == [
        "transitions: 2 of 2 nodes state none; they switch in 0 s for 0 J, and draw 0 W while off"
    ]
    assert told("always-on") == told("power-cap:5000") == told(None) == []


def test_missing_watts_are_counted() -> None:
    """A platform of which no processor states watts: its energies are 0 J, and a line says why."""
    result = Simulation(machine(power={}), jobs(), Fcfs()).run()
    assert result.summary()["energy_j"] == 0.0
    assert result.assumptions == ["watts: 2 of 2 nodes state none, and draw 0 W; energies count without them"]


def test_missing_memory_counts_only_where_it_is_respected() -> None:
    """One of four jobs states its memory: a line under a scheduler that respects memory, none under others."""
    workload = jobs(memory=[0.0, 100.0, 0.0, 0.0])
    result = Simulation(machine(memory_gb=1.0), workload, EasyBackfilling(memory=True)).run()
    assert result.assumptions == ["memory: 3 of 4 jobs state none, and count as needing none"]
    assert Simulation(machine(memory_gb=1.0), workload, EasyBackfilling()).run().assumptions == []


def test_a_network_that_is_missing_is_among_them() -> None:
    """What the warning says of communication that takes no time stands in the list as well."""
    with pytest.warns(UserWarning, match="no time without a network model") as caught:
        result = Simulation(machine(), jobs(requested_cores=[4, 1, 1, 1], comm_vol=[5.0, 0, 0, 0]), Fcfs()).run()
    assert result.assumptions == [str(caught[0].message)]


def test_a_saved_result_keeps_them(tmp_path: Path) -> None:
    """In summary.json they are a list, and a loaded result has the same; one that is no list of texts is refused."""
    result = Simulation(machine(), jobs(requested_cores=[1, 5, 1, 9]), Fcfs()).run()
    result.save(tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["assumptions"] == result.assumptions == Result.load(tmp_path).assumptions
    (tmp_path / "summary.json").write_text(json.dumps(summary | {"assumptions": [1]}))
    with pytest.raises(FormatError, match="assumptions: expected a list of texts"):
        Result.load(tmp_path)


def test_several_runs_have_a_line_for_each_kind() -> None:
    """The first line of a kind stands for it, with the number of different ones beside it."""
    lines = merged([["rejected: 1 of 4", "watts: a"], ["rejected: 2 of 4", "watts: a"], ["rejected: 3 of 4"]])
    assert lines == ["rejected: 1 of 4 (2 more like this)", "watts: a"]
