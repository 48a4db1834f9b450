"""PCBE (Cruz 2023): Tables 5.1 to 5.3, Figs. 4.1 and 5.1 to 5.11, with the quirks of its program and without.

The inputs are the author's. With the three quirks every figure of the tables comes out to its last digit; each
conclusion that his text draws is then checked again on a machine without quirks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.reproduce.claims import HOLDS, PRINTED, Claim, Values, cells_of, points
from analysis.reproduce.drawing import bars, schedule
from analysis.reproduce.drawing import points as cloud
from analysis.reproduce.paper import ComputedPart, Measured, Paper, PaperFigure, ReproductionSetting
from cluster_sim import Platform, Simulation, Workload, make_scheduler

FOLDER = "cases/pcbe"
SCALE = "scale-table-5.3"
QUIRKS = ("unused-processors-draw-nothing", "textual-node-order", "low-power-means-high")
WITH, WITHOUT = "quirks", "no quirk"
SETTINGS = {WITH: QUIRKS, WITHOUT: ()}
GROUPS = {
    WITH: "as published (with the three quirks of the author's program)",
    WITHOUT: "the conclusions without the quirks (idle processors always draw power)",
}
METRICS = {"energy_j": "J", "makespan_s": "s", "edp_js": "J·s"}

HEURISTICS = {"FCFS": "list:first/first", "SJF": "list:shortest/first"}
LARGE = HEURISTICS | {
    "short to IPC": "list:shortest/high_gflops",
    "short to low power": "list:shortest/low_power",
    "PCBE energy": "pcbe:metric=energy,job=high,node=low,aging=60",
    "PCBE EDP": "pcbe:metric=edp,job=high,node=low,aging=60",
}
_POLICIES = {"S_l": ("low", "low"), "S_h": ("low", "high"), "L_l": ("high", "low"), "L_h": ("high", "high")}

TABLE_5_1 = """
row | S_l | S_h | L_l | L_h | FCFS | SJF
1 | 197.11 | 189.58 | 195.27 | 187.86 | 187.86 | 189.57
2 | 209.6 | 207.45 | 201.02 | 210.24 | 209.17 | 207.45
3 | 262.94 | 250.46 | 262.94 | 256.27 | 256.27 | 254.98
4 | 269.52 | 293.70 | 289.20 | 289.16 | 291.86 | 293.70
"""
TABLE_5_2 = """
row | S_l | S_h | L_l | L_h | FCFS | SJF
1 | 2214.88 | 1397.31 | 1543.890 | 1340.11 | 2233.21 | 2214.88
2 | 1399.27 | 1373.30 | 1247.09 | 1373.30 | 1326.15 | 1406.80
3 | 1960.70 | 1777.75 | 1945.74 | 1806.71 | 1945.74 | 1945.74
4 | 1188.52 | 1285.75 | 1494.31 | 1274.31 | 1494.31 | 1188.52
"""
TABLE_5_3 = """
metric | FCFS | SJF | short to IPC | short to low power | PCBE energy | PCBE EDP
energy_j | 1.61e9 | 1.69e9 | 1.70e9 | 1.68e9 | 1.5057e9 | 1.5064e9
makespan_s | 2.35e6 | 2.51e6 | 2.39e6 | 2.50e6 | 2.108e6 | 2.111e6
edp_js | 3.78e15 | 4.25e15 | 4.07e15 | 4.21e15 | 3.175e15 | 3.181e15
"""


def small_schedulers(table: str) -> dict[str, str]:
    """Return the six schedulers of Table 5.1 or 5.2 by the names of its columns."""
    metric = "energy" if table == "5.1" else "edp"
    pcbe = {name: f"pcbe:metric={metric},job={job},node={node},aging=60" for name, (job, node) in _POLICIES.items()}
    return pcbe | HEURISTICS


# ------------------------------------------------------------------------------------------------------ what is run


def _figures(folder: Path, start: str, schedulers: Mapping[str, str], part: int | None = None) -> Measured:
    """Run every scheduler on the input in ``folder``, or on a twentieth of it, with and without quirks."""
    platform, workload = Platform.read(folder / "platform.json"), Workload.read(folder / "workload.json")
    if part is not None:
        workload = workload.split(20)[part]
    found = Measured()
    for label, quirks in SETTINGS.items():
        for name, spec in schedulers.items():
            summary = Simulation(platform, workload, make_scheduler(spec), quirks=quirks).run(warn=False).summary()
            found.values |= {f"{start}/{name}/{label}/{metric}": float(summary[metric]) for metric in METRICS}
            found.runs += 1
    return found


def small_table(inputs: Path, table: str, row: int) -> Measured:
    """Measure a row of Table 5.1 or 5.2, and draw the schedules of Figs. 4.1, 5.4 and 5.6."""
    folder = inputs / FOLDER / f"table-{table}-row-{row}"
    found = _figures(folder, f"{table}/{row}", small_schedulers(table))
    drawn = {
        ("5.1", 1): (
            "Fig. 4.1",
            "FCFS",
            "An example of the diagrams: the paper does not say of which run, this is of test 1.",
        ),
        ("5.1", 2): (
            "Fig. 5.4",
            "L_l",
            "Energy, test 2: high jobs first, to the node of least energy (node 1 is the slow one).",
        ),
        ("5.2", 2): ("Fig. 5.6", "L_l", "EDP, test 2: node 0, the fast one, gets the heavy jobs."),
    }
    if (table, row) in drawn:
        name, column, caption = drawn[table, row]
        platform, workload = Platform.read(folder / "platform.json"), Workload.read(folder / "workload.json")
        scheduler = make_scheduler(small_schedulers(table)[column])
        result = Simulation(platform, workload, scheduler, quirks=QUIRKS).run(warn=False)
        found.figures.append(schedule(name, caption, result))
    return found


def scale(inputs: Path, scheduler: str) -> Measured:
    """Measure a column of Table 5.3."""
    return _figures(inputs / FOLDER / SCALE, "5.3", {scheduler: LARGE[scheduler]})


def segment(inputs: Path, number: int) -> Measured:
    """Measure a segment of the scale run: one twentieth of its jobs."""
    return _figures(inputs / FOLDER / SCALE, f"segment/{number}", LARGE, number)


def parts(setting: ReproductionSetting) -> Sequence[ComputedPart]:
    """Return the parts: Tables 5.1 and 5.2 by rows, Table 5.3 by columns, and the segments."""
    rows = [
        ComputedPart(
            f"table-{table}-row-{row}",
            small_table,
            {"table": table, "row": row},
            (f"{FOLDER}/table-{table}-row-{row}",),
            (f"{table}/{row}/",),
        )
        for table in ("5.1", "5.2")
        for row in (1, 2, 3, 4)
    ]
    columns = [
        ComputedPart(f"scale {name}", scale, {"scheduler": name}, (f"{FOLDER}/{SCALE}",), ("5.3/",)) for name in LARGE
    ]
    numbers = [
        ComputedPart(f"segment {i}", segment, {"number": i}, (f"{FOLDER}/{SCALE}",), (f"segment/{i}/",))
        for i in range(20)
    ]
    return [*columns, *rows, *numbers] if not setting.quick else [*rows, *numbers]


# -------------------------------------------------------------------------------------------------- what is claimed


def claims() -> Sequence[Claim]:
    """Return the claims: the cells of the tables, and the text's conclusions with and without quirks."""
    found = []
    for table, text, metric in (("5.1", TABLE_5_1, "energy_j"), ("5.2", TABLE_5_2, "edp_js")):
        for row, column, cell in cells_of(text):
            key, what = f"{table}/{row}/{column}", f"test {row}, {column}"
            found.append(_printed(key, what, cell, metric, f"{key}/{WITH}/{metric}"))
    for metric, column, cell in cells_of(TABLE_5_3):
        what = f"scale run, {column}: {metric.rpartition('_')[0]}"
        found.append(_printed(f"5.3/{column}/{metric}", what, cell, metric, f"5.3/{column}/{WITH}/{metric}"))
    for label in SETTINGS:
        found += [*_small_conclusions(label), *_scale_conclusions(label), *_segment_conclusions(label)]
    return found


