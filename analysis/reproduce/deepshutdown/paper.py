"""DeepShutdown (Casagrande et al. 2022): Tables 1 to 3, Figs. 3 and 6 to 9 and the percentages of §5.4.

Of the paper's logs 1,405 of 2,152 days of Taurus were released. It is checked how the policies relate on them, and
whether their means fit Table 3, as those of another sample of days. The 48 days that came with a benchmark are mostly
busy and stand beside all. The other three clusters are synthetic stand-ins, calibrated to Tables 1 and 2 and labelled
as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from analysis.reproduce.agents import left_out, row_part
from analysis.reproduce.claims import AT_LEAST, HOLDS, Claim, Kind, Values, cells_of, points, relative
from analysis.reproduce.deepshutdown.agent_claims import agent_claims
from analysis.reproduce.deepshutdown.agents import AGAINST, NAME, ROW, agent_days
from analysis.reproduce.deepshutdown.as_run import ROW as ROW_AS_RUN
from analysis.reproduce.deepshutdown.as_run import as_run_days, head_days
from analysis.reproduce.deepshutdown.runs import (
    ALL_DAYS,
    BUSY_DAYS,
    FOLDER,
    LOGS,
    ORDINARY_DAYS,
    POLICIES,
    on_days,
    on_stand_in,
    released,
    sequential_by_part,
    sequential_jobs,
)
from analysis.reproduce.deepshutdown.stand_ins import CLUSTERS
from analysis.reproduce.deepshutdown.tables import BY_GROUPS, CELLS, TABLE_1, TABLE_2, TABLE_3, prose_claims
from analysis.reproduce.paper import ComputedPart, Paper, PaperFigure, ReproductionSetting
from analysis.reproduce.trainings import FILES

TAURUS, BUSY = "Taurus", "Taurus, 48 busy days"
PRIVATE = "the log is not public, but for 1,405 of the 2,152 days of Taurus"
OTHER_DAYS = "of 2,152 days the 1,405 that were released: extremes and spreads of the others are not known"
STAND_IN = "the log is not public; measured on a synthetic stand-in with its jobs a day, groups of days and load"
SAMPLE = "1,405 of 2,152 days, and the scheduler's rules differ in six points (docs/guides/deepshutdown.md)"
UNDATED = "the days were released without dates, and their jobs without how they ended"

_UNITS = {"delay": "min", "waste": "W·min", "switches": "", "stretch": ""}
ORDER, ON_BUSY_DAYS, GROUPS, MEANS, STANDS, PROSE, LOG = (
    "how the policies relate (the 1,405 released days of Taurus)",
    "the same on the 48 busy days alone",
    "by group of days (the 1,405 released days of Taurus)",
    "Table 3, every cell",
    "synthetic stand-ins, not the logs",
    "what the text says of Tables 1 and 3",
    "Tables 1 and 2, Fig. 3, and other logs",
)
PARTS_OF_DAYS = {"train, the 48 busy days": BUSY_DAYS} | {
    f"{part}, part {i}": (folder,)
    for part, folders in ORDINARY_DAYS.items()
    for i, folder in enumerate(folders, start=1)
}
"""The authors' four parts of their other days, each with days to train and to test on."""


