"""The Energy scheduler, experiment 2 (López 2023, §4.2.2): eighteen jobs on four different nodes.

The schedule of her first agent, Fig. 4.14, is a picture. The text beside it says where all jobs of profiles B and C
run, and which shared a node. The agent cannot wait and places one job at each event, so most of the rest follows. Open
is only the order of the first thirteen jobs, which are alike and fill the machine. Our figure takes them as Fig. 4.13
does; the numbers are medians over many orders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from analysis.reproduce.agents import agent_parts, as_published, both_reductions, left_out
from analysis.reproduce.claims import HOLDS, Claim, Kind, Values, points, relative
from analysis.reproduce.drawing import schedule
from analysis.reproduce.energy_scheduler import lopez
from analysis.reproduce.energy_scheduler.experiment_1 import CITATION, HEURISTICS
from analysis.reproduce.energy_scheduler.selection import best_of_claims
from analysis.reproduce.paper import AgentRow, ComputedPart, Measured, Paper, PaperFigure, ReproductionSetting
from cluster_sim import Simulation
from cluster_sim.machine.placement import Placement
from cluster_sim.run.decisions import Decision, Start
from cluster_sim.run.view import View
from schedulers.policy.policy import Scheduler

NAME = "energy-scheduler-2"
BEST, PRINTED_BEST = "smallest/most_used_mem", "smallest/high_mem_bw"
GREEDY = "contention-aware, one at a time"
# Features of the default observation, but for watts and energies.
_SEEN = (
    "age+oldest_rank+smallest_rank+shortest_rank+work+node_share+left+bandwidth+rate+load+jobs+idle+on+contended+slowed+others"
    "+finish+delay_regret+least_delay+extends+gain_delay+wait+next_end+pending+eligible+pending_cores+running+free+idle_nodes"
    "+bandwidth_in_use+contended_nodes+soonest+latest+oldest"
)
_BLIND = {"observation": f"default:features={_SEEN}"}
_ENERGY, _EDP, _NO_ENERGY_FEATURES = (
    AgentRow(name, what, ("2",), (f"list:{BEST}",), training, file, environment, rule=lopez.RULE)
    for name, what, training, file, environment in (
        ("energy", "agent for energy", "experiment2-energy", "", {}),
        ("edp", "agent for EDP", "experiment2-edp", "", {}),
        (
            "no-energy-features",
            "agent that sees no energy",
            "experiment2-no-energy-features",
            "experiment2-edp",
            _BLIND,
        ),
    )
)
_PUBLISHED = "experiment2-as-published"
ROWS = (
    _ENERGY,
    _EDP,
    _NO_ENERGY_FEATURES,
    as_published(_ENERGY, _PUBLISHED),
    as_published(_EDP, f"{_PUBLISHED}-edp"),
    as_published(
        _NO_ENERGY_FEATURES,
        f"{_PUBLISHED}-no-energy-features",
        _PUBLISHED,
        {
            "observation": "p2:norm=sum,features=wait_time+requested_time+submit_time+requested_cores+availability+clock_rate"
        },
    ),
)
TABLE_4_11 = {
    "energy": ("26.02", "26.01", "26.00", "48.60", "48.59", "48.57"),
    "edp": ("28.46", "28.25", "24.71", "55.62", "55.24", "49.22"),
    "no-energy-features": ("28.45", "28.10", "23.22", "55.61", "54.96", "42.28"),
}

# Job → node. The first thirteen fill the nodes; then B (16, 17) goes to the fastest two, C (14, 15) to two of the fastest.
_FIRST = {job: node for node, jobs in enumerate((range(1), range(1, 3), range(3, 7), range(7, 13))) for job in jobs}
DESCRIBED = {**_FIRST, 16: 1, 17: 0, 15: 1, 14: 2, 13: 2}
EXCHANGED = {**DESCRIBED, 13: 1, 16: 2}
"""Placement that she says would have been better: J13 beside J15 on node 1, and J16 where J13 was."""
ORDERS = 30
_HEAVY_FIRST = (16, 17, 15, 14, 13)


class Described(Scheduler):
    """Scheduler that starts, at each event, the first job for which there is room on its given node.

    Jobs of profiles B and C go first.
    """

    def __init__(self, nodes: Mapping[int, int]):
        self.spec = "as Fig. 4.14 is described"
        self._nodes = nodes

    def schedule(self, view: View) -> Iterable[Decision]:
        pending = {int(job.job_id): job for job in view.pending}
        for number in (*_HEAVY_FIRST, *_FIRST):
            job = pending.get(number)
            if job is not None and view.free_cores[self._nodes[number]] >= job.requested_cores:
                yield Start(job, Placement.on({self._nodes[number]: job.requested_cores}))
                return


def described(inputs: Path, figure: str, caption: str) -> Measured:
    """Measure Fig. 4.14 as the text describes it, and with two jobs exchanged as it proposes.

    It measures energy, EDP, and when jobs start and end. Medians over ORDERS orders of the first thirteen jobs;
    ``…/least`` and ``…/greatest`` of the energy.
    """
    found = Measured(runs=2 * ORDERS + 1)
    for name, nodes in (("described", DESCRIBED), ("exchanged", EXCHANGED)):
        each = []
        for seed in range(ORDERS):  # the first thirteen jobs in an order that is drawn, on the same nodes
            shuffled = np.random.default_rng(seed).permutation([nodes[job] for job in _FIRST]).tolist()
            each.append(_figures_of({**nodes, **dict(zip(_FIRST, shuffled, strict=True))}))
        found.values |= {f"{name}/{key}": median(one[key] for one in each) for key in each[0]}
        energies = [one["energy"] for one in each]
        found.values |= {f"{name}/least": min(energies), f"{name}/greatest": max(energies)}
    result = Simulation(*lopez.experiment("2"), Described(DESCRIBED)).run(warn=False)
    found.figures.append(schedule(figure, caption, result, colour_by="profile", panels=("power",)))
    return found


def _figures_of(nodes: Mapping[int, int]) -> dict[str, float]:
    """Measure a schedule: metrics, J15's run time, the last start of B and C, and the first end on N3."""
    result = Simulation(*lopez.experiment("2"), Described(nodes)).run(warn=False)
    summary, jobs = result.summary(), result.jobs
    start, finish = (
        dict(zip(jobs["job_id"].astype(int), jobs[key], strict=True)) for key in ("start_time", "finish_time")
    )
    return {metric: float(summary[key]) for metric, key in lopez.METRICS.items()} | {
        "J15": float(finish[15] - start[15]),
        "last start of B, C": float(max(start[job] for job in (14, 15, 16, 17))),
        "first end on N3": float(min(finish[job] for job, node in nodes.items() if node == 3)),
    }