def _printed(key: str, what: str, cell: str, metric: str, measure: str) -> Claim:
    """Return the claim of a table's cell."""
    source = f"Table {key.partition('/')[0]}"
    return Claim(key, what, cell, METRICS[metric], source, measure, PRINTED, group=GROUPS[WITH])


def _row(values: Values, table: str, row: int, label: str, metric: str) -> dict[str, float]:
    return {name: values[f"{table}/{row}/{name}/{label}/{metric}"] for name in small_schedulers(table)}


def _gain(row: Mapping[str, float], name: str) -> float:
    """Return by how many % a scheduler is below the best of the others."""
    return 100.0 * (1.0 - row[name] / min(value for other, value in row.items() if other != name))


def _best(row: Mapping[str, float], name: str) -> bool:
    """Return whether no scheduler is better. Rounding in the last place is no difference."""
    return row[name] <= min(row.values()) * (1 + 1e-9)


def _better(row: Mapping[str, float], name: str) -> int:
    """Return how many different values are better than a scheduler's: those that tie are one."""
    return len({f"{value:.9g}" for value in row.values() if value < row[name] * (1 - 1e-9)})


def _small_conclusions(label: str) -> list[Claim]:
    def energy(values: Values, row: int, metric: str = "energy_j") -> dict[str, float]:
        return _row(values, "5.1", row, label, metric)

    def edp(values: Values, row: int, metric: str = "edp_js") -> dict[str, float]:
        return _row(values, "5.2", row, label, metric)

    def same(values: Values) -> bool:
        return all(abs(energy(values, i)["L_h"] / energy(values, i)["FCFS"] - 1) < 5e-5 for i in (1, 3))

    designed = ("L_h", "L_l", "S_h", "S_l")
    told: list[tuple[str, str, str, str, Any, Any]] = [
        ("energy-designed", "each energy test is won by the policy it was made for", "yes", "§5.1", HOLDS,
         lambda v: all(_best({k: x for k, x in energy(v, i + 1).items() if k in designed}, name)
                       for i, name in enumerate(designed))),
        ("energy-L_h-FCFS", "L_h needs as much as FCFS in energy tests 1 and 3", "yes", "§5.1", HOLDS, same),
        ("energy-4-S_l", "S_l below the second best in energy test 4, %", "6", "§5.1", points(1.0),
         lambda v: _gain(energy(v, 4), "S_l")),
        ("energy-2-L_l", "L_l below the second best in energy test 2, %", "3", "§5.1", points(0.5),
         lambda v: _gain(energy(v, 2), "L_l")),
        ("energy-L_l-others", "energy tests in which L_l has the best time and EDP", "3", "§5.1, Fig. 5.3", points(0.0),
         lambda v: sum(_best(energy(v, i, "makespan_s"), "L_l") and _best(energy(v, i, "edp_js"), "L_l")
                       for i in (1, 2, 3, 4))),
        ("edp-4-S_l-SJF", "S_l is as good as SJF in EDP test 4", "yes", "§5.1", HOLDS,
         lambda v: abs(edp(v, 4)["S_l"] / edp(v, 4)["SJF"] - 1) < 1e-5),
        ("edp-4-S_l", "S_l below the next policy in EDP test 4 (SJF aside), %", "7", "§5.1", points(0.5),
         lambda v: _gain({k: x for k, x in edp(v, 4).items() if k != "SJF"}, "S_l")),
        ("edp-2-L_l", "L_l below the second best in EDP test 2, %", "6", "§5.1", points(0.5),
         lambda v: _gain(edp(v, 2), "L_l")),
        ("edp-1-spread", "EDP test 1 has the widest spread", "yes", "§5.1", HOLDS,
         lambda v: max((1, 2, 3, 4), key=lambda i: max(edp(v, i).values()) / min(edp(v, i).values())) == 1),
        ("fig-5.3", "energy test 2: L_l is best in energy, EDP and time", "yes", "§5.2, Fig. 5.3", HOLDS,
         lambda v: all(_best(energy(v, 2, metric), "L_l") for metric in METRICS)),
        ("fig-5.5-time", "EDP test 2: L_l's time below the next best, %", "5", "§5.2, Fig. 5.5", points(0.5),
         lambda v: _gain(edp(v, 2, "makespan_s"), "L_l")),
        ("fig-5.5-energy", "EDP test 2: L_l is second in energy", "yes", "§5.2, Fig. 5.5", HOLDS,
         lambda v: _better(edp(v, 2, "energy_j"), "L_l") == 1),
        ("fig-5.7", "energy test 4: S_l, best in energy, has the worst time and EDP", "yes", "§5.2, Fig. 5.7", HOLDS,
         lambda v: all(max(energy(v, 4, m).values()) <= energy(v, 4, m)["S_l"] * (1 + 1e-9)
                       for m in ("makespan_s", "edp_js"))),
    ]  # fmt: skip
    return [
        Claim(f"{key}/{label}", what, published, "", source, measure, tolerance, group=GROUPS[label])
        for key, what, published, source, tolerance, measure in told
    ]


