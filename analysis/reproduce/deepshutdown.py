"""DeepShutdown (Casagrande et al. 2022): Tables 1 to 3, Figs. 6 to 9 and the percentages of §5.4.

Of the paper's logs 1,405 of 2,152 days of Taurus were released: how the policies relate on them is checked, and the means of
Table 3 as those of another sample of days. The other three clusters are
synthetic stand-ins, calibrated to Tables 1 and 2 and labelled as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from analysis.reproduce.agents import OUR_AGENTS, AgentRow, left_out, row_part
from analysis.reproduce.claims import AT_LEAST, HOLDS, MORE, Claim, Kind, Values, points, relative
from analysis.reproduce.deepshutdown_agents import agent_days
from analysis.reproduce.deepshutdown_runs import (
    ALL_DAYS,
    BUSY_DAYS,
    CLUSTERS,
    FOLDER,
    LOGS,
    POLICIES,
    on_days,
    on_stand_in,
    released,
    sequential_jobs,
)
from analysis.reproduce.deepshutdown_tables import CELLS, TABLE_1, TABLE_2, TABLE_3, prose_claims
from analysis.reproduce.paper import Figure, Paper, Part, Setting
from analysis.reproduce.tables import cells_of
from analysis.reproduce.trainings import FILES

NAME = "deepshutdown"
TAURUS, BUSY = "Taurus", "Taurus, 48 busy days"
PRIVATE = "the log is not public, but for 1,405 of the 2,152 days of Taurus"
OTHER_DAYS = "of 2,152 days the 1,405 that were released: extremes and spreads of the others are not known"
FEW = (
    "the printed one is a mean over all days of four clusters; the released days of Taurus are mostly of groups 4 and 5"
)
HOW_OURS = "48 days of Taurus, each played by agents that have not seen it, by core; over the seeds of their training"
STAND_IN = "the log is not public; measured on a synthetic stand-in with its jobs a day, groups of days and load"

_UNITS = {"delay": "min", "waste": "W·min", "switches": "", "stretch": ""}
# §5.4: group → (against, % that DS wastes less).
BY_GROUP = (
    (1, "OR*", "-2.5"), (1, "T(0)", "13"), (1, "T(1)", "25.4"), (1, "T(5)", "51"), (2, "OR*", "-12.5"), (3, "T(0)", "10.8"),
    (3, "T(5)", "44"), (3, "OR*", "-18"), (4, "OR*", "-12"), (4, "T(0)", "18"), (5, "OR*", "18"), (5, "T(0)", "26.7"),
    (5, "T(1)", "34.8"), (5, "T(5)", "56.1"),
)  # fmt: skip
AGAINST = {name: POLICIES[name] for name in ("T(0)", "T(1)", "T(5)", "OR*")}
ROW = AgentRow("taurus", "agent on Taurus", (), tuple(AGAINST.values()), NAME)
ORDER, MEANS, STANDS, AGENT, PROSE, LOG, OUR_AGENT = (
    "how the policies relate (the 1,405 released days of Taurus)",
    "Table 3, every cell",
    "synthetic stand-ins, not the logs",
    "the agent as published: the rows that its authors released",
    "what the text says of Tables 1 and 3",
    "Tables 1 and 2, and other logs",
    OUR_AGENTS,
)


def parts(setting: Setting) -> Sequence[Part]:
    """Policies on the released days and on the stand-ins, the released rows, the logs, agents."""
    synthetic = 6 if setting.quick else 60
    machine = f"{FOLDER}/platform_taurus_168cores.xml"
    needs = (*BUSY_DAYS, machine)
    found = [
        Part(
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
        Part(f"stand-in {cluster} {name}", on_stand_in, {"cluster": cluster, "policy": name, "days": synthetic})
        for cluster in CLUSTERS
        if cluster != "Taurus"
        for name in POLICIES
    ]
    found.append(Part("released rows", released, {}, (FOLDER,), ("released/",)))
    for label, file in LOGS.items():
        log = f"traces/{file}"
        found.append(
            Part(f"log {label}", sequential_jobs, {"label": label, "log": log}, (log,), (f"sequential/{label}",))
        )
    arguments = {
        "row": ROW.name,
        "file": str(FILES / f"{ROW.training}.yaml"),
        "against": AGAINST,
        "quick": setting.quick,
    }
    return [*found, *row_part(NAME, ROW, setting, agent_days, arguments, needs)]


# ---------------------------------------------------------------------------------------------------------- claims


def claims() -> Sequence[Claim]:
    """All cells of Tables 1 to 3, the percentages of §5.4, the headline, and what Figs. 6 to 9 are said to show."""
    return [*_relations(), *_stand_ins(), *_agent(), *prose_claims(PROSE), *_logs(), *_table_3()]


def _relations() -> list[Claim]:
    def below(column: str, *order: str) -> Any:
        return lambda v: all(v[f"Taurus/{a}/{column} avg"] < v[f"Taurus/{b}/{column} avg"] for a, b in pairwise(order))

    found = [
        Claim("waste-order", "waste: OR* < T(0) < T(1) < T(5)", "yes", "", "Fig. 6, Table 3",
              below("waste", "OR*", "T(0)", "T(1)", "T(5)"), HOLDS, group=ORDER),
        Claim("waste-order-cores", "the same, counted by core", "yes", "", "Fig. 6",
              below("core waste", "OR*", "T(0)", "T(1)", "T(5)"), HOLDS, group=ORDER),
        Claim("switch-order", "switches: T(5) < T(1) < T(0)", "yes", "", "Table 3", below("switches", "T(5)", "T(1)", "T(0)"),
              HOLDS, group=ORDER),
        Claim("or-switches", "OR* switches less than T(0)", "yes", "", "Table 3", below("switches", "OR*", "T(0)"), HOLDS,
              group=ORDER),
        Claim("stretch", "the timeouts have about the same stretch (within 0.05)", "yes", "", "§5.4",
              lambda v: abs(v["Taurus/T(0)/stretch avg"] - v["Taurus/T(5)/stretch avg"]) < 0.05, HOLDS, group=ORDER),
        Claim("or-stretch", "OR* has a greater stretch than T(0)", "yes", "", "Table 3", below("stretch", "T(0)", "OR*"), HOLDS,
              group=ORDER),
        Claim("per-pair", "waste per off-on pair under T(0), W·min: Table 3 counts nodes", "424.9", "W·min", "Table 3",
              lambda v: 2 * v["Taurus/T(0)/waste avg"] / v["Taurus/T(0)/switches avg"], relative(0.03),
              how="17 441.70 / 41.05; a node's cycle is 303 + 125 = 428", group=ORDER),
        Claim("per-pair-cores", "the same, counted by core as prose and released data do", "424.9", "W·min", "Table 3",
              lambda v: 2 * v["Taurus/T(0)/core waste avg"] / v["Taurus/T(0)/switches avg"], relative(0.03),
              reason="twelve cores a node: the prose's accounting is not the table's", group=ORDER),
        Claim("fig-7", "OR* delays jobs that follow others closely more than T(0) does (slowdown, gap < 5 min)", "yes", "",
              "Fig. 7", lambda v: v["Taurus/OR*/slowdown 0-5 min"] > v["Taurus/T(0)/slowdown 0-5 min"], HOLDS, group=ORDER),
        Claim("fig-7-gap", "OR*: slowdown is greatest for jobs that follow others closely", "yes", "", "Fig. 7",
              lambda v: v["Taurus/OR*/slowdown 0-5 min"] > v["Taurus/OR*/slowdown > 60 min"], HOLDS, group=ORDER),
        Claim("fig-8", "the most slowed-down jobs under OR* are short: shorter than the median job", "yes", "", "Fig. 8",
              lambda v: v["Taurus/OR*/run time of the slowest"] < v["Taurus/OR*/run time"], HOLDS, group=ORDER),
        Claim("fig-9-random", "score (Eq. 3): random reservations are worst", "yes", "", "Fig. 9",
              lambda v: v["Taurus/random/score avg"] < min(v[f"Taurus/{name}/score avg"] for name in ("OR*", "T(0)")), HOLDS,
              group=ORDER),
        Claim("fig-9-or", "score (Eq. 3): OR* is better than T(0)", "yes", "", "Fig. 9",
              lambda v: v["Taurus/OR*/score avg"] > v["Taurus/T(0)/score avg"], HOLDS, group=ORDER),
    ]  # fmt: skip
    for column in ("waste", "switches"):
        for name in ("OR*", "T(1)", "T(5)"):
            printed = _printed("Taurus", name, column) / _printed("Taurus", "T(0)", column)
            found.append(
                Claim(
                    f"ratio/{column}/{name}",
                    f"{column} of {name} over T(0)'s",
                    f"{printed:.3f}",
                    "",
                    "Table 3",
                    lambda v, n=name, c=column: v[f"Taurus/{n}/{c} avg"] / v[f"Taurus/T(0)/{c} avg"],  # type: ignore[misc]
                    relative(0.15),
                    how="ratio of two cells",
                    reason="1,405 of 2,152 days, and the scheduler's rules differ in six points (docs/deepshutdown.md)",
                    group=ORDER,
                )
            )
    return found


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


def _agent() -> list[Claim]:
    def less(values: Values, group: int | str, column: str = "waste") -> float:
        ds, timeout = (values[f"released/{name}/{column} {group}"] for name in ("DeepShutdown", "Timeout (1)"))
        return float(100.0 * (1.0 - ds / timeout))

    how = "rows that the authors released of their agent, against their Timeout (1), which is T(0); 48 days of Taurus, by core"
    ours: dict[str, Any] = {"tolerance": MORE, "how": HOW_OURS, "kind": Kind.OUR_AGENT, "group": OUR_AGENT}
    found = [
        Claim("headline-T0", "DS wastes less than T(0)", "11.7", "%", "abstract", lambda v: less(v, "all"), points(5),
              how=how, reason=FEW, group=AGENT),
        Claim("headline-T0-switches", "DS switches less than T(0)", "17.9", "%", "abstract",
              lambda v: less(v, "all", "switches"), points(5), how=how, reason=FEW, group=AGENT),
        Claim("headline-T0-ours", "DS wastes less than T(0), an agent trained here", "11.7", "%", "abstract",
              "agent/taurus/all/T(0)/waste", **ours),
        Claim("headline-T0-switches-ours", "DS switches less than T(0), an agent trained here", "17.9", "%", "abstract",
              "agent/taurus/all/T(0)/switches", **ours),
        Claim("headline-T5", "DS wastes less than T(5), an agent trained here", "46", "%", "abstract",
              "agent/taurus/all/T(5)/waste", **ours),
        Claim("headline-T5-switches", "DS switches less than T(5), an agent trained here (the paper's: 4 % more)", "-4", "%",
              "abstract", "agent/taurus/all/T(5)/switches", **ours),
        Claim("rows", "released rows: the agent is better than both timeouts in mean waste", "yes", "", "released data",
              lambda v: v["released/DeepShutdown/waste all"]
              < min(v[f"released/Timeout ({n})/waste all"] for n in (1, 10)), HOLDS, kind=Kind.OURS, group=AGENT),
    ]  # fmt: skip
    for group, against, number in BY_GROUP:
        measurable = against == "T(0)"
        found.append(
            Claim(
                f"group-{group}/{against}",
                f"group {group}: DS wastes less than {against}"
                + (" (below 0: more)" if number.startswith("-") else ""),
                number,
                "%",
                "§5.4",
                (lambda v, g=group: less(v, g)) if measurable else f"agent/taurus/group {group}/{against}/waste",  # type: ignore[misc]
                points(5) if measurable else MORE,
                how=how if measurable else HOW_OURS,
                reason=FEW if measurable else "",
                kind=Kind.PAPER if measurable else Kind.OUR_AGENT,
                group=AGENT if measurable else OUR_AGENT,
            )
        )
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
    """Every cell. Of Taurus under a policy without an agent the means can be checked: two thirds of its days are released."""
    found = []
    for row, column, number in cells_of(TABLE_3):
        cluster, policy = row.split()
        name, what = column.split()
        if cluster == TAURUS and policy != "DS" and what == "avg":
            found.append(_mean_of_taurus(policy, name, number))
            continue
        reason = OTHER_DAYS if cluster == TAURUS else STAND_IN
        if policy == "DS":
            reason = f"an agent, trained on logs that are not public; {PRIVATE}"
        found.append(
            Claim(f"table-3/{row}/{column}", f"{row}: {column}", number, _UNITS[column.split()[0]], "Table 3",
                  f"{cluster}/{policy}/{column}", impossible=True, reason=reason, group=MEANS)
        )  # fmt: skip
    return found


def _mean_of_taurus(policy: str, name: str, printed: str) -> Claim:
    """A mean over days is that of another sample of the same days: within its 95 % interval by the printed deviation."""
    measured = f"{TAURUS}/{policy}/{name} avg"
    width = 1.96 * CELLS[f"{TAURUS} {policy}", f"{name} std"] * math.sqrt(1.0 / 2152 + 1.0 / 1405)
    if name in ("waste", "switches"):
        measured += ", groups as in Table 2"
        how = "days weighted so that their groups are those of Table 2; ± is the 95 % interval of two samples' means"
    else:  # the jobs of a day are not independent of each other
        how = "over the jobs of the 1,405 days; ± as if each day were one job"
    reason = (
        "the threshold of a delay is not printed (0.5 here), nor whether jobs that are not late count"
        if name == "delay"
        else ""
    )
    return Claim(f"table-3/{TAURUS} {policy}/{name} avg", f"{TAURUS} {policy}: {name} avg", printed, _UNITS[name], "Table 3",
                 measured, points(width), how=how, reason=reason, group=MEANS)  # fmt: skip


def figures(values: Values) -> Sequence[Figure]:
    """Figs. 6 to 9 on the released days, and Table 3 by both accountings."""
    from analysis.reproduce.drawing import bars, lines

    names = [name for name in POLICIES if f"Taurus/{name}/waste avg" in values]
    if not names:
        return []
    daily = {name: values[f"Taurus/{name}/daily waste"] for name in names}
    curves = {name: (list(range(1, len(row) + 1)), _cumulated(row)) for name, row in daily.items()}
    gaps = [key.removeprefix("Taurus/T(0)/slowdown ") for key in values if key.startswith("Taurus/T(0)/slowdown ")]
    slow = {name: [values[f"Taurus/{name}/slowdown {gap}"] for gap in gaps] for name in names}
    short = {"most slowed-down tenth": [values[f"Taurus/{name}/run time of the slowest"] for name in names]}
    short["all jobs"] = [values[f"Taurus/{name}/run time"] for name in names]
    found = [
        lines("Fig. 6", "Cumulative waste over the released days of Taurus, counted by node.", curves, "day", "W·min"),
        bars("Fig. 7", "Mean log10 of slowdown by the time since the submission before.", gaps, slow, "log10 slowdown"),
        bars("Fig. 8", "Median run time of the most slowed-down jobs, and of all.", names, short, "min"),
        bars("Fig. 9", "Score (Eq. 3) of the policies, mean over days.", names,
             {"score": [values[f"Taurus/{name}/score avg"] for name in names]}, "W·min and core-minutes"),
    ]  # fmt: skip
    for column, what in (("waste", "by node"), ("core waste", "by core")):
        series = {cluster: [values.get(f"{cluster}/{name}/{column} avg") for name in names] for cluster in CLUSTERS}
        caption = "Mean daily waste. Taurus: 1,405 released days; the others are synthetic stand-ins."
        found.append(bars(f"Table 3, {what}", caption, names, series, "W·min"))
    return found


def _cumulated(row: Sequence[float]) -> list[float]:
    total, found = 0.0, []
    for value in row:
        total += value
        found.append(total)
    return found


PAPER = Paper(
    name=NAME,
    title="DeepShutdown: switching nodes off by deep reinforcement learning",
    citation="Casagrande et al. (2022), International Journal of Grid and Utility Computing.",
    parts=parts,
    claims=claims,
    figures=figures,
    quick="12 of the 1,405 released days, and of the 48 busy ones, stand-ins of 6 days, not 60, and agents on 4 days; those not "
    "given with --agents are hardly trained: 2 iterations, one seed.",
    shown=("Fig. 6", "Table 3, by node"),
    notes=(
        "Energies are in W·min, which the paper calls joules; 1 W·min is 60 J.",
        "Table 3 counts a node as one resource; prose and released data count each core. Both are measured.",
        "saf-easy schedules: EASY that backfills the smallest area first; OR* is off-reservation:0.5, clairvoyant.",
        "Stand-ins draw jobs a day, the share of sequential jobs and the load from Tables 1 and 2: synthetic, not the logs.",
    ),
    left_out=lambda setting: left_out(NAME, (ROW,), setting),
)
