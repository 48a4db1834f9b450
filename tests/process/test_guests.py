"""Processes of a user's own that hold cores, run tasks on them and take memory, beside jobs: stories by hand."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster_sim import Platform, ProcessorType, Result, Simulation, Workload
from cluster_sim.errors import InputError, NodeStateError
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions
from schedulers import IdleTimeout, make_scheduler
from tests.support.rows import workload_of

# 10 W idle, 100 W shared when busy, 5 W a core.
CHIP = ProcessorType(
    "chip", 4, 1.0, power={"static_w": 100.0, "dynamic_w": 5.0, "min_power": 0.1}, contention={"bandwidth": 100.0}
)
NODE = NodeType("n", (CHIP,), memory_gb=1.0)

Process = Generator[Any, Any, None]


class AllAlike:
    """While the tasks of a processor ask for 100 MB/s or more, each of them runs at 5/8 of its speed."""

    threshold = 100.0

    def on(self, processor: ProcessorType) -> AllAlike:
        """The same everywhere."""
        return self

    def speedups(self, groups: Any) -> list[float]:
        """5/8 for everybody, also for who moves nothing."""
        total = sum(tasks * bandwidth for tasks, bandwidth in groups)
        return [0.625 if total >= self.threshold else 1.0] * len(groups)


def machine(nodes: int = 1, node: NodeType = NODE, contention: str = "none", power: str = "linear") -> Platform:
    """Nodes of one chip."""
    return Platform((Cluster("c", (NodeGroup(node, nodes),)),), contention_model=contention, power_model=power)


def jobs(*rows: tuple[float, int, float], **columns: list[float]) -> Workload:
    """Jobs as (submission, cores, seconds), with exact requests."""
    return workload_of(*((*row, row[2]) for row in rows), **columns)


def run(platform: Platform, workload: Workload, *processes: Any, scheduler: str = "fcfs", **options: Any) -> Result:
    """A run beside processes, each a function of the simulation."""
    simulation = Simulation(platform, workload, make_scheduler(scheduler), **options)
    for process in processes:
        simulation.env.process(process(simulation))
    result = simulation.run()
    check_energy(result)
    return result


def check_energy(result: Result) -> None:
    """Jobs + guests + unused + idle + transitions + off + failed = ∫ power, to 1e-9."""
    summary, power = result.summary(), result.power
    integral = float((power["watts"].to_numpy()[:-1] * np.diff(power["time"])).sum())
    states = ("unused", "idle", "off", "failed", "switching_on", "switching_off")
    parts = summary["energy_jobs_j"] + summary["energy_guests_j"] + sum(summary[f"energy_{s}_j"] for s in states)
    assert parts == pytest.approx(integral, rel=1e-9)
    assert summary["energy_j"] == pytest.approx(integral, rel=1e-9)


def test_a_guest_holds_loads_and_pays() -> None:
    """2 of 4 cores from 1 to 5, with a job on one core from 0 to 10: the guest's share of the static watts is 2 of 3."""

    def guest(sim: Simulation) -> Process:
        yield sim.env.timeout(1.0)
        processor = sim.node(0).processors[0]
        with processor.request(cores=2, owner="backup") as held:
            yield held
            yield processor.load(2, seconds=4.0, owner="backup")

    result = run(machine(), jobs((0.0, 1, 10.0)), guest)
    summary = result.summary()
    assert summary["energy_guests_j"] == pytest.approx(4.0 * (2 * 5.0 + 100.0 * 2 / 3))
    assert summary["energy_jobs_j"] == pytest.approx(10.0 * 5.0 + 6.0 * 100.0 + 4.0 * 100.0 / 3)
    assert result.power.to_numpy().tolist() == [[0.0, 105.0], [1.0, 115.0], [5.0, 105.0], [10.0, 10.0]]
    assert result.holds.fillna({"used_from": -1.0}).to_numpy().tolist() == [
        ["0", "job", 1, "c.node0", "processor0", 0, 0, 0.0, 10.0, 0.0],
        ["backup", "guest", 0, "c.node0", "processor0", 1, 2, 1.0, 5.0, -1.0],
    ]
    assert result.allocations["job_id"].tolist() == ["0"]