def _scale_conclusions(label: str) -> list[Claim]:
    def gain(values: Values, metric: str, over: str) -> float:
        ours, theirs = (values[f"5.3/{name}/{label}/{metric}"] for name in ("PCBE energy", over))
        return float(100.0 * (1.0 - ours / theirs))

    told = [
        ("energy_j", "FCFS", "7", 1.0),
        ("energy_j", "SJF", "11", 0.5),
        ("makespan_s", "FCFS", "11", 1.0),
        ("makespan_s", "SJF", "16", 0.5),
        ("edp_js", "FCFS", "16", 0.5),
        ("edp_js", "SJF", "25", 0.5),
    ]
    why = "a processor that draws nothing until it is used rewards a scheduler that begins on few nodes"
    found = [
        Claim(
            f"scale/{metric}/{over}/{label}",
            f"scale run: PCBE's {metric.rpartition('_')[0]} below {over}'s",
            published,
            "%",
            "§5.3.1, Fig. 5.8",
            lambda v, metric=metric, over=over: gain(v, metric, over),  # type: ignore[misc]
            points(width),
            reason=why if label == WITHOUT and metric != "makespan_s" else "",
            group=GROUPS[label],
        )
        for metric, over, published, width in told
    ]
    found.append(
        Claim(
            f"scale/metrics/{label}",
            "scale run: the two metrics of PCBE differ by less than 1 % in energy, time and EDP",
            "yes",
            "",
            "§5.3.1",
            lambda v: all(
                abs(v[f"5.3/PCBE energy/{label}/{metric}"] / v[f"5.3/PCBE EDP/{label}/{metric}"] - 1) < 0.01
                for metric in METRICS
            ),
            HOLDS,
            group=GROUPS[label],
        )
    )
    return found


