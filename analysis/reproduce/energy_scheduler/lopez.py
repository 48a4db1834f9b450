"""The experiments of López (2023), which López, Stafford and Bosque (2025) report again: inputs, runs, shared claims.

The inputs are written out here as her program had them. Where the text differs, the program counts:

- Profile B of experiment 1 moves 10⁶ MB. Table 4.3 prints 10⁴, with which there is no contention at all.
- Profile C of experiment 2 takes four cores.
- Experiment 3 has the letters A and B of its table swapped.
- Her program's ``high_mem`` sorts by the memory *in use*, most first: ``most_used_mem``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from analysis.reproduce.claims import Values
from analysis.reproduce.drawing import bars, schedule
from analysis.reproduce.paper import ComputedPart, Measured, PaperFigure
from cluster_sim import Simulation, make_scheduler
from cluster_sim.platform.platform import Cluster, NodeGroup, NodeType, Platform, ProcessorType
from cluster_sim.records.result import Result
from cluster_sim.workload.workload import Workload

JOBS = ("random", "first", "shortest", "smallest", "low_mem", "low_mem_ops")
NODES = ("random", "high_gflops", "high_cores", "most_used_mem", "high_mem_bw", "low_power")
PAIRS = tuple(f"{job}/{node}" for job in JOBS for node in NODES)
FIXED = tuple(pair for pair in PAIRS if "random" not in pair)
METRICS = {"energy": "energy_j", "makespan": "makespan_s", "EDP": "edp_js"}
UNITS = {"energy": "J", "makespan": "s", "EDP": "J·s"}
GREEDY = {
    "contention-aware, one at a time": "contention-aware:metric=delay,order=smallest,placements=one",
    "contention-aware, delay": "contention-aware:metric=delay,order=longest,placements=all",
    "contention-aware, energy": "contention-aware:metric=energy,order=longest,placements=all",
}
"""Baseline that agents have to beat. The papers do not have it."""
RULE = GREEDY["contention-aware, one at a time"]
"""Rule that stands beside agents and learns nothing: it places one job at a time, as they do."""

QUICK = (
    "random pairs are means of 5 seeds, not 20; agents are tested in 10 runs, not 100, "
    "and those not given with --agents are hardly trained: 2 iterations, one seed."
)
"""Sentence on what ``--quick`` leaves out of each experiment."""

_LETTERS_4 = "AABBCCAABABBAACCBBAABBAAAABCCBAACCCCAABABCCBAACCABAACCBBBBBBBBAACCAABBCCAAAABCCBAACCACACBAACCAAABBAB"


def _processor(cores: int, ghz: float, c: float, db: float, dd: float) -> ProcessorType:
    """Return a processor of experiments 2 to 4. Its watts grow with the square of the clock."""
    square = (ghz / 3.0) ** 2
    return ProcessorType(
        f"proc_{cores}_{ghz}",
        cores,
        ghz,
        power={"static_w": 35.108 * square, "dynamic_w": 3.313 * square, "min_power": 0.3959},
        contention={"b": -1.85e-5, "c": c, "da": 1.0, "db": db, "dc": 25000, "dd": dd},
    )


def _cluster(*groups: tuple[int, ProcessorType]) -> Platform:
    """Return nodes of one processor each, from pairs (how many, of which kind)."""
    nodes = [NodeGroup(NodeType(f"node_{kind.name}", (kind,)), count) for count, kind in groups]
    return Platform((Cluster("cluster0", tuple(nodes)),))


def _jobs(letters: str, step: float, profiles: Mapping[str, tuple[int, float, float, float]]) -> Workload:
    """Return a job every ``step`` s.

    A profile is the cores, instructions, requested time (s) and memory volume (MB) of a task.
    """
    described = {
        letter: {"req_ops": work, "req_time": seconds, "mem_vol": volume, "mem": 100, "ipc": 1}
        for letter, (_, work, seconds, volume) in profiles.items()
    }
    triples = [(round(i * step, 4), profiles[letter][0], letter) for i, letter in enumerate(letters)]
    return Workload.from_triples(triples, described)


_SHORT, _LONG, _HEAVY = (8, 13.75e9, 4.6, 1.0), (8, 62.5e9, 20.8, 1e3), (4, 125e9, 41.7, 1e6)
_PROFILES_4 = {
    "mem": {"A": (8, 27.5e9, 9.2, 1e5), "B": (8, 62.5e9, 20.8, 1e6), "C": (8, 125e9, 41.7, 1e8)},
    "comp": {"A": (8, 55e9, 18.4, 1.0), "B": (8, 82.5e9, 27.5, 1.0), "C": (8, 125e9, 41.7, 1.0)},
}


def experiment(name: str) -> tuple[Platform, Workload]:
    """Return platform and workload of experiment 1, 2, 3, 4-mem or 4-comp.

    12-mem and 12-comp are experiment 4 on the ten and two nodes of which the journal version's text speaks.
    """
    if name == "1":
        power = {"static_w": 24.38, "dynamic_w": 2.3, "min_power": 0.05}
        contention = {"b": -1.85e-5, "c": 32000, "da": 1.75, "db": 2000, "dc": 50000, "dd": 6000}
        small = [
            ProcessorType(f"proc_{n}_2.5", n, 2.5, power=power, contention=contention) for n in (4, 8)
        ]  # Table 4.2
        profiles = {"A": (4, 12.5e9, 5.5, 1.0), "B": (2, 62.5e9, 25.0, 1e6)}
        return _cluster(*((1, kind) for kind in small)), _jobs("AABABA", 0.05, profiles)
    kinds = (
        _processor(8, 4.2, 32000, 500, 500),
        _processor(16, 3.8, 21000, 169, 100),
        _processor(32, 3.4, 21000, 150, 20),
        _processor(48, 3.0, 21000, 100, 10),
    )
    if name == "2":
        profiles = {"A": _SHORT, "B": _LONG, "C": _HEAVY}
        return _cluster(*((1, kind) for kind in kinds)), _jobs("A" * 14 + "CCBB", 0.05, profiles)
    if name == "3":
        profiles = {"A": _LONG, "B": _SHORT, "C": _HEAVY}
        return _cluster(*((10, kind) for kind in kinds)), _jobs("B" * 140 + "C" * 20 + "A" * 20, 0.01, profiles)
    fast, wide = (10, 2) if name.startswith("12") else (30, 4)
    platform = _cluster((fast, kinds[0]), (wide, kinds[3]))
    return platform, _jobs(_LETTERS_4, 1, _PROFILES_4[name.partition("-")[2]])


def run(name: str, scheduler: str, seed: int = 0) -> Result:
    """Run one experiment under one scheduler."""
    platform, workload = experiment(name)
    return Simulation(platform, workload, make_scheduler(scheduler), seed=seed).run(warn=False)


# ----------------------------------------------------------------------------------------------------------- parts


def pairs(inputs: Path, name: str, job: str, seeds: int) -> Measured:
    """Measure all pairs of one job order; pairs that draw at random have means over ``seeds``."""
    found = Measured()
    for node in NODES:
        pair = f"{job}/{node}"
        count = seeds if "random" in pair else 1
        summaries = [run(name, f"list:{pair}", seed).summary() for seed in range(count)]
        found.runs += count
        for metric, key in METRICS.items():
            row = [float(summary[key]) for summary in summaries]
            found.values[f"{name}/{pair}/{metric}"] = mean(row)
            if count > 1:
                found.values |= {
                    f"{name}/{pair}/{metric} least": min(row),
                    f"{name}/{pair}/{metric} greatest": max(row),
                }
    return found


def reached(inputs: Path, name: str, schedulers: Mapping[str, str]) -> Measured:
    """Measure what some schedulers reach; ``schedulers`` has their specs by what they are called."""
    found = Measured(runs=len(schedulers))
    for label, spec in schedulers.items():
        summary = run(name, spec).summary()
        found.values |= {f"{name}/{label}/{metric}": float(summary[key]) for metric, key in METRICS.items()}
    return found


def schedules(inputs: Path, name: str, drawn: Mapping[str, Sequence[str]]) -> Measured:
    """Draw Gantt charts; ``drawn`` has (caption, scheduler) by figure."""
    charts = [
        schedule(figure, caption, run(name, scheduler), colour_by="profile", panels=("power",))
        for figure, (caption, scheduler) in drawn.items()
    ]
    return Measured(figures=charts, runs=len(charts))


def pair_parts(name: str, quick: bool) -> list[ComputedPart]:
    """Return the parts of one experiment: all pairs and the greedy."""
    seeds = 5 if quick else 20
    found = [
        ComputedPart(f"{name} {job}", pairs, {"name": name, "job": job, "seeds": seeds}, measures=(f"{name}/",))
        for job in JOBS
    ]
    arguments = {"name": name, "schedulers": GREEDY}
    return [*found, ComputedPart(f"{name} contention-aware", reached, arguments, measures=(f"{name}/",))]


# --------------------------------------------------------------------------------------- what claims are made with


def of_pairs(values: Values, name: str, metric: str, pairs: Sequence[str] = FIXED) -> dict[str, float]:
    """Return the metric of each pair."""
    return {pair: values[f"{name}/{pair}/{metric}"] for pair in pairs}


def best_pair(values: Values, name: str, metric: str) -> str:
    """Return the pair of the least energy (or EDP) among those that draw nothing at random."""
    row = of_pairs(values, name, metric)
    return min(row, key=row.__getitem__)


def reduction(values: Values, name: str, metric: str, pair: str, against: str) -> float:
    """Return by how many % ``pair`` is below ``against``."""
    return float(100.0 * (1.0 - values[f"{name}/{pair}/{metric}"] / values[f"{name}/{against}/{metric}"]))


def ratio(values: Values, name: str, pair: str, against: str) -> float:
    """Return the energy of ``pair`` over that of ``against``."""
    return float(values[f"{name}/{pair}/energy"]) / float(values[f"{name}/{against}/energy"])


def pair_figures(energy: str, edp: str, values: Values, experiment: str) -> list[PaperFigure]:
    """Draw both figures of an experiment, with all pairs by their names in place of the paper's five."""
    return [
        *pair_figure(energy, "Energy of every pair; random ones are means.", values, experiment, "energy"),
        *pair_figure(edp, "EDP of every pair; random ones are means.", values, experiment, "EDP"),
    ]


def pair_figure(name: str, caption: str, values: Values, experiment: str, metric: str) -> list[PaperFigure]:
    """Draw bars of all pairs and the greedy, where they are measured."""
    labels = [label for label in (*PAIRS, *GREEDY) if f"{experiment}/{label}/{metric}" in values]
    if not labels:
        return []
    labels.sort(key=lambda label: values[f"{experiment}/{label}/{metric}"])
    row = [values[f"{experiment}/{label}/{metric}"] for label in labels]
    return [bars(name, caption, labels, {metric: row}, UNITS[metric])]
