"""Models of failures: when nodes fail and are repaired, in runs and by themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.errors import InputError
from cluster_sim.machine.node import NodeState
from cluster_sim.platform import Cluster, NodeGroup, PowerTransitions
from cluster_sim.run.decisions import Resize
from cluster_sim.run.failures import Failure, Failures, failure_models
from cluster_sim.run.view import View
from schedulers import Fcfs, make_power_policy
from tests.support import scripted

PLATFORM = Platform.homogeneous(nodes=4, cores=2, transitions=PowerTransitions(switch_on_s=10.0, switch_off_s=5.0))


def one_job(seconds: float = 100.0, cores: int = 2, **more: object) -> Workload:
    """A workload of one job."""
    columns = {"submit_time": [0.0], "requested_cores": [cores], "recorded_run_time": [seconds]}
    return Workload(columns | {name: [value] for name, value in more.items()})


def trace(folder: Path, *rows: str) -> str:
    """The spec of a file with these rows."""
    path = folder / "failures.csv"
    path.write_text("\n".join(["time,node,event", *rows]) + "\n")
    return f"trace:{path}"


def drawn(spec: str, count: int, seed: int = 1, nodes: int = 4) -> list[Failure]:
    """The first events of a model."""
    model = failure_models.make(spec)
    return list(islice(model.events(Platform.homogeneous(nodes=nodes, cores=1), np.random.default_rng(seed)), count))


def lifetimes(events: list[Failure], repair: float) -> np.ndarray:
    """The times from each repair of a node, or the begin, to its next failure."""
    up: dict[int, float] = {}
    found = []
    for time, node, fails in events:
        if fails:
            found.append(time - up.get(node, 0.0))
        else:
            up[node] = time
    return np.array(found)


@pytest.mark.parametrize("spec", ["exponential:mtbf=1000,repair=50", "weibull:mtbf=1000,shape=0.7,repair=50"])
def test_times_between_failures_have_their_mean(spec: str) -> None:
    """Within four standard errors; the spread is the distribution's: mean for exponential, 1.46 times it for shape 0.7."""
    times = lifetimes(drawn(spec, 40_000), 50.0)
    deviation = 1000.0 * (1.0 if spec.startswith("exp") else 1.4624)  # sqrt(Γ(1 + 2/k) / Γ(1 + 1/k)² − 1)
    assert abs(times.mean() - 1000.0) < 4.0 * deviation / np.sqrt(len(times))
    assert times.std() == pytest.approx(deviation, rel=0.05)


def test_a_shape_of_one_is_exponential() -> None:
    """Half of the times are below ln 2 of the mean."""
    times = lifetimes(drawn("weibull:mtbf=1000,shape=1,repair=0", 20_000), 0.0)
    assert (times < 1000.0 * np.log(2.0)).mean() == pytest.approx(0.5, abs=0.02)


def test_each_failure_is_repaired_in_order_of_time() -> None:
    """A node fails and is repaired in turn, for exactly the time of a repair."""
    events = drawn("exponential:mtbf=100,repair=30", 1_000)
    assert [time for time, _, _ in events] == sorted(time for time, _, _ in events)
    for node in range(4):
        own = [(time, fails) for time, at, fails in events if at == node]
        assert [fails for _, fails in own] == [place % 2 == 0 for place in range(len(own))]
        for (failed, _), (repaired, _) in zip(own[::2], own[1::2], strict=False):
            assert repaired == failed + 30.0


def test_groups_fail_together() -> None:
    """Of five nodes in groups of two: 0 and 1, 2 and 3, 4 alone."""
    together: dict[float, list[int]] = {}
    for time, node, fails in drawn("exponential:mtbf=100,repair=30,group=2", 1_000, nodes=5)[:-2]:
        if fails:
            together.setdefault(time, []).append(node)
    assert {tuple(nodes) for nodes in together.values()} == {(0, 1), (2, 3), (4,)}


