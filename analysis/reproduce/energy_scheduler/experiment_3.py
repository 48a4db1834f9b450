"""The Energy scheduler, experiment 3 (López 2023, §4.3.1): experiment 2 times ten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from analysis.reproduce.agents import SUMMARIES, agent_parts, as_published, both_reductions, left_out
from analysis.reproduce.claims import HOLDS, Claim, Kind, Values, number, points, rank_correlation
from analysis.reproduce.energy_scheduler import lopez
from analysis.reproduce.energy_scheduler.as_run import FreshActors
from analysis.reproduce.energy_scheduler.experiment_1 import CITATION, HEURISTICS
from analysis.reproduce.paper import AS_RUN as AS_RUN_GROUP
from analysis.reproduce.paper import AgentRow, ComputedPart, Paper, PaperFigure, ReproductionSetting

NAME = "energy-scheduler-3"
BEST, RANDOM = "smallest/most_used_mem", "first/first"
"""The best heuristic, and what ran as *random–random*: the Policy scheduler sorts by no key then, so that nothing is drawn."""
GREEDY = "contention-aware, one at a time"
_ENERGY, _EDP = (
    AgentRow(
        name,
        f"agent for {what}",
        ("3",),
        (f"list:{BEST}",),
        f"experiment3-{name}",
        rule=lopez.RULE,
    )
    for name, what in (("energy", "energy"), ("edp", "EDP"))
)
_PUBLISHED = "experiment3-as-published"
_FEWER = {"seeds": 5}  # a training takes four minutes; ten for energy show how far trainings lie apart
ROWS = (
    _ENERGY,
    _EDP,
    as_published(_ENERGY, _PUBLISHED),
    as_published(_EDP, f"{_PUBLISHED}-edp", _PUBLISHED, {"reward": "edp-as-published"}, _FEWER),
)
NUM_JOBS = 180
"""Jobs of the queue that the authors' program looks at: all of them."""
AS_RUN = FreshActors("3", (f"list:{BEST}",), _PUBLISHED, "p2:norm=sum", NUM_JOBS)
RANDOM_AS_RUN = ComputedPart("3 random as run", lopez.reached, {"name": "3", "schedulers": {RANDOM: f"list:{RANDOM}"}})
# Tables 4.14 (against the best heuristic) and 4.15 (against the random one).
TABLES = {
    ("energy", BEST): ("3.37", "-19.52", "-61.58", "3.21", "-90.49", "-286.22"),
    ("edp", BEST): ("3.46", "-16.87", "-59.99", "3.33", "-79.63", "-285.67"),
    ("energy", RANDOM): ("40.18", "26.01", "-0.03", "71.52", "43.96", "-13.62"),
    ("edp", RANDOM): ("40.23", "27.65", "0.96", "71.56", "47.16", "-13.46"),
}
_HOW_RANDOM = "the Policy scheduler, which ran the heuristics, sorts by no key for 'random': first job, first node"
_REALLY_RANDOM = "random/random"


def parts(setting: ReproductionSetting) -> Sequence[ComputedPart]:
    """Return the parts: all pairs, and agents."""
    return [
        *lopez.pair_parts("3", setting.quick),
        RANDOM_AS_RUN,
        *AS_RUN.part(setting),
        *agent_parts(NAME, ROWS, setting, "analysis.reproduce.energy_scheduler.experiment_1:episode"),
    ]


def heuristic_claims(sources: tuple[str, str, str, str], energy: str, edp: str) -> list[Claim]:
    """Return what both papers claim of the heuristics.

    ``sources`` are those of: the best heuristic, the reductions, what agents reach, and the tables.
    """
    best, random, reached, implied = sources
    found = [
        Claim("is-best", "smallest–high_mem is the best heuristic in energy", "yes", "", best,
              lambda v: v[f"3/{BEST}/energy"] <= min(lopez.of_pairs(v, "3", "energy").values()) * (1 + 1e-9), HOLDS),
        Claim("is-best-edp", "it is the best in EDP, too", "yes", "", best,
              lambda v: v[f"3/{BEST}/EDP"] <= min(lopez.of_pairs(v, "3", "EDP").values()) * (1 + 1e-9), HOLDS),
        Claim("random-energy", "the best heuristic's energy below the random one's, a draw for each job and node", energy, "%",
              random, lambda v: lopez.reduction(v, "3", "energy", BEST, _REALLY_RANDOM), points(3.0),
              reason="theirs draws nothing: the rows as run"),
        Claim("random-edp", "the best heuristic's EDP below the random one's, a draw for each job and node", edp, "%",
              random, lambda v: lopez.reduction(v, "3", "EDP", BEST, _REALLY_RANDOM), points(3.0),
              reason="theirs draws nothing: the rows as run"),
        Claim("correlated", "energy and EDP rank the heuristics alike (rank correlation above 0.9)", "yes", "", reached,
              lambda v: _order_kept(v) > 0.9, HOLDS),
        Claim("greedy", "the contention-aware greedy is better than its luckiest agent (3.46 %)", "yes", "",
              implied, lambda v: lopez.reduction(v, "3", "energy", GREEDY, BEST) > 3.46, HOLDS, kind=Kind.OURS),
    ]  # fmt: skip
    return [replace(claim, group=HEURISTICS) for claim in found]


