"""P-states: what they cost and how they are set, in files, by hand, and for one job; boots that take a random time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cluster_sim import Platform, ProcessorType, PState, Result, Simulation, Start
from cluster_sim.errors import FormatError, InputError, PlacementError
from cluster_sim.machine.placement import Placement
from cluster_sim.platform import PowerTransitions
from cluster_sim.platform.boot_times import boot_times
from schedulers import Fcfs, Scheduler

from .conftest import jobs, machine, scaling

KNEE_MB_S = 16_000.0  # the bandwidth of the processor: at 2 GHz, eight tasks of 2,000 MB/s ask for just that
# Saturated at every clock: a task slows to 1 / (1 + 0.6 · 7) = 1 / 5.2, the floor of the formula with n = 7 others.
SATURATED = {"b": -1e-3, "c": 1000.0, "da": 1.0, "db": 0.0, "dc": 1000.0, "dd": 0.0}


def alone(state: int, model: str, mem_vol: float) -> Result:
    """Eight tasks of 1200·10⁹ operations on eight cores in a p-state."""
    processor = scaling(start=state, contention={"bandwidth": KNEE_MB_S, **SATURATED})
    workload = jobs((0, 8, 1200), mem_vol=[mem_vol])
    return Simulation(machine(processor, contention_model=model), workload, Fcfs()).run()


# ---------------------------------------------------------------------- how time follows the clock


@pytest.mark.parametrize(
    ("model", "mem_vol", "seconds", "joules"),
    [
        ("none", 0.0, [1200, 600, 400, 300], [66_000, 37_200, 32_400, 35_400]),
        ("roofline", 0.0, [1200, 600, 400, 300], [66_000, 37_200, 32_400, 35_400]),
        # 8 · 1,200,000 MB at 16,000 MB/s are 600 s, whatever the clock, unless that is what takes longer.
        ("roofline", 1.2e6, [1200, 600, 600, 600], [66_000, 37_200, 48_600, 70_800]),
        # At 5.2 times the time; watts as before.
        ("piecewise", 1.2e6, [6240, 3120, 2080, 1560], [343_200, 193_440, 168_480, 184_080]),
    ],
)
def test_time_and_energy_by_clock(model: str, mem_vol: float, seconds: list[float], joules: list[float]) -> None:
    """Compute-bound work is cheapest at 3 GHz, memory-bound work at 2 under roofline; under piecewise it still scales.

    54 + f³ W for 1200 / f s: 66, 37.2, 32.4, 35.4 kJ. The least of (54 + f³) / f is where f³ = 27, at 3 GHz.
    """
    results = [alone(state, model, mem_vol) for state in range(4)]
    assert [r.jobs["run_time"][0] for r in results] == pytest.approx(seconds)
    assert [r.summary()["energy_j"] for r in results] == pytest.approx(joules)


def test_a_memory_bound_job_feels_no_clock_above_the_knee() -> None:
    """From 4 down to 2 GHz in the middle of the run: roofline's 600 s stay 600 s, of which half at 118, half at 62 W."""
    processor = scaling(contention={"bandwidth": KNEE_MB_S})
    simulation = Simulation(
        machine(processor, contention_model="roofline"), jobs((0, 8, 1200), mem_vol=[1.2e6]), Fcfs()
    )
    simulation.env.at(300.0).callbacks.append(lambda event: simulation.node(0).set_p_state(1))
    result = simulation.run()
    assert result.jobs["finish_time"].tolist() == pytest.approx([600.0])
    assert result.summary()["energy_j"] == pytest.approx(300 * 118 + 300 * 62)


# ---------------------------------------------------------------------- set by hand


def test_p_states_by_hand() -> None:
    """At 10 s from 4 to 2 GHz: 40 of 100 are done, 60 take 30 s; the table says which state when."""
    simulation = Simulation(machine(scaling(), 2), jobs((0, 8, 100)), Fcfs())
    simulation.env.at(10.0).callbacks.append(lambda event: simulation.node(0).set_p_state(1))
    result = simulation.run()
    assert result.jobs["finish_time"].tolist() == [40.0]
    assert result.power.values.tolist() == [[0, 145], [10, 89], [40, 54]]
    assert result.p_states.values.tolist() == [
        ["cluster0.node0", "processor0", 3, 4.0, 0.0, 10.0],
        ["cluster0.node0", "processor0", 1, 2.0, 10.0, 40.0],
        ["cluster0.node1", "processor0", 3, 4.0, 0.0, 40.0],
    ]