def test_failures_follow_the_seed_and_nothing_else() -> None:
    """The same in runs with another scheduler's placement and length, others with another seed."""

    def failed(seed: int, seconds: float) -> list[tuple[str, float]]:
        workload = one_job(seconds)
        failures = "exponential:mtbf=60,repair=20,limit=1000"
        result = Simulation(PLATFORM, workload, Fcfs(), seed=seed, failures=failures, until=400.0).run()
        states = result.node_states
        return sorted(zip(*states[states["state"] == "FAILED"][["start", "node"]].to_numpy().T, strict=True))

    assert failed(1, 10_000.0) == failed(1, 9_000.0) != failed(2, 10_000.0)


def test_a_limit_of_failures(tmp_path: Path) -> None:
    """With a limit of two, a job is killed by its second failure, with the node's name as the reason."""
    rows = [f"{50 * k},{node},{event}" for k in (1, 2, 3) for node in range(4) for event in ("fail", "repair")]
    spec = trace(tmp_path, *rows)
    platform = Platform.homogeneous(nodes=4, cores=2)
    result = Simulation(platform, one_job(), Fcfs(), failures=f"{spec},limit=2").run()
    job = result.jobs.iloc[0]
    assert (job["state"], job["finish_time"], job["reason"]) == ("killed", 100.0, "cluster0.node0 failed")
    assert result.attempts["outcome"].tolist() == ["failed", "failed"]
    assert result.summary()["lost_core_s"] == 200.0
    unlimited = Simulation(platform, one_job(), Fcfs(), failures=spec).run()
    assert unlimited.jobs["finish_time"].tolist() == [250.0]


def test_a_job_that_ends_as_its_node_fails_has_ended(tmp_path: Path) -> None:
    """Completions of an instant come before its failures."""
    result = Simulation(PLATFORM, one_job(), Fcfs(), failures=trace(tmp_path, "100,0,fail")).run()
    assert result.jobs["state"].tolist() == ["completed"]


@pytest.mark.parametrize("elsewhere", [[], ["50,1,fail", "60,1,repair"]])
def test_a_job_that_reaches_its_limit_as_its_node_fails_has_reached_it(tmp_path: Path, elsewhere: list[str]) -> None:
    """Whatever fails before on a node that it does not have."""
    failures = trace(tmp_path, *elsewhere, "100,0,fail", "110,0,repair")
    job = one_job(300.0, requested_time=100.0)
    result = Simulation(PLATFORM, job, Fcfs(), enforce_walltime=True, failures=failures).run()
    assert result.attempts[["end_time", "outcome"]].to_numpy().tolist() == [[100.0, "timeout"]]


def test_the_end_of_a_run_waits_for_no_failure(tmp_path: Path) -> None:
    """Neither for those of a file nor for those that are drawn without end."""
    for failures in (trace(tmp_path, "5000,0,fail", "6000,0,repair"), "exponential:mtbf=1e6"):
        simulation = Simulation(PLATFORM, one_job(), Fcfs(), failures=failures)
        assert simulation.run().power["time"].iloc[-1] == simulation.env.now == 100.0


def test_nodes_in_any_state_fail(tmp_path: Path) -> None:
    """A node that is OFF, one that boots for job 1 and one that has failed: FAILED until its repair, then OFF, or it boots."""
    rows = [
        "20,cluster0.node3,fail",
        "30,3,fail",
        "40,cluster0.node3,repair",
        "45,3,fail",
        "60,3,repair",
        "65,2,repair",
    ]
    policy = make_power_policy("timeout:0")
    columns = {"submit_time": [0.0, 42.0], "requested_cores": [2, 6], "recorded_run_time": [100.0, 10.0]}
    result = Simulation(PLATFORM, Workload(columns), Fcfs(), policy, failures=trace(tmp_path, *rows)).run()
    states = result.node_states
    own = states[states["node"] == "cluster0.node3"][["state", "start"]].to_numpy().tolist()
    assert own[:7] == [
        ["SWITCHING_OFF", 0.0],
        ["OFF", 5.0],
        ["FAILED", 20.0],
        ["OFF", 40.0],
        ["SWITCHING_ON", 42.0],
        ["FAILED", 45.0],
        ["SWITCHING_ON", 60.0],
    ]
    other = states[states["node"] == "cluster0.node2"]["state"]
    assert "FAILED" not in set(other)  # the repair of a node that is well does nothing
    assert result.nodes["failed_j"].tolist() == [0.0] * 4