def test_the_node_of_a_guest_computes() -> None:
    """Alone on node 1 the guest holds from 1 and loads from 2 to 5: idle, computing, idle; the records end with the job."""

    def guest(sim: Simulation) -> Process:
        yield sim.env.timeout(1.0)
        processor = sim.node(1).processors[0]
        with processor.request(cores=4) as held:
            yield held
            yield sim.env.timeout(1.0)
            yield processor.load(4, seconds=3.0)

    result = run(machine(2), jobs((0.0, 1, 6.0)), guest)
    states = result.node_states[result.node_states["node"] == "c.node1"][["state", "start", "end"]]
    assert states.to_numpy().tolist() == [["IDLE", 0.0, 2.0], ["COMPUTING", 2.0, 5.0], ["IDLE", 5.0, 6.0]]
    assert result.summary()["energy_guests_j"] == pytest.approx(3.0 * 120.0)


def test_guest_and_job_slow_each_other() -> None:
    """A job that moves no memory is slowed by the traffic of a guest, as the guest itself is.

    The guest alone asks for 160 MB/s of 100: everybody on the chip runs at 5/8. Its 5 s take 8 s, to 10. The job has
    done 2 s by 2 and 7 s by 10; 3 more at full speed: 13.
    """

    def guest(sim: Simulation) -> Process:
        yield sim.env.timeout(2.0)
        processor = sim.node(0).processors[0]
        with processor.request(2) as held:
            yield held
            yield processor.load(2, seconds=5.0, mem_mb_per_s=80.0)
        assert sim.env.now == 10.0

    result = run(machine(), jobs((0.0, 1, 10.0), (20.0, 1, 3.0)), guest, contention=AllAlike())
    assert result.jobs["finish_time"].tolist() == [13.0, 23.0]
    result = run(machine(), jobs((0.0, 1, 10.0), (20.0, 1, 3.0)), guest, contention=AllAlike(), scheduler="easy")
    assert result.jobs["finish_time"].tolist() == [13.0, 23.0]


def test_only_processors_with_a_guest_leave_the_short_way() -> None:
    """A job on another node is none the wiser: it has no channel, and ends when it would have."""
    simulation = Simulation(
        machine(2, contention="roofline"), jobs((0.0, 4, 10.0), (0.0, 4, 10.0)), make_scheduler("fcfs")
    )

    def guest() -> Process:
        yield simulation.env.timeout(10.0)
        processor = simulation.node(0).processors[0]
        with processor.request(4) as held:
            yield held
            yield processor.load(4, 1.0, 10.0)

    simulation.env.process(guest())
    simulation.submit({"requested_cores": 4, "recorded_run_time": 5.0}, at=10.0)
    result = simulation.run()
    assert sorted(simulation.machine.channels) == [0]
    assert result.jobs["start_time"].tolist() == [0.0, 0.0, 10.0]


def test_requests_are_granted_in_order_all_or_nothing_before_the_scheduler() -> None:
    """At 10 a job ends. Two guests wait for 3 and 1 of its 4 cores, and a job for 2: first come, first served."""
    times: dict[str, float] = {}

    def guest(name: str, cores: int, asks_at: float, stays: float) -> Any:
        def process(sim: Simulation) -> Process:
            yield sim.env.timeout(asks_at)
            with sim.node(0).request(cores, owner=name) as held:
                yield held
                times[name] = sim.env.now
                yield sim.env.timeout(stays)

        return process

    result = run(
        machine(),
        jobs((0.0, 4, 10.0), (3.0, 2, 5.0)),
        guest("wide", 3, 1.0, 4.0),
        guest("late", 1, 2.0, 1.0),
    )
    assert times == {"wide": 10.0, "late": 10.0}
    assert result.jobs["start_time"].tolist() == [0.0, 14.0]