def test_a_clock_of_no_p_state(tmp_path: Path) -> None:
    """A clock set freely is p-state -1 in the table, also when it has been saved and loaded."""
    simulation = Simulation(machine(ProcessorType("plain", 2, 2.0)), jobs((0, 2, 10)), Fcfs())
    simulation.env.at(1.0).callbacks.append(lambda event: simulation.node(0).processors[0].set_clock(1.0))
    result = simulation.run()
    expected = [["cluster0.node0", "processor0", 0, 2.0, 0.0, 1.0], ["cluster0.node0", "processor0", -1, 1.0, 1.0, 9.0]]
    assert result.p_states.values.tolist() == expected
    assert simulation.node(0).processors[0].p_state is None
    result.save(tmp_path)
    assert Result.load(tmp_path).p_states.values.tolist() == expected


def test_a_run_without_p_states_has_no_table_of_them(tmp_path: Path) -> None:
    """No rows, no file."""
    result = Simulation(machine(ProcessorType("plain", 2, 2.0)), jobs((0, 2, 10)), Fcfs()).run()
    result.save(tmp_path)
    assert result.p_states.empty
    assert not (tmp_path / "p_states.csv").exists()
    assert Result.load(tmp_path).p_states.empty


def test_a_p_state_that_a_processor_does_not_have() -> None:
    """The message names the type and the states that there are."""
    simulation = Simulation(machine(scaling()), jobs((0, 8, 1)), Fcfs())
    with pytest.raises(InputError, match="processor type 'scaling', p-state: expected a number from 0 to 3, found 4"):
        simulation.node(0).set_p_state(4)