def test_a_job_whose_node_fails_while_it_boots_waits_again(tmp_path: Path) -> None:
    """It has lost no core time, and gets its cores again when its node has been repaired (40 s) and has booted (50 s)."""
    columns = {"submit_time": [0.0, 7.0], "requested_cores": [2, 8], "recorded_run_time": [1.0, 10.0]}
    failures = trace(tmp_path, "14,1,fail", "40,1,repair")
    result = Simulation(PLATFORM, Workload(columns), Fcfs(), make_power_policy("timeout:0"), failures=failures).run()
    late = result.attempts[result.attempts["job_id"] == "1"]
    assert late["outcome"].tolist() == ["failed", "completed"]
    assert late["lost_core_s"].tolist() == [0.0, 0.0]
    assert late["end_time"].tolist() == [14.0, 70.0]
    assert late["start_time"].isna().tolist() == [True, False]


@pytest.mark.parametrize("watts", [0.0, 30.0])
def test_a_failed_node_draws_what_the_platform_says(tmp_path: Path, watts: float) -> None:
    """Nothing, unless its type has failed_w; from the failure to the repair."""
    transitions = PowerTransitions(switch_on_s=10.0, switch_on_w=7.0, failed_w=watts)
    alone = Platform.homogeneous(nodes=1, cores=2, transitions=transitions)
    result = Simulation(alone, one_job(), Fcfs(), failures=trace(tmp_path, "50,0,fail", "70,0,repair")).run()
    summary = result.summary()
    assert (summary["energy_failed_j"], summary["energy_switching_on_j"]) == (20.0 * watts, 70.0)
    assert summary["availability"] == 1.0 - 20.0 / 180.0
    assert Platform.read(saved(alone, tmp_path)).node_types[0].transitions == transitions


def saved(platform: Platform, folder: Path) -> Path:
    """The file of a platform."""
    platform.write(folder / "platform.yaml")
    return folder / "platform.yaml"


def test_a_node_that_fails_and_is_repaired_in_one_instant_has_failed(tmp_path: Path) -> None:
    """Whatever the order of the rows of two nodes; the job on it begins again when the node has booted."""
    result = Simulation(PLATFORM, one_job(), Fcfs(), failures=trace(tmp_path, "30,0,fail", "30,0,repair")).run()
    assert result.attempts["end_time"].tolist() == [30.0, 130.0]  # on another node, at once
    alone = Platform.homogeneous(nodes=1, cores=2, transitions=PowerTransitions(switch_on_s=10.0))
    result = Simulation(alone, one_job(), Fcfs(), failures=trace(tmp_path, "30,0,fail", "30,0,repair")).run()
    assert result.attempts["start_time"].tolist() == [0.0, 40.0]


def test_a_boot_that_a_failure_cuts_and_a_repair_begins_anew_is_two(tmp_path: Path) -> None:
    """Of one instant, at 17 s: the boot of 10 to 17 s is one row of the states, that of 17 to 27 s another, two switches."""
    alone = Platform.homogeneous(nodes=1, cores=2, transitions=PowerTransitions(switch_on_s=10.0))
    failures = trace(tmp_path, "5,0,fail", "10,0,repair", "17,0,fail", "17,0,repair")
    result = Simulation(alone, one_job(), Fcfs(), failures=failures).run()
    assert result.node_states[["state", "start", "end"]].to_numpy().tolist()[2:] == [
        ["SWITCHING_ON", 10.0, 17.0],
        ["SWITCHING_ON", 17.0, 27.0],
        ["COMPUTING", 27.0, 127.0],
    ]
    assert result.nodes["switches_on"].tolist() == [2]
    assert result.summary()["node_switches"] == 2