def parts(setting: ReproductionSetting) -> Sequence[ComputedPart]:
    """Return the parts: policies on the released days and on the stand-ins, released rows, logs, and agents."""
    synthetic = 6 if setting.quick else 60
    machine = f"{FOLDER}/platform_taurus_168cores.xml"
    found = [
        ComputedPart(
            f"{label} {name}",
            on_days,
            {"label": label, "policy": name, "folders": list(folders), "days": 12 if setting.quick else None},
            (*folders, machine),
            (f"{label}/{name}/", f"{label}/group "),
        )
        for label, folders in ((TAURUS, ALL_DAYS), (BUSY, BUSY_DAYS))
        for name in POLICIES
    ]
    found += [
        ComputedPart(f"stand-in {cluster} {name}", on_stand_in, {"cluster": cluster, "policy": name, "days": synthetic})
        for cluster in CLUSTERS
        if cluster != "Taurus"
        for name in POLICIES
    ]
    arguments = {
        "parts": {name: list(folders) for name, folders in PARTS_OF_DAYS.items()},
        "days": 12 if setting.quick else None,
    }
    found.append(
        ComputedPart("sequential jobs by part", sequential_by_part, arguments, (*ALL_DAYS, machine), ("Fig. 3/",))
    )
    found.append(ComputedPart("released rows", released, {}, (FOLDER,), ("released/",)))
    for label, file in LOGS.items():
        log = f"traces/{file}"
        found.append(
            ComputedPart(
                f"log {label}", sequential_jobs, {"label": label, "log": log}, (log,), (f"sequential/{label}",)
            )
        )
    row = {
        "row": ROW.name,
        "file": str(FILES / f"{ROW.training}.yaml"),
        "against": AGAINST,
        "quick": setting.quick,
    }
    as_run = {"row": ROW_AS_RUN.name, "quick": setting.quick}
    return [
        *found,
        ComputedPart("head of the queue", head_days, {"quick": setting.quick}, (*BUSY_DAYS, machine), ("as run/",)),
        *row_part(NAME, ROW, setting, agent_days, row, (*ALL_DAYS, machine)),
        *row_part(NAME, ROW_AS_RUN, setting, as_run_days, as_run, (*BUSY_DAYS, machine)),
    ]


# ---------------------------------------------------------------------------------------------------------- claims


def claims() -> Sequence[Claim]:
    """Return the claims: Tables 1 to 3, the percentages of §5.4, the headline, and what Figs. 3 and 6 to 9 show."""
    on_all, on_busy = _relations(TAURUS, ORDER, Kind.PAPER), _relations(BUSY, ON_BUSY_DAYS, Kind.OURS)
    parts = [f"Fig. 3/{name}" for name in PARTS_OF_DAYS]
    fig_3 = [
        Claim(
            "fig-3",
            "more than 30 % of the jobs are sequential, every year",
            "30",
            "%",
            "Fig. 3, §2.2",
            lambda v: min(v[part] for part in parts),
            AT_LEAST,
            how="least share in a part of the released days",
            impossible=True,
            reason=UNDATED,
            group=LOG,
        ),
        Claim(
            "fig-3-errors",
            "the majority of the jobs ended in an error",
            "yes",
            "",
            "Fig. 3, §2.2",
            None,
            HOLDS,
            impossible=True,
            reason=UNDATED,
            group=LOG,
        ),
    ]
    return [
        *on_all,
        *on_busy,
        *_by_group(),
        *_stand_ins(),
        *agent_claims(),
        *prose_claims(PROSE),
        *fig_3,
        *_logs(),
        *_table_3(),
    ]