def test_one_who_waits_for_much_has_others_wait_behind() -> None:
    """The first asks for 4 cores while a job has 1: the second, for 1, waits for it; a third gives up, and is forgotten."""
    times: dict[str, float] = {}

    def guest(name: str, cores: int, patience: float) -> Any:
        def process(sim: Simulation) -> Process:
            yield sim.env.timeout(1.0)
            with sim.node(0).processors[0].request(cores, owner=name) as held:
                outcome = yield held | sim.env.timeout(patience)
                if held in outcome:
                    times[name] = sim.env.now
                    yield sim.env.timeout(2.0)

        return process

    run(
        machine(),
        jobs((0.0, 1, 10.0), (30.0, 1, 1.0)),
        guest("all", 4, 99.0),
        guest("gives up", 4, 3.0),
        guest("one", 1, 99.0),
    )
    assert times == {"all": 10.0, "one": 12.0}


@pytest.mark.parametrize("scheduler", ["easy", "easy:depth=2", "easy:reservation=pinned", "conservative"])
def test_schedulers_see_when_a_guest_should_leave(scheduler: str) -> None:
    """The guest has 2 cores to 10, and says so: the wide job is promised 10, and what would run beyond may not pass it."""

    def guest(sim: Simulation) -> Process:
        with sim.node(0).request(2, expected_s=10.0) as held:
            yield held
            assert sim.view.machine.guests[0].expected_end == 10.0
            yield sim.env.timeout(10.0)

    workload = jobs((1.0, 4, 5.0), (2.0, 2, 8.0), (2.0, 2, 9.0))
    result = run(machine(), workload, guest, scheduler=scheduler)
    assert result.jobs["start_time"].tolist() == [10.0, 2.0, 15.0]


def test_a_guest_that_stays_for_ever_keeps_nobody_who_fits_beside_it() -> None:
    """Nobody knows when the wide job can start, so the narrow one goes on; the wide one never starts."""

    def guest(sim: Simulation) -> Process:
        with sim.node(0).request(2) as held:
            yield held
            yield sim.env.event()

    with pytest.warns(UserWarning, match="1 job is unfinished"):
        result = run(machine(), jobs((1.0, 4, 5.0), (2.0, 2, 8.0)), guest, scheduler="easy")
    assert result.jobs["state"].tolist() == ["unfinished", "completed"]


def test_memory_is_held_too() -> None:
    """600 of 1,024 MB are a guest's until 7: a job of 500 MB waits for it under a scheduler that looks at memory."""

    def guest(sim: Simulation) -> Process:
        with sim.node(0).request(memory_gb=600 / 1024) as held:
            yield held
            yield sim.env.timeout(7.0)

    result = run(machine(), jobs((1.0, 1, 5.0), memory=[500.0]), guest, scheduler="easy:memory=yes")
    assert result.jobs["start_time"].tolist() == [7.0]


@pytest.mark.parametrize("parts", [(0.1, 0.2, 0.3), (0.3, 0.1, 0.2)])
def test_memory_that_all_have_left_is_there_to_the_last_byte(parts: tuple[float, ...]) -> None:
    """Sums of 0.1, 0.2 and 0.3 GB are rounded, and a guest that wants the whole node gets it all the same.

    Another guest has memory of another node all the time, and a job waits to the end for the simulation to go on.
    """
    sim = Simulation(machine(nodes=2), jobs((9.0, 1, 1.0), memory=[0.1]), make_scheduler("fcfs"))
    granted: list[float] = []

    def guest(node: int, begin: float, memory_gb: float, seconds: float) -> Process:
        yield sim.env.timeout(begin)
        with sim.node(node).request(memory_gb=memory_gb) as held:
            yield held
            granted.append(sim.env.now)
            yield sim.env.timeout(seconds)

    for seconds, memory_gb in enumerate(parts, 1):
        sim.env.process(guest(0, 0.0, memory_gb, seconds))
    sim.env.process(guest(1, 0.0, 0.7, 20.0))
    sim.env.process(guest(0, 5.0, 1.0, 1.0))
    sim.run()
    assert granted == [0.0, 0.0, 0.0, 0.0, 5.0]


