"""The Energy scheduler, experiment 4 (López 2023, §4.3.2): trained on a mix, tested on two kinds of work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from analysis.reproduce.agents import agent_parts, as_published, left_out, reductions
from analysis.reproduce.claims import HOLDS, Claim, Kind, Values, points, relative
from analysis.reproduce.energy_scheduler import lopez
from analysis.reproduce.energy_scheduler.as_run import FreshActors
from analysis.reproduce.energy_scheduler.experiment_1 import CITATION, HEURISTICS
from analysis.reproduce.paper import AgentRow, ComputedPart, Paper, PaperFigure, ReproductionSetting

NAME = "energy-scheduler-4"
FLOPS, CORES, BANDWIDTH = "first/high_gflops", "first/high_cores", "first/high_mem_bw"
TESTED = (FLOPS, CORES, BANDWIDTH)
WORK = {"mem": "memory workload", "comp": "computation workload"}
# Table 4.18 of the thesis and Table 7 of the journal: min, avg, max against each of the three.
TABLE = {
    "mem": {
        FLOPS: ("12.66", "-1.31", "-12.87"),
        CORES: ("15.32", "1.77", "-9.43"),
        BANDWIDTH: ("21.98", "9.50", "-0.83"),
    },
    "comp": {
        FLOPS: ("23.36", "4.02", "-0.35"),
        CORES: ("2.28", "-22.37", "-27.95"),
        BANDWIDTH: ("23.36", "4.02", "-0.35"),
    },
}
_ENERGY = AgentRow(
    "energy",
    "agent for energy",
    ("4-mem", "4-comp"),
    tuple(f"list:{pair}" for pair in TESTED),
    "experiment4",
    out_of_sample=True,
    rule=lopez.RULE,
)
ROWS = (_ENERGY, as_published(_ENERGY, "experiment4-as-published"))

_AGAINST = tuple(f"list:{pair}" for pair in TESTED)
NUM_JOBS = 100
"""Jobs of the queue that the authors' program looks at: all of them."""


def fresh_actors(observation: str) -> dict[str, FreshActors]:
    """Return the actors of the public program with an observation of its, by kind of work."""
    file = "experiment4-as-published"
    return {kind: FreshActors(f"4-{kind}", _AGAINST, file, observation, NUM_JOBS) for kind in WORK}


AS_RUN = fresh_actors("p2:norm=sum")


def parts(setting: ReproductionSetting) -> Sequence[ComputedPart]:
    """Return the parts: all pairs on both workloads, and agents."""
    return [
        *lopez.pair_parts("4-mem", setting.quick),
        *lopez.pair_parts("4-comp", setting.quick),
        *(part for actors in AS_RUN.values() for part in actors.part(setting)),
        *agent_parts(NAME, ROWS, setting, "analysis.reproduce.energy_scheduler.experiment_1:episode"),
    ]


def heuristic_claims(platform: str, source: str, text: str) -> list[Claim]:
    """Return what Table 4.18 (Table 7) claims of the heuristics, on ``4`` (30 + 4 nodes) or ``12`` (10 + 2)."""
    found = [_implied(platform, kind, pair, FLOPS, source) for kind in WORK for pair in (CORES, BANDWIDTH)]
    mem, comp = f"{platform}-mem", f"{platform}-comp"
    found += [
        Claim(f"{mem}/best", "memory workload: high_gflops is the best of the three", "yes", "", text,
              lambda v: min(TESTED, key=lambda pair: v[f"{mem}/{pair}/energy"]) == FLOPS, HOLDS),
        Claim(f"{mem}/worst", "memory workload: high_mem_bw is the worst of the three", "yes", "", text,
              lambda v: max(TESTED, key=lambda pair: v[f"{mem}/{pair}/energy"]) == BANDWIDTH, HOLDS),
        Claim(f"{comp}/same", "computation workload: high_gflops and high_mem_bw need the same", "yes", "", text,
              lambda v: abs(lopez.ratio(v, comp, BANDWIDTH, FLOPS) - 1) < 1e-3, HOLDS),
        Claim(f"{comp}/cores", "computation workload: high_cores below them", "22", "%", text,
              lambda v: lopez.reduction(v, comp, "energy", CORES, FLOPS), points(1.0)),
    ]  # fmt: skip
    return found