def _relations(label: str, group: str, kind: Kind) -> list[Claim]:
    """Return the claims on how the policies relate.

    On all days they are the paper's. On the busy days, of which the paper does not speak, they are ours.
    """
    start = "" if kind is Kind.PAPER else "busy/"

    def below(column: str, *order: str) -> Any:
        return lambda v: all(
            v[f"{label}/{a}/{column} avg"] < v[f"{label}/{b}/{column} avg"] for a, b in pairwise(order)
        )

    def holds(key: str, what: str, source: str, measure: Any, ours: bool = False) -> Claim:
        whose = Kind.OURS if ours else kind
        return Claim(start + key, what, "yes", "", source, measure, HOLDS, kind=whose, group=group)

    def slowdown(v: Values, name: str, gap: str) -> float:
        return float(v[f"{label}/{name}/slowdown {gap}"])

    found = [
        holds("waste-order", "waste: OR* < T(0) < T(1) < T(5)", "Fig. 6, Table 3", below("waste", "OR*", "T(0)", "T(1)", "T(5)")),
        holds("waste-order-cores", "the same, counted by core", "Fig. 6", below("core waste", "OR*", "T(0)", "T(1)", "T(5)")),
        holds("switch-order", "switches: T(5) < T(1) < T(0)", "Table 3", below("switches", "T(5)", "T(1)", "T(0)")),
        holds("or-switches", "OR* switches less than T(0)", "Table 3", below("switches", "OR*", "T(0)")),
        holds("stretch", "the timeouts have about the same stretch (within 0.05)", "§5.4",
              lambda v: abs(v[f"{label}/T(0)/stretch avg"] - v[f"{label}/T(5)/stretch avg"]) < 0.05),
        holds("or-stretch", "OR* has a greater stretch than T(0)", "Table 3", below("stretch", "T(0)", "OR*")),
        Claim(f"{start}per-pair", "waste per off-on pair under T(0), W·min: Table 3 counts nodes", "424.9", "W·min", "Table 3",
              lambda v: 2 * v[f"{label}/T(0)/waste avg"] / v[f"{label}/T(0)/switches avg"], relative(0.03),
              how="17 441.70 / 41.05; a node's cycle is 303 + 125 = 428", kind=kind, group=group),
        Claim(f"{start}per-pair-cores", "the same, counted by core as prose and released data do", "424.9", "W·min", "Table 3",
              lambda v: 2 * v[f"{label}/T(0)/core waste avg"] / v[f"{label}/T(0)/switches avg"], relative(0.03),
              reason="twelve cores a node: the prose's accounting is not the table's", kind=kind, group=group),
        holds("fig-7-gap", "OR*: the slowdown is greatest for jobs that follow others closely, and diminishes with the gap",
              "Fig. 7, §6.1", lambda v: slowdown(v, "OR*", "0-5 min") > slowdown(v, "OR*", "5-60 min")
              > slowdown(v, "OR*", "> 60 min")),
        holds("fig-7", "OR* delays jobs that follow others closely more than T(0) does (slowdown, gap < 5 min)", "Fig. 7",
              lambda v: slowdown(v, "OR*", "0-5 min") > slowdown(v, "T(0)", "0-5 min"), ours=True),
        holds("fig-8", "the most slowed-down jobs under OR* are shorter than those under T(0) (mean logarithm)", "Fig. 8",
              lambda v: v[f"{label}/OR*/run time of the slowest"] < v[f"{label}/T(0)/run time of the slowest"], ours=True),
        holds("fig-9-random", "score (Eq. 3): random reservations are worst", "Fig. 9",
              lambda v: v[f"{label}/random/score avg"] < min(v[f"{label}/{name}/score avg"] for name in ("OR*", "T(0)"))),
        holds("fig-9-or", "score (Eq. 3): OR* is better than T(0)", "Fig. 9",
              lambda v: v[f"{label}/OR*/score avg"] > v[f"{label}/T(0)/score avg"]),
    ]  # fmt: skip
    for column in ("waste", "switches"):
        for name in ("OR*", "T(1)", "T(5)"):
            printed = _printed("Taurus", name, column) / _printed("Taurus", "T(0)", column)
            found.append(
                Claim(f"{start}ratio/{column}/{name}", f"{column} of {name} over T(0)'s", f"{printed:.3f}", "", "Table 3",
                      lambda v, n=name, c=column: v[f"{label}/{n}/{c} avg"] / v[f"{label}/T(0)/{c} avg"],  # type: ignore[misc]
                      relative(0.15), how="ratio of two cells", reason=SAMPLE, kind=kind, group=group)
            )  # fmt: skip
    return found