def test_a_breakdown_takes_all_from_a_guest() -> None:
    """What it runs fails with the reason; the request is lost; after the repair it can ask again."""
    seen: list[object] = []

    def guest(sim: Simulation) -> Process:
        processor = sim.node(0).processors[0]
        with processor.request(2, owner="service") as held:
            yield held
            try:
                yield processor.load(2, 50.0, owner="service")
            except NodeStateError as error:
                seen.append((sim.env.now, str(error), held.lost, held.is_held))
        with processor.request(4) as again:
            yield again
            seen.append(sim.env.now)

    def breakdown(sim: Simulation) -> Process:
        yield sim.env.timeout(5.0)
        sim.node(0).fail()
        yield sim.env.timeout(3.0)
        yield sim.node(0).repair()

    result = run(machine(), jobs((20.0, 4, 1.0)), guest, breakdown)
    assert seen == [(5.0, "service: c.node0 failed", True, False), 8.0]
    held = result.holds[["owner", "start", "end"]].to_numpy().tolist()
    assert held == [["service", 0.0, 5.0], ["guest", 8.0, 8.0], ["0", 20.0, 21.0]]


def test_a_node_with_a_guest_is_not_idle_and_is_switched_off_when_it_has_left() -> None:
    """timeout:2 switches it off 2 s after the guest has gone; the guest that asks then waits until a job has it booted."""
    off = NodeType("n", (CHIP,), transitions=PowerTransitions(off_w=0.0, switch_on_s=1.0, switch_off_s=1.0))
    times: list[float] = []

    def guest(sim: Simulation) -> Process:
        with sim.node(0).request(1) as held:
            yield held
            with pytest.raises(NodeStateError, match="cores held"):
                sim.node(0).switch_off()
            yield sim.env.timeout(5.0)
        yield sim.env.timeout(4.0)
        with sim.node(0).request(1) as held:
            yield held
            times.append(sim.env.now)

    result = run(machine(node=off), jobs((20.0, 1, 3.0)), guest, power=IdleTimeout(2.0))
    states = result.node_states[["state", "start"]].to_numpy().tolist()
    assert states[:3] == [["IDLE", 0.0], ["SWITCHING_OFF", 7.0], ["OFF", 8.0]]
    assert times == [21.0]


def test_a_new_clock_and_watts_that_follow_speeds_are_a_guests_too() -> None:
    """At half the clock from 2 on, 4 s of work that began at 0 end at 6; a stalled core draws less: all adds up."""

    def guest(sim: Simulation) -> Process:
        processor = sim.node(0).processors[0]
        with processor.request(2) as held:
            yield held
            yield processor.load(2, 4.0, 80.0)
        assert sim.env.now == pytest.approx(6.0)

    def slower(sim: Simulation) -> Process:
        yield sim.env.timeout(2.0)
        sim.node(0).processors[0].set_clock(0.5)

    run(machine(), jobs((0.0, 1, 10.0)), guest, slower)
    result = run(machine(contention="roofline", power="stall-aware"), jobs((0.0, 1, 10.0), mem_vol=[300.0]), load_only)
    assert result.summary()["energy_guests_j"] > 0.0


def load_only(sim: Simulation) -> Process:
    """A guest that moves memory."""
    processor = sim.node(0).processors[0]
    with processor.request(2) as held:
        yield held
        yield processor.load(2, 4.0, 80.0)