def _implied(platform: str, kind: str, pair: str, against: str, source: str) -> Claim:
    """Return the claim on the ratio of two heuristics that the agent's reductions against both imply.

    The ratio is (1 - r_against) / (1 - r_pair).
    """
    ours, theirs = (1.0 - float(TABLE[kind][name][0]) / 100.0 for name in (pair, against))
    name = f"{platform}-{kind}"
    return Claim(
        f"{name}/{pair}/{against}",
        f"{WORK[kind]}: energy of {pair.partition('/')[2]} over {against.partition('/')[2]}'s",
        f"{theirs / ours:.4f}",
        "",
        source,
        lambda values: lopez.ratio(values, name, pair, against),
        relative(1e-3),
        how="the printed reductions of one agent against both imply the ratio; the figures themselves are bars",
    )


def claims() -> Sequence[Claim]:
    """Return the claims of Tables 4.16 to 4.18 and Fig. 4.25."""
    found = [replace(claim, group=HEURISTICS) for claim in heuristic_claims("4", "Table 4.18", "§4.3.2, Fig. 4.25")]
    greedy = [
        Claim("mem/greedy", "greedy (delay) below high_gflops by at least the agent's luckiest 12.66 %",
              "yes", "", "Table 4.18",
              lambda v: lopez.reduction(v, "4-mem", "energy", "contention-aware, delay", FLOPS) > 12.66, HOLDS, kind=Kind.OURS),
        Claim("comp/greedy", "greedy (energy) below high_cores by at least the agent's luckiest 2.28 %",
              "yes", "", "Table 4.18",
              lambda v: lopez.reduction(v, "4-comp", "energy", "contention-aware, energy", CORES) > 2.28, HOLDS, kind=Kind.OURS),
    ]  # fmt: skip
    found += [replace(claim, group=HEURISTICS) for claim in greedy]
    pictures = [
        claim
        for kind, actors in AS_RUN.items()
        for claim in actors.picture_claims(f"list:{FLOPS}", TABLE[kind][FLOPS][-1], ROWS[1].name)
    ]
    return [*found, *agent_claims(ROWS, "Table 4.18"), *as_run_claims(AS_RUN, "Table 4.18"), *pictures]


def agent_claims(rows: Sequence[AgentRow], source: str, platform: str = "4") -> list[Claim]:
    """Return the claims for the 18 reductions of each row, on ``4`` (30 + 4 nodes) or ``12`` (10 + 2)."""
    return [
        claim
        for row in rows
        for kind, table in TABLE.items()
        for pair, three in table.items()
        for claim in reductions(row, f"{platform}-{kind}", f"list:{pair}", "energy", three, source)
    ]


def as_run_claims(actors: Mapping[str, FreshActors], source: str) -> list[Claim]:
    """Return the claims for the same 18 reductions of actors that are drawn anew in each run."""
    what = "actors drawn anew in each run"
    return [
        claim
        for kind, table in TABLE.items()
        for pair, three in table.items()
        for claim in actors[kind].claims(what, f"list:{pair}", "energy", three, source)
    ]


def figures(values: Values) -> Sequence[PaperFigure]:
    """Draw Fig. 4.25, with all pairs in place of three."""
    return [
        figure
        for kind, what in WORK.items()
        for figure in lopez.pair_figure(
            f"Fig. 4.25, {what}", "Energy of every pair; random ones are means.", values, f"4-{kind}", "energy"
        )
    ]


PAPER = Paper(
    name=NAME,
    title="Energy scheduler, experiment 4",
    citation=CITATION,
    parts=parts,
    claims=claims,
    figures=figures,
    quick=lopez.QUICK,
    shown=("Fig. 4.25, memory workload",),
    notes=(
        "The agent as written is trained on the mix of 400 jobs of the public repository, ours on mixes drawn from Table 4.16.",
        "While an agent as written learns, the queue never has two jobs: it learns to choose a node, and in the test it must "
        "choose among jobs, too.",
        "The training curve (Fig. 4.24) prints no numbers; metrics.csv of a training has ours.",
    ),
    rows=ROWS,
    left_out=lambda setting: left_out(NAME, ROWS, setting),
)