def parts(setting: ReproductionSetting) -> Sequence[ComputedPart]:
    """Return the parts: all pairs, schedules, and agents."""
    drawn = {
        "Fig. 4.13": ("The best heuristic: smallest–high_mem of the thesis' program.", f"list:{BEST}"),
        "Fig. 4.17": ("What the agent for EDP found, as the contention-aware greedy does it.", lopez.GREEDY[GREEDY]),
    }
    return [
        *lopez.pair_parts("2", setting.quick),
        ComputedPart("schedules", lopez.schedules, {"name": "2", "drawn": drawn}),
        ComputedPart(
            "described",
            described,
            {
                "figure": "Fig. 4.14",
                "caption": "What the agent for energy found, as the text describes it; J0 to J12 as in Fig. 4.13.",
            },
        ),
        *agent_parts(NAME, ROWS, setting, "analysis.reproduce.energy_scheduler.experiment_1:episode"),
    ]


def claims() -> Sequence[Claim]:
    """Return the claims of Tables 4.7 to 4.11 and Figs. 4.13 to 4.19."""
    heuristics = [
        Claim("best-energy", "smallest–high_mem, energy", "32090", "J", "§4.2.2", f"2/{BEST}/energy"),
        Claim("best-edp", "smallest–high_mem, EDP", "5071504", "J·s", "§4.2.2", f"2/{BEST}/EDP"),
        Claim("best-name", "smallest–high_mem_bw, as the thesis names it, energy", "32090", "J", "§4.2.2, Fig. 4.13",
              f"2/{PRINTED_BEST}/energy", reason="the figures printed are smallest–high_mem's; this one gives 32 101.93 J"),
        Claim("is-best", "smallest–high_mem is the best heuristic in energy", "yes", "", "§4.2.2",
              lambda v: v[f"2/{BEST}/energy"] <= min(lopez.of_pairs(v, "2", "energy").values()) * (1 + 1e-9), HOLDS),
        Claim("is-best-edp", "it is the best in EDP, too", "yes", "", "§4.2.2",
              lambda v: v[f"2/{BEST}/EDP"] <= min(lopez.of_pairs(v, "2", "EDP").values()) * (1 + 1e-9), HOLDS),
    ]  # fmt: skip
    reached = [
        Claim("agent-energy", "the schedule of Fig. 4.17, energy, as the contention-aware greedy finds it", "23000", "J",
              "§4.2.2, Fig. 4.17", f"2/{GREEDY}/energy", relative(0.01)),
        Claim("agent-edp", "the same, EDP", "2260000", "J·s", "§4.2.2, Fig. 4.17", f"2/{GREEDY}/EDP", relative(0.01)),
        Claim("agent-gain", "the agent's best energy reduction (Table 4.11), reached by the greedy", "28.46", "%",
              "Table 4.11", lambda v: lopez.reduction(v, "2", "energy", GREEDY, BEST), points(0.05)),
        Claim("agent-gain-edp", "the agent's best EDP reduction (Table 4.11), reached by the greedy", "55.62", "%",
              "Table 4.11", lambda v: lopez.reduction(v, "2", "EDP", GREEDY, BEST), points(0.05)),
    ]  # fmt: skip
    first = [
        Claim("agent-1", "the first agent's schedule, energy", "23743", "J", "§4.2.2, Fig. 4.14", "described/energy",
              relative(5e-4), how="as the text places jobs; median over 30 orders of the first 13, which are left open"),
        Claim("agent-1-gain", "it is below the best heuristic (Table 4.11, avg)", "26.01", "%", "Table 4.11",
              lambda v: _gain(v, "energy"), points(0.05)),
        Claim("agent-1-edp", "it is below the best heuristic in EDP (Table 4.11, avg)", "48.59", "%", "Table 4.11",
              lambda v: _gain(v, "EDP"), points(0.05)),
        Claim("agent-1-not-best", "it is not the best schedule", "yes", "", "§4.2.2",
              lambda v: v[f"2/{GREEDY}/energy"] < v["described/energy"], HOLDS, how="the contention-aware greedy's needs less"),
        Claim("agent-1-n3", "no job on N3 ends in time for one of profile B or C", "yes", "", "§4.2.2, Fig. 4.14",
              lambda v: v["described/first end on N3"] > v["described/last start of B, C"], HOLDS),
        Claim("agent-1-j15", "J13 on N1 in place of J16 would have reduced the execution time of J15", "yes", "", "§4.2.2",
              lambda v: v["exchanged/J15"] < v["described/J15"], HOLDS, how="J16 where J13 was"),
        Claim("agent-1-better", "that would have been a better choice", "yes", "", "§4.2.2",
              lambda v: v["exchanged/energy"] < v["described/energy"], HOLDS, how="in energy; J16 where J13 was, beside J14"),
    ]  # fmt: skip
    found = [replace(claim, group=HEURISTICS) for claim in heuristics]
    without = "the agent's best schedule, found without learning"
    found += [replace(claim, group=without, kind=Kind.OURS) for claim in reached]  # the thesis does not speak of it
    found += [replace(claim, group="the first agent's schedule, as the text describes it") for claim in first]
    for row in ROWS:
        found += both_reductions(row, "2", f"list:{BEST}", TABLE_4_11[row.printed], "Table 4.11")
    for row in ROWS[3:]:
        metric, printed = ("EDP", slice(3, 6)) if row.printed == "edp" else ("energy", slice(3))
        found += best_of_claims(
            row, "2", f"list:{BEST}", metric, TABLE_4_11[row.printed][printed], "Table 4.11, §4.2.2"
        )
    return found


def _gain(values: Values, metric: str) -> float:
    """Return by how many % the described schedule is below the best heuristic."""
    return float(100.0 * (1.0 - values[f"described/{metric}"] / values[f"2/{BEST}/{metric}"]))


def figures(values: Values) -> Sequence[PaperFigure]:
    """Draw Figs. 4.18 and 4.19, with all pairs in place of five."""
    return lopez.pair_figures("Fig. 4.18", "Fig. 4.19", values, "2")


PAPER = Paper(
    name=NAME,
    title="Energy scheduler, experiment 2",
    citation=CITATION,
    parts=parts,
    claims=claims,
    figures=figures,
    quick=lopez.QUICK,
    shown=("Fig. 4.13", "Fig. 4.14", "Fig. 4.17"),
    notes=(
        "The thesis names smallest–high_mem_bw as its best heuristic; the figures are smallest–high_mem's "
        "(its program's high_mem is the memory in use: most_used_mem here).",
        "The text gives profile C two cores; table, input and figures have four.",
        "Training curves (Figs. 4.12, 4.15, 4.16) print no numbers; metrics.csv of a training has ours.",
    ),
    rows=ROWS,
    left_out=lambda setting: left_out(NAME, ROWS, setting),
)
