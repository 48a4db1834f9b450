"""The same contract when a user's own process kills jobs, breaks nodes, switches them and changes clocks in mid-run."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import CautionWarning, Result, Simulation, Workload
from cluster_sim.machine.core_ranges import cut
from cluster_sim.machine.node import NodeState
from cluster_sim.records.energy_accounts import EnergyAccounts, History, settle, sweep
from tests.support.contract import checks, full
from tests.support.contract.runs import LIST_SPECS, Case, Order, cases, orders


def disturbed_run(case: Case, scheduler: str, plan: list[Order]) -> tuple[Simulation, Result]:
    """A run beside which the process lives; once everything is repaired all jobs that are left can run."""
    simulation = case.simulation(scheduler)
    simulation.env.process(full.disturb(simulation, plan))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CautionWarning)
        return simulation, simulation.run()


@settings(max_examples=40)
@given(case=cases(), plan=orders(), scheduler=st.sampled_from(["fcfs", *LIST_SPECS]))
def test_whatever_happens_the_books_are_right(case: Case, plan: list[Order], scheduler: str) -> None:
    """Cores, times, states and energy add up, whatever was killed, broken, switched or slowed, and when."""
    simulation, result = disturbed_run(case, scheduler, plan)
    full.check_result(replace(case, scheduler=scheduler, orders=tuple(plan)), result)
    # The machine's own meter runs on where a job is refused after the last completion; the records end with that.
    if result.power["time"].iloc[-1] == simulation.env.now:
        assert simulation.machine.power.energy_j == pytest.approx(result.summary()["energy_j"], rel=1e-9, abs=1e-9)


@settings(max_examples=25)
@given(case=cases(), plan=orders())
def test_all_is_free_again_when_all_is_over(case: Case, plan: list[Order]) -> None:
    """After the run no core is held or busy, no memory used, no bandwidth asked for, and the books of the sets agree."""
    simulation, _ = disturbed_run(case, "list:first/high_mem_bw,memory=yes", plan)
    checks.check_all_is_free(simulation)
    machine, platform = simulation.machine, simulation.platform
    states = [simulation.node(i).state for i in range(platform.node_count)]
    assert [i for i in range(platform.node_count) if i in machine.cores.asleep] == [
        i for i, state in enumerate(states) if state is NodeState.OFF
    ]
    usable = [state in (NodeState.IDLE, NodeState.OFF) for state in states]
    assert machine.cores.free_total == int(platform.node_cores[usable].sum())


def history_of(simulation: Simulation) -> History:
    """What the accounts of a finished run are made from."""
    return simulation.result()._tables._history  # type: ignore[attr-defined]


def swept(history: History) -> EnergyAccounts:
    """The accounts with every node taken through its events one by one."""
    platform = history.platform
    accounts = EnergyAccounts(
        np.zeros(history.tenants),
        np.zeros(platform.node_count),
        np.zeros(platform.processor_count),
        {s: np.zeros(platform.node_count) for s in NodeState},
    )
    runs, pieces = cut(history.holds, platform.first_core)
    job, unit, start, end = runs.expanded()
    rows = list(zip(job, unit, np.diff(platform.first_core)[unit], start, end, strict=True))
    rows += list(zip(pieces.tenant, pieces.unit, pieces.cores, pieces.start, pieces.end, strict=True))
    for node in range(platform.node_count):
        mine = range(platform.first_processor[node], platform.first_processor[node + 1])
        own = [(int(j), int(u), int(c), float(s), float(e)) for j, u, c, s, e in rows if u in mine]
        sweep(history, node, own, accounts)
    return accounts


@settings(max_examples=30)
@given(case=cases(), plan=orders(), scheduler=st.sampled_from(LIST_SPECS))
def test_accounts_in_bulk_and_event_by_event_agree(case: Case, plan: list[Order], scheduler: str) -> None:
    """Both ways of keeping the accounts charge every job and every state of every node the same."""
    simulation, _ = disturbed_run(case, scheduler, plan)
    history = history_of(simulation)
    bulk, slow = settle(history), swept(history)
    assert bulk.tenants == pytest.approx(slow.tenants, rel=1e-9, abs=1e-9)
    assert bulk.unused == pytest.approx(slow.unused, rel=1e-9, abs=1e-9)
    for state in NodeState:
        assert bulk.nodes[state] == pytest.approx(slow.nodes[state], rel=1e-9, abs=1e-9), state


@settings(max_examples=20)
@given(case=cases(), times=st.lists(st.sampled_from([0.5, 1.0, 2.0, 2.5, 4.0, 6.0]), max_size=3).map(sorted))
def test_stopping_on_the_way_changes_nothing(case: Case, times: list[float]) -> None:
    """``run(until=t)`` as often as one likes, then to the end, is one run; each part obeys the contract too."""
    whole = case.simulation("list:first/high_cores,blocking=no").run()
    simulation = case.simulation("list:first/high_cores,blocking=no")
    end = whole.power["time"].iloc[-1]
    for time in (time for time in times if time < end):
        part = simulation.run(until=time)
        assert part.power["time"].iloc[-1] == time
        checks.check_times(part, Workload(case.jobs))
        checks.check_cores(part)
        checks.check_node_states(part)
        checks.check_energy_identities(part)
        assert (part.queue["time"] <= time).all()
    result = simulation.run()
    for name in ("jobs", "allocations", "node_states", "power", "queue"):
        assert getattr(result, name).equals(getattr(whole, name)), name


@settings(max_examples=20)
@given(case=cases(), until=st.sampled_from([0.0, 1.0, 2.0, 3.5, 30.0]))
def test_a_run_with_an_end_stops_there(case: Case, until: float) -> None:
    """``until`` cuts the run: nothing later is in any table, energy covers [0, until], jobs not done are unfinished."""
    cut_short = replace(case, options={**case.options, "until": until})
    result = cut_short.simulation("fcfs").run()
    checks.check_times(result, Workload(case.jobs))
    checks.check_node_states(result)
    checks.check_energy_identities(result)
    checks.check_second_opinion(result, "unused-processors-draw-nothing" in case.options["quirks"])
    assert result.power["time"].iloc[-1] == until
    assert (result.queue["time"] <= until).all()
    assert not (result.jobs["finish_time"] > until).any()