def test_what_a_failure_undoes_in_its_instant_is_no_switch() -> None:
    """A node told to boot, or to shut down, that fails at once: no second and no row of the states, and none in the counts."""
    alone = Platform.homogeneous(nodes=2, cores=2, transitions=PowerTransitions(switch_on_s=10.0, switch_off_s=5.0))
    simulation = Simulation(alone, one_job(), Fcfs())

    def breaks() -> Iterator[object]:
        node = simulation.node(1)
        yield simulation.env.timeout(20.0)
        node.fail()
        yield simulation.env.timeout(10.0)
        node.repair()
        node.fail()
        yield simulation.env.timeout(10.0)
        node.repair()
        yield node.ready
        node.switch_off()
        node.fail()

    simulation.env.process(breaks())
    result = simulation.run()
    states = result.node_states[result.node_states["node"] == "cluster0.node1"]
    assert states[["state", "start"]].to_numpy().tolist() == [
        ["IDLE", 0.0],
        ["FAILED", 20.0],
        ["SWITCHING_ON", 40.0],
        ["FAILED", 50.0],
    ]
    assert result.nodes[["switches_on", "switches_off"]].to_numpy().tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("submitted", [0.0, 1.0])
def test_always_on_boots_after_its_repair_what_failed_before_it_could(tmp_path: Path, submitted: float) -> None:
    """Nodes that are OFF at the start and fail in its first instant are OFF when repaired, and boot then; no job wants them.

    Nor does it matter that one fails again before it is on; node 3 is switched off by a process of the user's own, and stays so.
    """
    platform = Platform((Cluster("c", (NodeGroup(replace(PLATFORM.node_types[0], initially_off=True), 4),)),))
    failures = trace(
        tmp_path,
        "0,1,fail",
        "20,1,repair",
        "0,2,fail",
        "30,2,repair",
        "33,2,fail",
        "40,2,repair",
        "60,1,fail",
        "70,1,repair",
    )
    policy, late_job = make_power_policy("always-on"), one_job(submit_time=submitted)
    simulation = Simulation(platform, late_job, Fcfs(), policy, failures=failures)
    simulation.env.at(50.0).callbacks.append(lambda event: simulation.node(3).switch_off())
    result = simulation.run()
    states = dict(iter(result.node_states.groupby("node")))
    assert states["c.node1"][["state", "start"]].to_numpy().tolist() == [
        ["FAILED", 0.0],
        ["SWITCHING_ON", 20.0],
        ["IDLE", 30.0],
        ["FAILED", 60.0],
        ["SWITCHING_ON", 70.0],
        ["IDLE", 80.0],
    ]
    assert states["c.node2"][["state", "start"]].to_numpy().tolist() == [
        ["FAILED", 0.0],
        ["SWITCHING_ON", 30.0],
        ["FAILED", 33.0],
        ["SWITCHING_ON", 40.0],
        ["IDLE", 50.0],
    ]
    assert states["c.node3"]["state"].tolist() == ["SWITCHING_ON", "IDLE", "SWITCHING_OFF", "OFF"]


def test_rows_need_no_order(tmp_path: Path) -> None:
    """A file is put in order of time."""
    alone = Platform.homogeneous(nodes=1, cores=2)
    failures = trace(tmp_path, "60,0,repair", "50,0,fail")
    assert Simulation(alone, one_job(), Fcfs(), failures=failures).run().jobs["finish_time"].tolist() == [160.0]


def test_a_suspended_job_whose_node_fails_waits_again(tmp_path: Path) -> None:
    """What it kept in the memory of its node is lost: it begins anew, elsewhere."""
    simulation = Simulation(PLATFORM, one_job(), Fcfs(), failures=trace(tmp_path, "50,0,fail"))

    def suspend():
        from cluster_sim.run.decisions import Preempt

        yield simulation.env.timeout(40.0)
        simulation.apply(Preempt(simulation.jobs.job(0), "suspend"))

    simulation.env.process(suspend())
    result = simulation.run()
    assert result.attempts[["outcome", "start_time", "lost_core_s"]].to_numpy().tolist() == [
        ["failed", 0.0, 80.0],
        ["completed", 50.0, 0.0],
    ]


def test_a_node_fails_that_a_job_is_to_have_after_its_part(tmp_path: Path) -> None:
    """The job keeps the cores that it has; what was held for it is free again."""

    def grow(view: View) -> Iterator[Resize]:
        (running,) = view.running
        yield Resize(running.job, view.planning.grown(running, 4))

    columns = {"submit_time": [0.0, 20.0], "requested_cores": [2, 1], "recorded_run_time": [80.0, 1.0]}
    columns |= {"min_cores": [1, 0], "max_cores": [4, 0], "malleable": [True, False], "parts": ["2", ""]}
    result = scripted.run(4, columns, {10.0: grow}, failures=trace(tmp_path, "15,3,fail"))
    assert result.jobs["finish_time"].tolist() == [80.0, 21.0]
    assert result.attempts["outcome"].tolist() == ["completed", "completed"]


