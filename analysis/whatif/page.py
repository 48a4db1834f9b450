"""The page of a what-if: how well the log is replayed, what the change makes of it, both schedules, and jobs explained."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from analysis.gantt_chart.gantt import gantt
from analysis.gantt_chart.runs_chart import gantt_runs
from analysis.pages.page import figure_html, render, write_whole
from analysis.tables.run_metrics import cells_html
from analysis.whatif.charts import LESS, MORE, MOST_ROWS, UNSURE, signed, use_by_day, verdict_colour, waits_of_classes
from analysis.whatif.effects import CLASSES, by_class, effect_of_class, most_moved
from analysis.whatif.replayed import CHANGED, CONF, RECORDED, UNCHANGED
from cluster_sim.amounts import NOTHING, amount, duration, number
from cluster_sim.records.cautions import Cautions
from cluster_sim.records.comparison import LEAST_TIME, Comparison, Effect, too_few
from cluster_sim.records.intervals import FEWEST_BLOCKS
from cluster_sim.records.result import Result
from cluster_sim.workload.workload import Workload

if TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup


_CLASS = {
    "partition": "partition",
    "account": "account",
    "size": "CPUs asked for",
    "limit": "time limit",
    "user": "user",
}
_EXPLAINED = 3
_VERDICTS = {LESS: "less", MORE: "more", UNSURE: "unsure"}


class Replayed(Protocol):
    """A study, as far as its page shows it."""

    @property
    def workload(self) -> Workload: ...
    @property
    def runs(self) -> dict[str, Result]: ...
    @property
    def jobs(self) -> pd.DataFrame: ...
    @property
    def changes(self) -> tuple[str, ...]: ...
    @property
    def folder(self) -> Path: ...
    @property
    def comparison(self) -> Comparison: ...
    @property
    def agreement(self) -> pd.DataFrame: ...
    @property
    def causes(self) -> pd.DataFrame: ...
    @property
    def overall(self) -> pd.DataFrame: ...
    @property
    def effects(self) -> pd.DataFrame: ...
    @property
    def cores(self) -> dict[str, int]: ...


def write_page(study: Replayed, path: str | Path) -> Path:
    """Write the page and return its path; the file appears whole or not at all."""
    count = iter(range(10_000))

    def drawn(figure: Any) -> Markup:
        return figure_html(figure, f"figure{next(count)}")

    jobs, runs, result = study.jobs, study.runs, study.runs[UNCHANGED]
    days, since = float(np.ptp(jobs["submit_time"])) / 86_400, study.workload.start_date
    lead = (
        f"{len(jobs):,} jobs of {jobs['user'].nunique():,} users, submitted in {number(days, 2)} days"
        f"{f' from {since:%d %B %Y} on' if since else ''}, on {result.platform.node_count:,} nodes with "
        f"{result.platform.core_count:,} CPUs."
    )
    causes = [
        [row["cause"], number(row["jobs"]), f"{row['share']:.0%}", signed(row["mean_s"])]
        for row in study.causes.to_dict("records")
    ]
    cause_head = ("a job …", "jobs", "of all difference", "mean shift")
    options: dict[str, Any] = {"colour_by": "wait_time", "workload": study.workload, "panels": ("busy", "queue")}
    has_change = CHANGED in runs
    difference = ""
    if has_change:
        marks = "By wait; ◂ ▸ where a job starts earlier or later than unchanged"
        schedule = gantt_runs(runs, title=marks, **options)
        before, after = ((study.folder / name / CONF).read_text().splitlines() for name in (UNCHANGED, CHANGED))
        lines = difflib.unified_diff(before, after, UNCHANGED, CHANGED, n=0, lineterm="")
        difference = "\n".join(line for line in lines if not line.startswith(("@@", "---", "+++")))
    else:
        schedule = gantt(result, **options)
    text = render(
        "whatif.html",
        heading=f"What if {'; '.join(study.changes)}?" if has_change else f"How well {study.workload.name} is replayed",
        sentences=study.comparison.sentences,
        lead=lead,
        tiles=_tiles(study),
        weeks=_weeks(study),
        use=drawn(use_by_day(jobs, study.cores, since)),
        agreement=cells_html(*_headed(agreement_rows(study))),
        causes=cells_html(cause_head, causes, "causes") if causes else None,
        replayed=[] if has_change else [_by_class(study, by, drawn) for by in CLASSES],
        overall=cells_html(*_headed(overall_rows(study))) if has_change else None,
        effects=[_by_class(study, by, drawn) for by in CLASSES] if has_change else [],
        schedule=drawn(schedule),
        explained=_explained(study) if has_change else [],
        difference=difference,
        settings={f"{name} run": f"{run.meta['scheduler']}, {run.meta['power_policy']}" for name, run in runs.items()},
        folder=str(study.folder),
        maker=f"cluster-sim {result.meta.get('version', '')}, {result.meta.get('command', 'analysis.what_if')}",
        cautions=Cautions.of_runs({name: run.cautions for name, run in runs.items()}).by_kind(),
    )
    return write_whole(path, text)


def _tiles(study: Replayed) -> list[dict[str, str]]:
    """Return the figures that matter most: of the change if there is one, of the replay otherwise."""
    if CHANGED not in study.runs:
        return [
            {"name": name, "value": simulated, "kind": "", "note": f"{recorded} recorded"}
            for name, recorded, simulated in agreement_rows(study)[2:]
        ]  # fmt: skip
    return [
        {
            "name": effect.label,
            "value": effect.text(effect.value),
            "note": f"{effect.change()}; {effect.text(effect.base)} unchanged",
            "kind": _VERDICTS[verdict_colour(effect)] if effect.metric != "utilisation" else "",
        }
        for effect in study.comparison.effects
    ]


def _weeks(study: Replayed) -> str:
    """Say how the intervals of changes came about, or why there are none."""
    weeks = int(study.jobs["week"].nunique())
    if weeks < FEWEST_BLOCKS:
        return f"There are {too_few(weeks, 'week')}: changes are those of this log."
    return (
        f"The 95 % intervals are over the {weeks} weeks of the log, drawn again and again: they say how far the result hangs on"
        " which weeks there were, not how well the simulation is like the machine. Of many rows one in twenty is off by chance."
    )


def _headed(rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    return rows[0], rows[1:]


def _text(value: float, unit: str) -> str:
    """Return an amount with its unit; times in whole seconds, as Slurm counts them."""
    return amount(float(np.rint(value)) if unit == "s" else value, unit)


def agreement_rows(study: Replayed) -> list[list[str]]:
    """Return the log and its replay beside each other, as texts under a header."""
    return [["", RECORDED, UNCHANGED]] + [
        [str(name), *(_text(row[run], str(row["unit"])) for run in (RECORDED, UNCHANGED))]
        for name, row in study.agreement.iterrows()
    ]


def _by_class(study: Replayed, by: str, drawn: Any) -> dict[str, Any]:
    """Return a figure of a class of jobs, and all its rows as a table to unfold; no figure for a single group."""
    names = (RECORDED, *study.runs)
    table = by_class(study.jobs, by, names)
    if len(table) < 2:
        return {"name": _CLASS[by], "figure": None}
    head = [_CLASS[by], "jobs", "share of CPU time", *(f"mean wait, {name}" for name in names)]
    head += [_change_heading(study)] if CHANGED in names else []
    rows = [
        [row["group"], number(row["jobs"]), f"{row['share']:.1%}", *(_text(row[f"{name}_s"], "s") for name in names)]
        + ([effect_of_class(row).change()] if CHANGED in names else [])
        for row in table.to_dict("records")
    ]
    measured = ["jobs", "share", *(f"{name}_s" for name in names), *(["change_s"] if CHANGED in names else [])]
    values = [[None, *row] for row in table[measured].astype(float).to_numpy().tolist()]
    left = f"{len(table) - MOST_ROWS:,} more are in the table." if len(table) > MOST_ROWS else ""
    told = cells_html(head, rows, "sortable", values)
    return {"name": _CLASS[by], "figure": drawn(waits_of_classes(table)), "table": told, "left": left}


def overall_rows(study: Replayed) -> list[list[str]]:
    """Return what the change makes of all jobs and of the energy, as texts under a header."""
    rows = [["", RECORDED, UNCHANGED, CHANGED, _change_heading(study)]]
    effects = {effect.label: effect for effect in study.comparison.effects}
    for name, row in study.overall.iterrows():
        unit = str(row["unit"])
        floor = LEAST_TIME if unit == "s" else 0.0
        without = Effect(str(name), str(name), unit, CHANGED, UNCHANGED, row[UNCHANGED], row[CHANGED], floor=floor)
        effect = effects.get(str(name), without)
        rows.append([str(name), *(_text(row[run], unit) for run in (RECORDED, UNCHANGED, CHANGED)), effect.change()])
    if "energy" in effects:
        for key, label in (("energy_j", "energy"), ("energy_waste_j", "energy of idle nodes and switching")):
            before, after = (float(study.runs[name].summary()[key]) for name in (UNCHANGED, CHANGED))
            share = Effect(key, label, "J", CHANGED, UNCHANGED, before, after).in_percent()
            rows.append([label, NOTHING, amount(before, "J"), amount(after, "J"), share])
    return rows


def _change_heading(study: Replayed) -> str:
    return "change (95 % interval)" if study.jobs["week"].nunique() >= FEWEST_BLOCKS else "change"


def _explained(study: Replayed) -> list[dict[str, Any]]:
    """Return the jobs that the change moves most, and what both runs say of them."""
    table = most_moved(study.jobs, _EXPLAINED)
    found = []
    for job, shift in zip(table["job_id"].tolist(), table["shift_s"].tolist(), strict=True):
        told = {name: run.explain(job) for name, run in study.runs.items()}
        found.append(
            {"job": job, "shift": f"waits {duration(abs(shift))} {'less' if shift < 0 else 'more'}", "told": told}
        )
    return found