def test_who_leaves_early_takes_the_tasks_along() -> None:
    """Half way the with-block is left: the cores are free, the other tasks at full speed, nothing more is charged."""

    def guest(sim: Simulation) -> Process:
        processor = sim.node(0).processors[0]
        with processor.request(2) as held:
            yield held
            over = processor.load(2, 10.0, 80.0)
            yield sim.env.timeout(4.0)
        assert over.triggered
        assert sim.node(0).processors[0].busy_cores == 1

    result = run(machine(), jobs((0.0, 1, 10.0)), guest, contention=AllAlike())
    assert result.jobs["finish_time"].tolist() == [11.5]  # 4 s at 5/8, then 7.5 s


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda sim: sim.node(0).processors[0].request(5), "1 to 4 cores"),
        (lambda sim: sim.node(0).processors[0].request(0), "1 to 4 cores"),
        (lambda sim: sim.node(0).request(2.0), "1 to 4 cores"),
        (lambda sim: sim.node(0).request(True), "1 to 4 cores"),
        (lambda sim: sim.node(0).request(1, "1"), "memory_gb: expected up to 1 GB, found 1"),
        (lambda sim: sim.node(0).request(1, memory_gb=2.0), "up to 1 GB"),
        (lambda sim: sim.node(0).request(1, expected_s="1"), "seconds above 0"),
        (lambda sim: sim.node(0).processors[0].load(1, "5"), "a finite number"),
        (lambda sim: sim.node(0).processors[0].set_clock("fast"), "a positive clock"),
        (lambda sim: sim.node(0).processors[0].set_clock(2.0, "many"), "watts, 0 or more"),
        (lambda sim: sim.node(9), "node: expected an integer from 0 to 0, found 9"),
        (lambda sim: sim.node(0.5), "node: expected an integer from 0 to 0, found 0.5"),
        (lambda sim: sim.submit({"requested_cores": 1, "recorded_run_time": 1.0}, at="noon"), "a time from now on"),
        (lambda sim: sim.node(0).request(1, owner=""), "a name"),
        (lambda sim: sim.node(0).request(1, expected_s=0.0), "seconds above 0"),
        (lambda sim: sim.node(0).processors[0].load(1, 5.0), "a guest that holds 1 idle cores"),
        (lambda sim: sim.node(0).processors[0].load(0, 5.0), "a number of cores"),
        (lambda sim: sim.node(0).processors[0].load(1, float("nan")), "a finite number"),
    ],
)
def test_what_cannot_be_had(ask: Any, expected: str) -> None:
    """One line says what there is."""
    with pytest.raises(InputError, match=expected):
        ask(Simulation(machine(), jobs((0.0, 1, 1.0)), make_scheduler("fcfs")))


def test_results_with_guests_are_saved_and_loaded(tmp_path: Path) -> None:
    """With their holds."""
    result = run(machine(), jobs((0.0, 1, 10.0)), load_only)
    result.save(tmp_path)
    loaded = Result.load(tmp_path)
    assert loaded.holds.equals(result.holds)
    assert loaded.allocations.equals(result.allocations)
    assert loaded.summary()["energy_guests_j"] == result.summary()["energy_guests_j"]


def test_the_records_end_with_the_last_job_for_guests_too() -> None:
    """The last completion is at 3; a job that cannot be met is refused at 8. One guest stays from 1 to 5, one comes at 6."""

    def guest(arrives: float, stays: float) -> Any:
        def process(sim: Simulation) -> Process:
            yield sim.env.timeout(arrives)
            processor = sim.node(0).processors[0]
            with processor.request(2) as held:
                yield held
                yield processor.load(2, stays)

        return process

    result = run(machine(), jobs((0.0, 1, 3.0), (8.0, 5, 1.0)), guest(1.0, 4.0), guest(6.0, 1.0))
    assert result.jobs["state"].tolist() == ["completed", "rejected"]
    assert result.holds[["owner", "start", "end"]].to_numpy().tolist() == [["0", 0.0, 3.0], ["guest", 1.0, 3.0]]
    assert result.node_states[["state", "start", "end"]].to_numpy().tolist() == [["COMPUTING", 0.0, 3.0]]
    assert result.summary()["energy_guests_j"] == pytest.approx(2.0 * (2 * 5.0 + 100.0 * 2 / 3))


def test_two_loads_of_one_guest_are_charged_both() -> None:
    """Where watts follow the tasks' speeds: on one processor, 2 cores for 4 s and 1 for 2 s, with a job beside them."""

    def guest(sim: Simulation) -> Process:
        processor = sim.node(0).processors[0]
        with processor.request(3) as held:
            yield held
            yield processor.load(2, 4.0) & processor.load(1, 2.0)

    result = run(machine(power="stall-aware"), jobs((0.0, 1, 10.0)), guest)
    # Nothing stalls: 5 W a core, and of the 100 W 3/4 for 2 s, then 2/3.
    assert result.summary()["energy_guests_j"] == pytest.approx(2.0 * (15.0 + 75.0) + 2.0 * (10.0 + 200.0 / 3))
