"""A simulation that is driven from outside: stepped to its decisions, or run piece by piece."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster_sim import (
    ModelWarning,
    Placement,
    Platform,
    Simulation,
    SimulationError,
    Workload,
    make_power_policy,
    make_scheduler,
)
from cluster_sim.errors import PlacementError
from cluster_sim.platform import PowerTransitions
from schedulers import Fcfs

from .conftest import At, Log, jobs, machine


def crowd(count: int) -> Workload:
    """Jobs of many widths and lengths on a coarse grid of times, so that instants coincide."""
    rows = [(float(i * 3 % 40 // 4), 1 + i * 7 % 9, float(i * 11 % 13)) for i in range(count)]
    return jobs(*sorted(rows), requested_time=[20.0] * count, mem_vol=[i % 3 * 1e5 for i in range(count)])


def crowded_platform() -> Platform:
    """Four nodes of two sockets, on which memory-bound tasks slow each other."""
    contention = {"b": -1.85e-5, "c": 20000.0, "da": 1.0, "db": 500.0, "dc": 25000.0, "dd": 500.0}
    return Platform.homogeneous(4, 6, processors=2, contention=contention)


def drive_as_fcfs(simulation: Simulation) -> int:
    """Take the scheduler's place: always the first job, as long as it fits. The number of decisions."""
    decisions = 0
    while (view := simulation.step_to_decision()) is not None:
        while view.pending:
            job = view.pending[0]
            placement = view.place(job)
            if placement is None:
                break
            view = simulation.decide((job, placement))
            decisions += 1
    return decisions


def test_an_agent_that_takes_the_first_job_is_fcfs_to_the_byte(tmp_path: Path) -> None:
    """Stepping and deciding from outside makes the records that the scheduler makes."""
    stepped = Simulation(crowded_platform(), crowd(150))
    assert drive_as_fcfs(stepped) == 150
    Simulation(crowded_platform(), crowd(150), Fcfs()).run().save(tmp_path / "scheduler")
    stepped.result().save(tmp_path / "agent")
    for name in ("jobs.csv", "node_states.csv", "power.csv"):
        assert (tmp_path / "agent" / name).read_bytes() == (tmp_path / "scheduler" / name).read_bytes()


def test_stepping_stops_in_every_pass_and_then_says_none(log: Log) -> None:
    """The passes are those that a scheduler would have; after the end, None again and again."""
    simulation = Simulation(machine(), jobs((0, 2, 5), (5, 2, 5), (5, 1, 5)))
    while (view := simulation.step_to_decision()) is not None:
        log.append((view.now, [job.job_id for job in view.submitted]))
        for job in view.pending:
            placement = view.place(job)
            if placement is not None:
                simulation.decide((job, placement))
    assert [entry for entry in log if entry[0] < 15] == [(0.0, ["0"]), (5.0, ["1", "2"]), (10.0, [])]
    assert simulation.step_to_decision() is None
    assert simulation.step_to_decision() is None
    assert simulation.result().jobs["state"].tolist() == ["completed"] * 3


def test_deciding_refreshes_the_view_within_the_instant() -> None:
    """After each decision the queue, the running jobs, the free cores and the watts are those of the new state."""
    simulation = Simulation(machine(nodes=2), jobs((3, 2, 5), (3, 2, 5)))
    view = simulation.step_to_decision()
    assert view is not None
    assert (view.now, view.free_cores.tolist(), view.watts) == (3.0, [2, 2], 10.0)
    first, second = view.pending
    simulation.decide((first, Placement.on({1: 2})))
    assert view.pending == (second,)
    assert [running.job for running in view.running] == [first]
    assert (view.now, view.free_cores.tolist(), view.free_total, view.watts) == (3.0, [2, 0], 2, 5.0 + 14.0)
    assert [running.expected_end for running in view.running] == [8.0]  # the run time stands in for a request
    after = simulation.decide((second, Placement.on({0: 2})))
    assert after.pending == ()
    assert after.watts == 28.0


def test_several_placements_can_be_decided_at_once() -> None:
    """Both jobs start in the instant."""
    simulation = Simulation(machine(nodes=2), jobs((3, 2, 5), (3, 2, 7)))
    view = simulation.step_to_decision()
    assert view is not None
    simulation.decide(*((job, Placement.on({i: 2})) for i, job in enumerate(view.pending)))
    while simulation.step_to_decision() is not None:
        pass
    assert simulation.result().jobs["start_time"].tolist() == [3.0, 3.0]


