"""Contention-aware greedy against the bar that was measured for it, and against every policy pair of the papers."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path

import pytest

from analysis.reproduce.energy_scheduler.lopez import experiment
from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.records import Result

# The six job and six node orders of López (2023), Table 4.1; her "high_mem" is most_used_mem.
JOBS = ("random", "first", "shortest", "smallest", "low_mem", "low_mem_ops")
NODES = ("random", "high_gflops", "high_cores", "most_used_mem", "high_mem_bw", "low_power")

# (experiment, options, energy J, EDP J·s): measured by others with such a greedy on the same inputs. For experiment 4-comp
# the figure (216 468 J) is a bound, in a test of its own: this one needs 0.12 % less; ties move it by as much.
REACHED = [
    ("4-mem", "metric=delay,order=longest,placements=all", 1_561_995, None),
    ("3", "metric=delay,order=smallest,placements=one", 293_879, 46_475_978),
    ("3", "metric=edp,weight=1,order=smallest,placements=one", 293_879, 46_475_978),
    ("2", "metric=delay,order=smallest,placements=one", 22_962, 2_252_469),
    ("2", "metric=edp,weight=1,order=smallest,placements=one", 22_962, 2_252_469),
]


def run(name: str, spec: str) -> Result:
    """One experiment under one scheduler."""
    platform, workload = experiment(name)
    return Simulation(platform, workload, make_scheduler(spec)).run()


@pytest.mark.parametrize("clairvoyant", ["no", "yes"])
@pytest.mark.parametrize(("name", "options", "energy", "edp"), REACHED)
def test_the_bar_is_met(name: str, options: str, energy: float, edp: float | None, clairvoyant: str) -> None:
    """To the last digit given, from the requested times as well as from the true operations."""
    summary = run(name, f"contention-aware:{options},clairvoyant={clairvoyant}").summary()
    assert summary["energy_j"] == pytest.approx(energy, abs=0.51)
    if edp is not None:
        assert summary["edp_js"] == pytest.approx(edp, abs=0.51)


@pytest.mark.parametrize("order", ["first", "smallest", "longest"])
def test_least_marginal_energy_needs_no_more_than_the_bar(order: str) -> None:
    """Experiment 4, compute-bound: at most 216 468 J, whatever the order, and within 0.2 % of it."""
    summary = run("4-comp", f"contention-aware:metric=energy,order={order}").summary()
    assert summary["energy_j"] <= 216_468
    assert summary["energy_j"] == pytest.approx(216_468, rel=2e-3)


@pytest.mark.parametrize("name", ["4-mem", "4-comp"])
def test_every_policy_pair_is_beaten(name: str) -> None:
    """In energy and in EDP, on both parts of experiment 4, by the default settings."""
    ours = run(name, "contention-aware").summary()
    for pair in map("/".join, product(JOBS, NODES)):
        theirs = run(name, f"list:{pair}").summary()
        assert ours["energy_j"] < theirs["energy_j"], pair
        assert ours["edp_js"] < theirs["edp_js"], pair


@pytest.mark.parametrize(("case", "name"), [("experiment4-mem", "4-mem"), ("experiment4-comp", "4-comp")])
def test_what_the_papers_program_measured_is_beaten(shared: Path, case: str, name: str) -> None:
    """The same against the other program's own figures."""
    expected = json.loads((shared / "cases" / "irmasim" / case / "expected.json").read_text())
    ours = run(name, "contention-aware").summary()
    assert ours["energy_j"] < min(policy["energy_j"] for policy in expected.values())
    assert ours["edp_js"] < min(policy["edp_js"] for policy in expected.values())


def mix(name: str, seed: int) -> tuple[Platform, Workload]:
    """Jobs drawn at random on the platform of experiment 3 or 4: inputs to which no setting was fitted."""
    draw = random.Random(seed)
    if name == "4":
        work = (27.5e9, 62.5e9, 125e9, 55e9, 82.5e9, 125e9)
        volumes = (1e5, 1e6, 1e8, 1.0, 1.0, 1.0)
        count, step, widths = 100, 1.0, dict.fromkeys("ABCDEF", 8)
    else:
        work, volumes = (13.75e9, 62.5e9, 125e9, 62.5e9), (1.0, 1e3, 1e6, 1e5)
        count, step, widths = 300, 0.2, {"A": 8, "B": 8, "C": 4, "D": 2}
    rows = zip(widths, work, volumes, strict=True)
    profiles = {
        letter: {"req_ops": ops, "req_time": round(ops / 3e9 + 0.05, 1), "mem_vol": volume, "mem": 100, "ipc": 1}
        for letter, ops, volume in rows
    }
    letters = "".join(draw.choice("".join(widths)) for _ in range(count))
    triples = [(round(i * step, 4), widths[letter], letter) for i, letter in enumerate(letters)]
    return experiment("4-mem" if name == "4" else "3")[0], Workload.from_triples(triples, profiles)


@pytest.mark.parametrize(("name", "seed"), [("3", 0), ("3", 1), ("4", 0), ("4", 1)])
def test_the_default_beats_every_pair_where_nobody_tuned_it(name: str, seed: int) -> None:
    """Least energy of the pairs that draw nothing at random, on random mixes of jobs."""
    platform, workload = mix(name, seed)

    def energy(spec: str) -> float:
        return float(Simulation(platform, workload, make_scheduler(spec)).run().summary()["energy_j"])

    pairs = product(JOBS[1:], NODES[1:])
    assert energy("contention-aware") < min(energy(f"list:{job}/{node}") for job, node in pairs)