def _by_group() -> list[Claim]:
    """Return the claims of §5.4 on groups of days that need no agent.

    Its percentages are of the agent; they imply ratios of the other policies.
    """

    def waste(v: Values, name: str, group: int) -> float:
        return float(v[f"{TAURUS}/{name}/waste group {group}"])

    found = [
        Claim(f"fig-6-group-{group}", f"group {group}: waste OR* < T(0) < T(1) < T(5)", "yes", "", "Fig. 6, §5.4",
              lambda v, g=group: waste(v, "OR*", g) < waste(v, "T(0)", g) < waste(v, "T(1)", g) < waste(v, "T(5)", g), HOLDS,  # type: ignore[misc]
              group=GROUPS)
        for group in range(1, 6)
    ]  # fmt: skip
    for tested, words in ((False, "to train on"), (True, "to test on")):
        found.append(
            Claim(f"fig-6-{'test' if tested else 'train'}", f"days {words}: OR* < T(0) < T(1) < T(5)", "yes", "", "Fig. 6",
                  lambda v, t=tested: all(_on(v, a, t) < _on(v, b, t) for a, b in pairwise(("OR*", "T(0)", "T(1)", "T(5)"))),  # type: ignore[misc]
                  HOLDS, group=GROUPS)
        )  # fmt: skip
    found += [
        Claim(f"fig-6-group-{group}/{name}", f"group {group}: waste of {name} over T(0)'s", f"{ratio:.3f}", "", "§5.4",
              lambda v, n=name, g=group: waste(v, n, g) / waste(v, "T(0)", g), relative(0.1),  # type: ignore[misc]
              how="from the percentages printed of DS; the paper's is of four clusters, which differ by up to 10 % in Table 3",
              reason=SAMPLE, group=GROUPS)
        for group, name, ratio in BY_GROUPS
    ]  # fmt: skip
    return found


def _on(v: Values, name: str, tested: bool) -> float:
    """Return the waste on the days that the authors tested on, or on the days that they trained on."""
    days = zip(v[f"{TAURUS}/{name}/daily waste"], v[f"{TAURUS}/tested"], strict=True)
    return math.fsum(waste for waste, of_test in days if of_test is tested)


def _printed(cluster: str, policy: str, column: str) -> float:
    return CELLS[f"{cluster} {policy}", f"{column} avg"]


def _stand_ins() -> list[Claim]:
    found = []
    for cluster in ("Econome", "Graphite", "Orion"):

        def mean(values: Values, name: str, column: str, cluster: str = cluster) -> float:
            return float(values[f"{cluster}/{name}/{column} avg"])

        found += [
            Claim(f"{cluster}/waste-order", f"{cluster}: waste OR* < T(0) < T(1) < T(5)", "yes", "", "Fig. 6, Table 3",
                  lambda v, m=mean: m(v, "OR*", "waste") < m(v, "T(0)", "waste") < m(v, "T(1)", "waste")  # type: ignore[misc]
                  < m(v, "T(5)", "waste"), HOLDS, group=STANDS),
            Claim(f"{cluster}/switch-order", f"{cluster}: switches T(5) < T(1) < T(0)", "yes", "", "Table 3",
                  lambda v, m=mean: m(v, "T(5)", "switches") < m(v, "T(1)", "switches")  # type: ignore[misc]
                  < m(v, "T(0)", "switches"), HOLDS, group=STANDS),
            Claim(f"{cluster}/per-pair", f"{cluster}: waste per off-on pair under T(0)",
                  f"{2 * _printed(cluster, 'T(0)', 'waste') / _printed(cluster, 'T(0)', 'switches'):.1f}", "W·min", "Table 3",
                  lambda v, m=mean: 2 * m(v, "T(0)", "waste") / m(v, "T(0)", "switches"), relative(0.03),  # type: ignore[misc]
                  group=STANDS),
        ]  # fmt: skip
    return found


def _logs() -> list[Claim]:
    found = []
    for cluster, column, number in cells_of(TABLE_1):
        ours = None
        if cluster in CLUSTERS and column != "jobs":
            ours = f"{cluster}/{column}"
        reason = PRIVATE if cluster == "Taurus" else STAND_IN if ours else "the log is not public"
        found.append(
            Claim(f"table-1/{cluster}/{column}", f"{cluster}: {column}", number, "", "Table 1", ours, points(5),
                  impossible=True, reason=reason, group=LOG)
        )  # fmt: skip
    for cluster, column, number in cells_of(TABLE_2):
        ours = f"{TAURUS}/group {column}" if cluster == "Taurus" else None
        reason = PRIVATE if cluster == "Taurus" else "the log is not public; stand-ins draw their days from this row"
        found.append(
            Claim(f"table-2/{cluster}/{column}", f"{cluster}: days in group {column}", number, "days", "Table 2", ours,
                  impossible=True, reason=reason, group=LOG)
        )  # fmt: skip
    return found + [
            Claim(f"sequential/{label}", f"{label}: as many sequential jobs as the Grid'5000 cluster with the fewest", "39.7",
                  "%", "§8, Table 1", f"sequential/{label}", AT_LEAST, group=LOG, kind=Kind.OURS,
                  how="an open question of the paper: does it hold elsewhere?")
            for label in LOGS
        ]  # fmt: skip