def _segment_conclusions(label: str) -> list[Claim]:
    def row(values: Values, number: int, metric: str) -> dict[str, float]:
        return {name: values[f"segment/{number}/{name}/{label}/{metric}"] for name in LARGE}

    def gain(values: Values, number: int, metric: str) -> float:
        """Return by how many % PCBE is below FCFS."""
        found = row(values, number, metric)
        return 100.0 * (1.0 - found["PCBE energy"] / found["FCFS"])

    def furthest(values: Values, metric: str) -> set[int]:
        """Return the three segments in which PCBE is furthest below the best of the heuristics."""

        def lead(number: int) -> float:
            found = row(values, number, metric)
            return found["PCBE energy"] / min(value for name, value in found.items() if "PCBE" not in name)

        return set(sorted(range(20), key=lead)[:3])

    def times_differ(values: Values) -> set[int]:
        times = {i: row(values, i, "makespan_s").values() for i in range(20)}
        return {i for i, of in times.items() if max(of) > 1.01 * min(of)}

    told: list[tuple[str, str, str, str, Any, Any]] = [
        ("energy-where", "PCBE's energy is furthest below the best heuristic's in segments 3, 11, 12", "yes", "§5.3.2, Fig. 5.9",
         HOLDS, lambda v: furthest(v, "energy_j") == {3, 11, 12}),
        ("energy-most", "most energy saved against FCFS in a segment, %", "17", "§5.3.2, Fig. 5.9", points(1.0),
         lambda v: max(gain(v, i, "energy_j") for i in range(20))),
        ("time-where", "all end at the same time (to 1 %) except in segments 11, 12, 13", "yes", "§5.3.2, Fig. 5.10", HOLDS,
         lambda v: times_differ(v) == {11, 12, 13}),
        ("time-most", "time saved against FCFS in those segments, mean, %", "9", "§5.3.2, Fig. 5.10", points(1.0),
         lambda v: sum(gain(v, i, "makespan_s") for i in (11, 12, 13)) / 3),
        ("edp-where", "PCBE's EDP is furthest below the best heuristic's in segments 3, 11, 12", "yes", "§5.3.2, Fig. 5.11",
         HOLDS, lambda v: furthest(v, "edp_js") == {3, 11, 12}),
        ("edp-most", "EDP below FCFS's in those segments, mean, %", "15", "§5.3.2, Fig. 5.11", points(1.0),
         lambda v: sum(gain(v, i, "edp_js") for i in (3, 11, 12)) / 3),
    ]  # fmt: skip
    return [
        Claim(
            f"segments/{key}/{label}",
            what,
            published,
            "",
            source,
            measure,
            tolerance,
            how="segments counted from 0",
            group=GROUPS[label],
        )
        for key, what, published, source, tolerance, measure in told
    ]