def test_no_failures() -> None:
    """``none`` is for grids: nothing fails."""
    result = Simulation(PLATFORM, one_job(), Fcfs(), failures="none").run()
    assert (result.meta["failures"], result.summary()["availability"]) == ("none", 1.0)
    assert Simulation(PLATFORM, one_job(), Fcfs()).run().meta["failures"] == "none"


def test_a_job_that_cannot_end_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails again and again and saves nothing; with checkpoints the same job ends."""
    monkeypatch.setattr("cluster_sim.run.failures.MOST_IN_VAIN", 50)
    alone, failures = Platform.homogeneous(nodes=1, cores=2), "exponential:mtbf=100,repair=1"
    with pytest.raises(InputError, match="50 failures of job 0 between which it saved nothing"):
        Simulation(alone, one_job(1e5), Fcfs(), failures=failures).run()
    saving = one_job(1e5, checkpoint_interval="20", checkpoint_time=1.0)
    assert Simulation(alone, saving, Fcfs(), failures=failures).run().jobs["state"].tolist() == ["completed"]


def test_a_machine_that_is_never_whole_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job as wide as the machine waits for ever, where some node is always down."""
    monkeypatch.setattr("cluster_sim.run.failures.MOST_IN_VAIN", 200)
    with pytest.raises(InputError, match="200 during which jobs waited and none ran"):
        Simulation(PLATFORM, one_job(cores=8), Fcfs(), failures="exponential:mtbf=1,repair=1000").run()


def test_a_model_of_ones_own() -> None:
    """One method says when nodes fail."""

    class EveryHour(Failures):
        """Node 0 fails on the hour, for a minute."""

        def events(self, platform: Platform, rng: np.random.Generator):
            for hour in range(1, 100):
                yield hour * 3600.0, 0, True
                yield hour * 3600.0 + 60.0, 0, False

    alone = Platform.homogeneous(nodes=1, cores=2)
    work = one_job(6000.0, checkpoint_interval="1000", checkpoint_time=100.0)
    result = Simulation(alone, work, Fcfs(), failures=EveryHour()).run()
    # 3 × 1,100 s; 3,000 s saved, 300 s lost; from 3,660 s on 3 × 1,000 s and the two checkpoints between them
    assert result.jobs["finish_time"].tolist() == pytest.approx([3660.0 + 3200.0], rel=1e-12)
    assert result.meta["failures"] == "EveryHour"


@pytest.mark.parametrize(
    "events",
    [None, 5, "ab", [None], [(1.0, 0)], [("1", 0, True)], [(math.nan, 0, True)], [(1.0, "0", True)], [(1.0, 1, True)],
     [(1.0, -1, True)], [(1.0, 0, "repair")]]
)  # fmt: skip
def test_a_model_of_ones_own_that_tells_no_failures_is_named(events: Any) -> None:
    """What is no (time, node, whether it fails) is refused in one line; "repair" counted as true, a failure."""

    class Wrong(Failures):
        def events(self, platform: Platform, rng: np.random.Generator) -> Any:
            return events

    alone = Platform.homogeneous(nodes=1, cores=2)
    with pytest.raises(InputError, match=r"^failure model Wrong, events: expected .*time s, node.*, found "):
        Simulation(alone, one_job(10.0), Fcfs(), failures=Wrong()).run()


def test_failed_nodes_start_nothing(tmp_path: Path) -> None:
    """The view has a failed node neither on nor off, and its cores are not free to have."""
    simulation = Simulation(PLATFORM, one_job(), failures=trace(tmp_path, "0,0,fail"), until=10.0)
    view = simulation.step_to_decision()
    while view is not None and simulation.node(0).state is not NodeState.FAILED:
        view = simulation.step_to_decision()
    assert view is not None
    assert (view.machine.powered_on[0], view.machine.powered_off[0]) == (False, False)
    assert list(view.place(view.pending[0]).nodes) == [1]
