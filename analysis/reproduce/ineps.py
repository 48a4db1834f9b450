"""InEPS (López, Stafford and Bosque 2025): the thesis' experiments 3 and 4 again, and the platform its text describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from analysis.reproduce.agents import agent_parts, as_published, left_out, reductions
from analysis.reproduce.claims import Claim, Values
from analysis.reproduce.energy_scheduler import experiment_3 as convergence
from analysis.reproduce.energy_scheduler import experiment_4 as adaptability
from analysis.reproduce.energy_scheduler import lopez
from analysis.reproduce.energy_scheduler.as_run import FreshActors
from analysis.reproduce.paper import AgentRow, ComputedPart, Paper, PaperFigure, ReproductionSetting

NAME = "ineps"
RANDOM = f"list:{convergence.RANDOM}"
_ENERGY, _EDP = (
    AgentRow(f"convergence-{name}", f"{what} InEPS", ("3",), (RANDOM,), f"experiment3-{name}", rule=lopez.RULE)
    for name, what in (("energy", "Energy"), ("edp", "EDP"))
)
_ADAPTABLE = replace(adaptability.ROWS[0], name="adaptability", what="Energy InEPS")
# The paper's figures are the thesis' own. So the agents are the thesis' too, beside those that this paper describes.
_FEWER = {"seeds": 3}
SMALL = "mixed:10x8@4.2,2x48@3.0"
"""The ten and two nodes of the text."""


def _ten_features(row: AgentRow, theirs: AgentRow) -> AgentRow:
    """Return the row for the agent with the ten features of Table 1.

    All else is as in the thesis' agent: Table 5 prints its hyper-parameters.
    """
    return replace(
        as_published(row, f"{theirs.training}-ten-features", theirs.file or theirs.training),
        name=f"{row.name}-ten-features",
        what=f"{row.what}, as published, ten features",
        environment={**theirs.environment, "observation": "p3"},
        most=_FEWER,
    )


_THEIRS = convergence.ROWS[2:]
CONVERGENCE = (
    _ENERGY,
    _EDP,
    *(
        as_published(row, t.training, t.file, t.environment, t.most)
        for row, t in zip((_ENERGY, _EDP), _THEIRS, strict=True)
    ),
    *(_ten_features(row, theirs) for row, theirs in zip((_ENERGY, _EDP), _THEIRS, strict=True)),
)
_TEN = _ten_features(_ADAPTABLE, adaptability.ROWS[1])
ADAPTABILITY = (_ADAPTABLE, as_published(_ADAPTABLE, adaptability.ROWS[1].training), _TEN)
ADAPTABILITY_12 = replace(
    _TEN,
    name=f"{_TEN.name}-12-nodes",
    what=f"{_TEN.what}, 10 + 2 nodes",
    cases=("12-mem", "12-comp"),
    training=f"{_TEN.training}-12-nodes",
    environment={**_TEN.environment, "platform": SMALL},
)
"""Row of that agent on the nodes of the text, for which the paper prints the figures of 30 and 4."""
ROWS = (*CONVERGENCE, *ADAPTABILITY, ADAPTABILITY_12)
# The journal's ten features, divided by their L2 norm as in the program of January 2024.
CONVERGENCE_AS_RUN = FreshActors("3", (RANDOM,), "experiment3-as-published", "p3", convergence.NUM_JOBS)
ADAPTABILITY_AS_RUN = adaptability.fresh_actors("p3")
# §5.1: mean reductions against the random heuristic, energy and EDP.
MEANS = {"convergence-energy": ("26", "44"), "convergence-edp": ("28", "47")}
GROUPS = (
    "convergence experiment",
    "adaptability experiment, 30 + 4 nodes as in the thesis",
    "the 10 + 2 nodes of the text",
)
WHY_12 = "the table was made on 30 + 4 nodes: it is the thesis' Table 4.18, figure for figure"


def parts(setting: ReproductionSetting) -> Sequence[ComputedPart]:
    """Return the parts: all pairs on the experiments' inputs, and the agents."""
    cases = ("3", "4-mem", "4-comp", "12-mem", "12-comp")
    return [
        *(part for case in cases for part in lopez.pair_parts(case, setting.quick)),
        convergence.RANDOM_AS_RUN,
        *(part for actors in (CONVERGENCE_AS_RUN, *ADAPTABILITY_AS_RUN.values()) for part in actors.part(setting)),
        *agent_parts(NAME, ROWS, setting, "analysis.reproduce.energy_scheduler.experiment_1:episode"),
    ]