def random_claims(source: str, energy: str, edp: str) -> list[Claim]:
    """Return the claims of the best heuristic against random–random as it ran: first–first."""
    return [
        Claim(f"as run/random-{metric}", f"the best heuristic's {metric} below that of random–random, which is first–first",
              printed, "%", source, partial(lopez.reduction, name="3", metric=metric, pair=BEST, against=RANDOM),
              how=_HOW_RANDOM, group=AS_RUN_GROUP)
        for metric, printed in (("energy", energy), ("EDP", edp))
    ]  # fmt: skip


def _against_random(values: Values, metric: str, printed: str) -> float:
    """Return what a reduction against the best heuristic, %, is against first–first."""
    below = lopez.reduction(values, "3", metric, BEST, RANDOM)
    return 100.0 - (100.0 - number(printed)) * (100.0 - below) / 100.0


def _order_kept(values: Values) -> float:
    """Return the rank correlation of the pairs' energy with their EDP."""
    energy, edp = (list(lopez.of_pairs(values, "3", metric).values()) for metric in ("energy", "EDP"))
    return rank_correlation(energy, edp)


def claims() -> Sequence[Claim]:
    """Return the claims of Tables 4.12 to 4.15 and Figs. 4.22, 4.23."""
    sources = ("§4.3.1, Fig. 4.22", "Table 4.15", "§4.3.1", "Table 4.14")
    found = heuristic_claims(sources, "38.09", "70.58")
    for row in ROWS:
        found += both_reductions(row, "3", f"list:{BEST}", TABLES[row.printed, BEST], "Table 4.14")
    found += random_claims("Table 4.15", "38.09", "70.58")
    for name in ("energy", "edp"):
        what, printed = f"actors for {name}, drawn anew in each run", TABLES[name, BEST]
        found += AS_RUN.claims(what, f"list:{BEST}", "energy", printed[:3], "Table 4.14")
        found += AS_RUN.claims(what, f"list:{BEST}", "EDP", printed[3:], "Table 4.14")
        reductions = [f"{metric}: {summary}" for metric in ("energy", "EDP") for summary in SUMMARIES]
        found += [
            Claim(f"as run/{name}/{which} against {RANDOM}", f"agent for {name}, {which} reduction against random–random, from "
                  "that against the best heuristic", against_random, "%", "Table 4.15",
                  partial(_against_random, metric=which.partition(":")[0], printed=against_best),
                  how=_HOW_RANDOM, kind=Kind.PRINTED, group=AS_RUN_GROUP)
            for which, against_best, against_random in zip(reductions, printed, TABLES[name, RANDOM], strict=True)
        ]  # fmt: skip
    worst = TABLES["energy", BEST][len(SUMMARIES) - 1]
    return [*found, *AS_RUN.picture_claims(f"list:{BEST}", worst, ROWS[2].name)]


def figures(values: Values) -> Sequence[PaperFigure]:
    """Draw Figs. 4.22 and 4.23, with all pairs in place of five."""
    return lopez.pair_figures("Fig. 4.22", "Fig. 4.23", values, "3")


PAPER = Paper(
    name=NAME,
    title="Energy scheduler, experiment 3",
    citation=CITATION,
    parts=parts,
    claims=claims,
    figures=figures,
    quick=lopez.QUICK,
    shown=("Fig. 4.22",),
    notes=(
        "In the input that made the figures the letters of profiles A and B are swapped: 140 light, 20 heavy, 20 middle jobs.",
        "While an agent as written learns, the queue never has two jobs, for 90 jobs do not fill the machine. It learns to "
        "choose a node; in the test, with 180 jobs, it must choose among jobs, too.",
        "Training curves (Figs. 4.20, 4.21) print no numbers; metrics.csv of a training has ours.",
    ),
    rows=ROWS,
    left_out=lambda setting: left_out(NAME, ROWS, setting),
)