def test_a_decision_that_cannot_be_carried_out_changes_nothing() -> None:
    """The agent gets an error, and the state is as it was."""
    simulation = Simulation(machine(nodes=2), jobs((0, 2, 5), (0, 4, 5)))
    view = simulation.step_to_decision()
    assert view is not None
    narrow, wide = view.pending
    simulation.decide((narrow, Placement.on({0: 1, 1: 1})))
    for placement in (Placement.on({0: 2, 1: 2}), Placement.on({0: 1, 1: 3}), Placement.on({0: 1, 5: 3})):
        with pytest.raises(PlacementError):
            simulation.decide((wide, placement))
        assert view.free_cores.tolist() == [1, 1]
        assert view.pending == (wide,)
        assert list(simulation.machine.cores.free_mask) == [0b10, 0b10]


def test_an_agent_that_never_starts_anything_is_told_so() -> None:
    """The stepping ends, with the warning that a run without end would give."""
    simulation = Simulation(machine(), jobs((0, 2, 5), (4, 2, 5)))
    assert simulation.step_to_decision() is not None
    assert simulation.step_to_decision() is not None
    with pytest.warns(ModelWarning, match="2 jobs are unfinished"):
        assert simulation.step_to_decision() is None


def test_stepping_ends_at_until() -> None:
    """What happens at or after ``until`` is not decided any more."""
    simulation = Simulation(machine(), jobs((0, 2, 5), (4, 2, 5), (12, 1, 1)), until=7.0)
    assert drive_as_fcfs(simulation) == 2
    assert simulation.step_to_decision() is None
    assert simulation.result().jobs["state"].tolist() == ["completed", "unfinished", "unfinished"]
    assert simulation.env.now == 7.0


def test_a_simulation_with_a_scheduler_is_not_stepped() -> None:
    """Two would decide."""
    simulation = Simulation(machine(), jobs((0, 2, 5)), Fcfs())
    with pytest.raises(SimulationError, match="leave the scheduler out"):
        simulation.step_to_decision()


def test_run_in_pieces_is_one_run(at: At) -> None:
    """``run(until=…)`` twice, then to the end: the records of one run, though a job was killed on the way."""
    results = []
    for pieces in ((), (3.0, 8.5)):
        simulation = Simulation(crowded_platform(), crowd(60), make_scheduler("list:smallest/high_mem_bw"), seed=4)
        at(simulation, 6.0, lambda simulation=simulation: simulation.kill("20"))  # type: ignore[misc]
        for time in pieces:
            part = simulation.run(until=time)
            assert part.power["time"].iloc[-1] == time
            assert part.summary()["jobs_unfinished"] > 0
        results.append(simulation.run())
    assert results[0].jobs.equals(results[1].jobs)
    assert results[0].power.equals(results[1].power)
    assert results[0].node_states.equals(results[1].node_states)


def test_nothing_is_decided_for_the_agent_between_its_steps(log: Log) -> None:
    """A pending job that the agent leaves alone stays pending, pass after pass."""
    simulation = Simulation(machine(), jobs((0, 1, 5), (1, 1, 5), (2, 1, 5)))
    view = simulation.step_to_decision()
    assert view is not None
    simulation.decide((view.pending[0], Placement.on({0: 1})))
    while simulation.step_to_decision() is not None:
        log.append((view.now, len(view.pending)))
        if view.now == 5.0:
            simulation.decide(*((job, Placement.on({0: 1})) for job in view.pending))
    assert log == [(1.0, 1), (2.0, 2), (5.0, 2), (10.0, 0)]


@pytest.mark.parametrize("quirks", [(), ("unused-processors-draw-nothing",)])
def test_a_time_to_stop_may_be_a_whole_number(quirks: tuple[str, ...]) -> None:
    """Runs until 100 and until 100.0 give the same joules, of the run as of its parts."""

    def energy(until: float, of_run: bool) -> float:
        platform = Platform.homogeneous(nodes=2, cores=2, transitions=PowerTransitions(switch_off_s=3.0))
        workload = Workload({"submit_time": [0.7], "requested_cores": [1], "recorded_run_time": [10.5]})
        policy = make_power_policy("timeout:20")
        simulation = Simulation(platform, workload, Fcfs(), policy, quirks=quirks, until=until if of_run else None)
        result = simulation.run(until=None if of_run else until)
        steps = result.power["time"].diff()[1:].to_numpy()
        assert (result.power["watts"][:-1].to_numpy() * steps).sum() == pytest.approx(result.summary()["energy_j"])
        return float(result.summary()["energy_j"])

    assert energy(100, True) == energy(100.0, True)
    assert energy(100, False) == energy(100.0, False)