def test_watts_that_are_not_given_follow_the_square() -> None:
    """At half the clock a quarter of the watts; min_power, a fraction, stays."""
    power = {"static_w": 40.0, "dynamic_w": 8.0, "min_power": 0.25}
    kind = ProcessorType("p", 2, 3.0, power=power, p_states=(PState(3.0), PState(1.5)))
    assert kind.in_p_state(1).power == {"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.25}
    assert (kind.p_state, kind.in_p_state(1).p_state) == (0, 1)


def test_the_state_at_the_start_is_one_of_the_states() -> None:
    """A clock that the list does not have is a mistake in one of the two."""
    kind = ProcessorType("p", 2, 2.5, p_states=(PState(3.0), PState(1.5)))
    with pytest.raises(InputError, match="p_states: expected the state in which it starts among them"):
        machine(kind)


# ---------------------------------------------------------------------- chosen for a job


class InState(Scheduler):
    """Starts every job at once on the first cores, in the p-state that its name says."""

    def schedule(self, view: Any) -> Any:
        """One pass."""
        for job in view.pending:
            placement = view.place(job)
            if placement is not None:
                yield Start(job, placement, p_state=int(job.profile))


def test_a_job_in_a_p_state_of_its_own() -> None:
    """At 2 GHz 100 take 50 s and draw 62 W; afterwards the processor is at 4 GHz again, and the next job at 1."""
    workload = jobs((0, 8, 100), (60, 8, 100), profile=["1", "0"])
    result = Simulation(machine(scaling()), workload, InState()).run()
    assert result.jobs["finish_time"].tolist() == [50.0, 160.0]
    assert result.p_states[["p_state", "start", "end"]].values.tolist() == [[1, 0, 50], [3, 50, 60], [0, 60, 160]]
    assert result.jobs["energy_j"].tolist() == [50 * 62, 100 * 55]


def test_a_job_in_a_p_state_on_a_node_that_boots() -> None:
    """The clock changes when the job begins, after the boot."""
    switching = PowerTransitions(switch_on_s=10.0)
    result = Simulation(machine(scaling(), 0, switching, off=1), jobs((0, 8, 100), profile=["1"]), InState()).run()
    assert result.jobs["finish_time"].tolist() == [60.0]
    assert result.p_states[["p_state", "start", "end"]].values.tolist() == [[3, 0, 10], [1, 10, 60]]


def test_a_processor_that_others_share_keeps_its_clock() -> None:
    """A job with half of a processor is refused a p-state, and nothing has changed; one that is exclusive gets it."""
    simulation = Simulation(machine(scaling()), jobs((0, 4, 100)), None)
    view = simulation.step_to_decision()
    assert view is not None
    (job,) = view.pending
    with pytest.raises(PlacementError, match="cannot have p-state 1: it gets 4 of the 8 cores of cluster0"):
        simulation.apply(Start(job, Placement.on({0: 4}), p_state=1))
    assert (view.free_total, view.pending) == (8, (job,))
    result = Simulation(machine(scaling()), jobs((0, 4, 100), exclusive=[True], profile=["1"]), InState()).run()
    assert result.jobs["finish_time"].tolist() == [50.0]


# ---------------------------------------------------------------------- files


def test_p_states_and_transitions_are_read_and_written(tmp_path: Path) -> None:
    """A platform that is written and read again is the same."""
    switching = PowerTransitions(off_w=9.0, switch_on_distribution="uniform:50,70", switch_on_w=125.0)
    platform = machine(scaling(), 2, switching)
    for name in ("p.yaml", "p.json"):
        platform.write(tmp_path / name)
        assert Platform.read(tmp_path / name) == platform


OWN = """
processor_types:
  p: {cores: 4, clock_ghz: 3, power: {static_w: 40, dynamic_w: 8, min_power: 0.5}, p_states: [{clock_ghz: 3}, %s]}
node_types:
  n: {processors: [{type: p, count: 3}], transitions: {%s}}
clusters: [{nodes: [{type: n}]}]
"""


def test_figures_per_core_and_energies(tmp_path: Path) -> None:
    """Twelve cores of 9 W off and 7500 J in a boot of 60 s are 108 W off and 1500 W for a minute."""
    figures = "per: core, off_w: 9, switch_on_s: 60, switch_on_j: 7500, switch_off_s: 2, switch_off_w: 10"
    (tmp_path / "p.yaml").write_text(OWN % ("{clock_ghz: 1.5}", figures))
    node = Platform.read(tmp_path / "p.yaml").node_types[0]
    assert node.transitions == PowerTransitions(108.0, 60.0, 1500.0, 2.0, 120.0)
    assert node.processors[0].p_states[1].power == {"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.5}


@pytest.mark.parametrize(
    ("state", "transitions", "message"),
    [
        ("{clock: 1}", "", r"p_states\[1\]: expected key 'clock_ghz', found clock"),
        ("{clock_ghz: -1}", "", r"p_states\[1\].clock_ghz: expected a finite positive number"),
        ("{clock_ghz: 1, power: {static_w: 4}}", "", r"p_states\[1\].power: expected key 'dynamic_w'"),
        (
            "{clock_ghz: 1}",
            "switch_on_distribution: 'gamma:1,2'",
            "switch_on_distribution: expected uniform:least,most",
        ),
        ("{clock_ghz: 1}", "switch_on_distribution: 'uniform:9,2'", "expected uniform:least,most with the least first"),
        ("{clock_ghz: 1}", "switch_on_s: 5, switch_on_distribution: 'uniform:9,11'", "switch_on_s: expected 10"),
        ("{clock_ghz: 1}", "switch_on_j: 5", "switch_on_j: expected a switch_on_s above 0"),
        ("{clock_ghz: 1}", "switch_off_j: 5, switch_off_w: 1, switch_off_s: 1", "either switch_off_j or switch_off_w"),
        ("{clock_ghz: 1}", "per: rack", "transitions.per: expected 'node' or 'core'"),
    ],
)
def test_what_is_wrong_in_a_file(tmp_path: Path, state: str, transitions: str, message: str) -> None:
    """One line that names the key."""
    (tmp_path / "p.yaml").write_text(OWN % (state, transitions))
    with pytest.raises(FormatError, match=message):
        Platform.read(tmp_path / "p.yaml")


XML = """<?xml version='1.0'?>
<platform version="4.1"><zone id="z" routing="Full">
<host id="h" speed="{speed}" core="2" pstate="{start}">
<prop id="wattage_per_state" value="{watts}"/><prop id="sleep_pstates" value="2:3:4"/></host>
</zone></platform>
"""


def test_the_p_states_of_simgrid(tmp_path: Path) -> None:
    """Of five p-states three are sleep and its transitions; 30:40:60 W on two cores are 40 W and 10 W a core."""
    watts = "30:40:60, 20:24:30, 5:5:5, 99:99:99, 88:88:88"
    (tmp_path / "p.xml").write_text(XML.format(speed="2Gf,1Gf,1f,0.5f,0.1f", start=1, watts=watts))
    (kind,) = Platform.read(tmp_path / "p.xml").processor_types
    assert [state.clock_ghz for state in kind.p_states] == [2.0, 1.0]
    assert (kind.clock_ghz, kind.p_state) == (1.0, 1)
    assert kind.in_p_state(0).power == {"static_w": 40.0, "dynamic_w": 10.0, "min_power": 0.75}


# ---------------------------------------------------------------------- boots


def test_every_boot_takes_a_time_of_its_own() -> None:
    """Two nodes boot for a job: it waits for the slower, between 50 and 70 s; another seed is another time."""
    switching = PowerTransitions(switch_on_distribution="uniform:50,70", switch_on_w=100.0)

    def start(seed: int) -> float:
        simulation = Simulation(machine(scaling(), 0, switching, off=2), jobs((0, 16, 4)), Fcfs(), seed=seed)
        result = simulation.run()
        boots = result.node_states[result.node_states["state"] == "SWITCHING_ON"]
        lengths = boots["end"] - boots["start"]
        assert lengths.nunique() == 2
        assert lengths.between(50, 70).all()
        assert result.summary()["energy_switching_on_j"] == pytest.approx(100 * lengths.sum())
        assert result.jobs["start_time"][0] == lengths.max()
        return float(lengths.max())

    assert start(1) == start(1) != start(2)


def test_schedulers_expect_the_mean() -> None:
    """60 s for uniform:50,70, whatever the boot takes in the end."""
    switching = PowerTransitions(switch_on_distribution="uniform:50,70")
    simulation = Simulation(machine(scaling(), 0, switching, off=1), jobs((0, 8, 4)), None)
    view = simulation.step_to_decision()
    assert view is not None
    assert view.planning.boot_time(Placement.on({0: 8})) == 60.0


@pytest.mark.parametrize(
    ("spec", "mean", "deviation"),
    [
        ("uniform:50,70", 60.0, 20 / math.sqrt(12)),
        ("normal:60,5", 60.0, 5.0),
        ("lognormal:60,20", 60.0, 20.0),
        # Half of it at 0: the mean is σ / √(2π), the second moment σ² / 2.
        ("normal:0,10", 10 / math.sqrt(2 * math.pi), 10 * math.sqrt(0.5 - 1 / (2 * math.pi))),
    ],
)
def test_the_distributions(spec: str, mean: float, deviation: float) -> None:
    """Mean and standard deviation of 40,000 draws are within five standard errors of the theory's; none is negative."""
    times = boot_times(spec)
    rng = np.random.default_rng(7)
    drawn = np.array([times.draw(rng) for _ in range(40_000)])
    assert times.mean == pytest.approx(mean)
    assert drawn.mean() == pytest.approx(mean, abs=5 * deviation / 200)
    assert drawn.std() == pytest.approx(deviation, rel=0.05)
    assert drawn.min() >= 0.0


def test_idle_cores_waste_at_the_clock_they_have() -> None:
    """In p-state 0 an idle processor draws 50 W, so three of its four cores that idle for 100 s waste 3750 J."""
    states = tuple(PState(f, {"static_w": 100.0 * f, "dynamic_w": 1.0, "min_power": 0.5}) for f in (1.0, 2.0))
    processor = ProcessorType("p", 4, 2.0, power=states[1].power, p_states=states)
    simulation = Simulation(machine(processor), jobs((0, 1, 100)), Fcfs(), contention="none")
    simulation.env.at(0.0).callbacks.append(lambda event: simulation.node(0).set_p_state(0))
    assert simulation.run().nodes["energy_waste_by_core_j"].tolist() == pytest.approx([3750.0])


@pytest.mark.parametrize(
    "spec", ["lognormal:1e-300,1e300", "normal:1e308,1e308", "uniform:0,1e308", "normal:nan,1", "lognormal:0,1"]
)
def test_boot_times_out_of_range(spec: str) -> None:
    """Numbers that would overflow in what is worked out of them are refused when the distribution is made."""
    with pytest.raises(InputError, match="power transitions, switch_on_distribution: expected "):
        boot_times(spec)