# ----------------------------------------------------------------------------------------------------- what is drawn


def figures(values: Values) -> Sequence[PaperFigure]:
    """Draw Figs. 5.1 to 5.3, 5.5, 5.7 to 5.11, as far as their values are there."""
    drawn = []
    tests = [1, 2, 3, 4]
    small = (("Fig. 5.1", "5.1", TABLE_5_1, "energy_j"), ("Fig. 5.2", "5.2", TABLE_5_2, "edp_js"))
    for name, table, text, metric in small:
        printed = {(row, column): float(cell) for row, column, cell in cells_of(text)}
        names = list(small_schedulers(table))
        x = [f"{column} {row}" for row in tests for column in names]
        series = {"published": [printed[str(row), column] for row in tests for column in names]}
        for label in SETTINGS:
            series[label] = [values.get(f"{table}/{row}/{c}/{label}/{metric}") for row in tests for c in names]  # type: ignore[misc]
        drawn.append(bars(name, "Six schedulers in four tests, published and reproduced.", x, series, METRICS[metric]))
    for name, table, row in (("Fig. 5.3", "5.1", 2), ("Fig. 5.5", "5.2", 2), ("Fig. 5.7", "5.1", 4)):
        names = list(small_schedulers(table))
        shares: dict[str, list[float | None]] = {}
        for metric in METRICS:
            reached = [values.get(f"{table}/{row}/{c}/{WITH}/{metric}") for c in names]
            best = min((value for value in reached if value is not None), default=0.0)
            shares[metric] = [None if value is None else 100.0 * (value / best - 1.0) for value in reached]
        drawn.append(bars(name, f"Table {table}, test {row}: above the best of the six.", names, shares, "%"))
    if "5.3/FCFS/quirks/energy_j" in values:
        for metric, unit in METRICS.items():
            printed = {(row, column): float(cell) for row, column, cell in cells_of(TABLE_5_3)}
            series = {"published": [printed[metric, name] for name in LARGE]}
            series |= {label: [values.get(f"5.3/{name}/{label}/{metric}") for name in LARGE] for label in SETTINGS}  # type: ignore[misc]
            drawn.append(
                bars(f"Fig. 5.8, {metric}", "The scale run: 891 jobs on 264 cores.", list(LARGE), series, unit)
            )
    for name, metric in (("Fig. 5.9", "energy_j"), ("Fig. 5.10", "makespan_s"), ("Fig. 5.11", "edp_js")):
        numbers = [i for i in range(20) if f"segment/{i}/FCFS/{WITH}/{metric}" in values]
        clouds = {label: [values[f"segment/{i}/{label}/{WITH}/{metric}"] for i in numbers] for label in LARGE}
        if numbers:
            drawn.append(cloud(name, "The scale run in 20 segments.", numbers, clouds, "segment", METRICS[metric]))
    return drawn


PAPER = Paper(
    name="pcbe",
    title="PCBE: a configurable scheduler by energy and EDP",
    citation="Cruz (2023), master's thesis, Universidad de Cantabria (in Spanish).",
    parts=parts,
    claims=claims,
    figures=figures,
    quick="the scale run of 891 jobs (Table 5.3, Fig. 5.8) is left out; its twenty segments are run.",
    shown=("Fig. 5.8, energy_j", "Fig. 5.11", "Fig. 5.4"),
    notes=(
        "The published figures need three quirks of the author's program: a processor draws nothing until it first runs a "
        "task, node order 'first' goes by the id as text, and 'low power' takes the node that can draw most.",
        "Without the first, PCBE's gain in energy is a third smaller (4.4 % over FCFS, not 6.4 %); that it wins stays true.",
        "Captions of the paper contradict each other on what 'pow' means; the column heads S_l, S_h, L_l, L_h are right.",
    ),
    left_out=lambda setting: {"5.3/": "the scale run is left out with --quick"} if setting.quick else {},
)