def _table_3() -> list[Claim]:
    """Return a claim for every cell of Table 3.

    Two thirds of the days of Taurus are released, so its means can be checked for policies without an agent.
    """
    found = []
    for row, column, number in cells_of(TABLE_3):
        cluster, policy = row.split()
        name, what = column.split()
        if cluster == TAURUS and policy != "DS" and what == "avg":
            # The released days are another sample: its mean lies in the 95 % interval that the printed deviation gives.
            measured = f"{TAURUS}/{policy}/{name} avg"
            width = 1.96 * CELLS[f"{TAURUS} {policy}", f"{name} std"] * math.sqrt(1.0 / 2152 + 1.0 / 1405)
            if name in ("waste", "switches"):
                measured += ", groups as in Table 2"
                how = "days weighted so that their groups are those of Table 2; ± is the 95 % interval of two samples' means"
            else:  # the jobs of a day are not independent of each other
                how = "over the jobs of the 1,405 days; ± as if each day were one job"
            why = "the threshold of a delay is not printed (0.5 here), nor whether jobs that are not late count"
            found.append(
                Claim(f"table-3/{row}/{column}", f"{row}: {column}", number, _UNITS[name], "Table 3", measured,
                      points(width), how=how, reason=why if name == "delay" else "", group=MEANS)
            )  # fmt: skip
            continue
        reason = OTHER_DAYS if cluster == TAURUS else STAND_IN
        if policy == "DS":
            reason = f"an agent, trained on logs that are not public; {PRIVATE}"
        found.append(
            Claim(f"table-3/{row}/{column}", f"{row}: {column}", number, _UNITS[name], "Table 3",
                  f"{cluster}/{policy}/{column}", impossible=True, reason=reason, group=MEANS)
        )  # fmt: skip
    return found


def figures(values: Values) -> Sequence[PaperFigure]:
    """Draw Figs. 3 and 6 to 9, Table 3 by both accountings, and where agents and rules stand."""
    from analysis.reproduce.deepshutdown.figures import all_figures

    return all_figures(values)


PAPER = Paper(
    name=NAME,
    title="DeepShutdown: switching nodes off by deep reinforcement learning",
    citation="Casagrande et al. (2022), International Journal of Grid and Utility Computing.",
    parts=parts,
    claims=claims,
    figures=figures,
    quick="12 of the 1,405 released days, and of the 48 busy ones, stand-ins of 6 days, not 60, and agents on 4 days; those not "
    "given with --agents are hardly trained: 2 iterations, one seed.",
    shown=("Fig. 3 by part", "Fig. 6", "Fig. 7", "Fig. 8", "Table 3, by node", "Agents and rules"),
    notes=(
        "Energies are in W·min, which the paper calls joules; 1 W·min is 60 J.",
        "Table 3 counts a node as one resource; prose and released data count each core. Both are measured.",
        "saf-easy schedules: EASY that backfills the smallest area first; OR* is off-reservation:0.5, clairvoyant.",
        "Our agents: five trainings in each of five folds of the busy days. The one-number rule, summed-stretch:θ, has the θ "
        "that wastes least on the training days of a fold within a mean stretch of 0.175.",
        "Stand-ins draw jobs a day, the share of sequential jobs and the load from Tables 1 and 2: synthetic, not the logs.",
    ),
    left_out=lambda setting: left_out(NAME, (ROW, ROW_AS_RUN), setting),
)