def claims() -> Sequence[Claim]:
    """Return the claims of §5.1 with Figs. 5 and 6, and of §5.2 with Fig. 8 and Table 7."""
    first, second, text = GROUPS
    sources = ("§5.1, Fig. 5", "§5.1", "§5.1", "§5.1")
    found = [replace(claim, group=first) for claim in convergence.heuristic_claims(sources, "38", "70.6")]
    found.append(
        Claim("jobs", "jobs of profiles A, B, C in the workload", "10, 10, 10", "", "Table 4", None, impossible=True,
              reason="the text beside it says 180 jobs; the workload has 140, 20, 20", group=first)
    )  # fmt: skip
    found += [replace(c, group=second) for c in adaptability.heuristic_claims("4", "Table 7", "§5.2, Fig. 8")]
    found += [
        replace(c, group=text, reason=WHY_12)
        for c in adaptability.heuristic_claims("12", "§5.2, Table 7", "§5.2, Fig. 8")
    ]
    reached = adaptability.agent_claims(ADAPTABILITY, "Table 7")
    reached += [
        replace(claim, reason=WHY_12) for claim in adaptability.agent_claims((ADAPTABILITY_12,), "§5.2, Table 7", "12")
    ]
    for row in CONVERGENCE:
        # The extremes of its runs, which tell their spread, are printed in the thesis only.
        printed = convergence.TABLES[row.printed.removeprefix("convergence-"), convergence.RANDOM]
        for metric, mean, (most, _, least) in zip(
            ("energy", "EDP"), MEANS[row.printed], (printed[:3], printed[3:]), strict=True
        ):
            three = reductions(row, "3", RANDOM, metric, (most, mean, least), "§5.1")
            reached += [claim for claim in three if claim.key.endswith("/avg")]
    reached += convergence.random_claims("§5.1", "38", "70.6")
    reached += adaptability.as_run_claims(ADAPTABILITY_AS_RUN, "Table 7")
    for name, means in MEANS.items():
        what = f"actors for {name.removeprefix('convergence-')}, drawn anew in each run"
        for metric, mean in zip(("energy", "EDP"), means, strict=True):
            reached += CONVERGENCE_AS_RUN.claims(what, RANDOM, metric, ("", mean, ""), "§5.1")
    return [*found, *sorted(reached, key=attrgetter("group"))]


def figures(values: Values) -> Sequence[PaperFigure]:
    """Draw Figs. 5, 6 and 8, the last on both platforms."""
    drawn = [
        *lopez.pair_figure("Fig. 5", "Convergence: energy of every pair.", values, "3", "energy"),
        *lopez.pair_figure("Fig. 6", "Convergence: EDP of every pair.", values, "3", "EDP"),
    ]
    for platform, nodes in (("4", "30 + 4 nodes"), ("12", "10 + 2 nodes")):
        for kind, what in adaptability.WORK.items():
            name, caption = f"Fig. 8, {what}, {nodes}", "Energy of every pair; random ones are means."
            drawn += lopez.pair_figure(name, caption, values, f"{platform}-{kind}", "energy")
    return drawn


PAPER = Paper(
    name=NAME,
    title="InEPS: an intelligent scheduler by energy, in its journal version",
    citation="López, Stafford and Bosque (2025), The Journal of Supercomputing.",
    parts=parts,
    claims=claims,
    figures=figures,
    quick=lopez.QUICK,
    shown=("Fig. 8, memory workload, 10 + 2 nodes",),
    notes=(
        "The text of §5.2 says ten and two nodes; Table 7 is that of the thesis, made on 30 and 4. Both platforms are run.",
        "§4 describes lists of the jobs that could fit, that is, skipping; the numbers come from a list that blocks.",
        "The rows 'ten features' have the paper's observation (Table 1) and hyper-parameters (Table 5; 3, 50 and 25 in §5.2). "
        "From the public program: the jobs of the queue that are looked at (180 and 100, all of them), the order of minibatches, "
        "the critic's target, and that features are divided by the L2 norm of all. Table 5 has one seed, 1024, which the program "
        "does not give to its networks; ours are 0 to 2.",
        "Training curves (Figs. 4, 7) print no numbers; metrics.csv of a training has ours.",
    ),
    rows=ROWS,
    left_out=lambda setting: left_out(NAME, ROWS, setting),
)
