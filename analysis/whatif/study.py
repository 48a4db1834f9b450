"""A study of a what-if, and its page: how well the log is replayed, what the change makes of it, and jobs explained."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from analysis.gantt_chart.gantt import gantt
from analysis.gantt_chart.runs_chart import gantt_runs
from analysis.pages.page import figure_html, render, write_whole
from analysis.tables.run_metrics import cells_html
from analysis.tables.tiles import Tile, direction
from analysis.whatif.charts import MOST_ROWS, signed, use_by_day, waits_of_classes
from analysis.whatif.effects import CLASSES, by_class, effect_of_class, effects_of, most_moved, overall
from analysis.whatif.replayed import CHANGED, CONF, RECORDED, UNCHANGED, agreement, causes, near_starts
from cluster_sim.amounts import NOTHING, amount, duration, durations, number
from cluster_sim.errors import InputError
from cluster_sim.files.atomic import atomic_path
from cluster_sim.records.cautions import Cautions
from cluster_sim.records.comparison import LEAST_TIME, Comparison, Difference, Effect, too_few
from cluster_sim.records.intervals import FEWEST_BLOCKS
from cluster_sim.records.result import Result
from cluster_sim.workload.workload import Workload

PAGE = "whatif.html"
_CLASS = {
    "partition": "partition",
    "account": "account",
    "size": "CPUs asked for",
    "limit": "time limit",
    "user": "user",
}
_EXPLAINED = 3


@dataclass(frozen=True)
class Study:
    """A log and its ``runs``: the replay, ``unchanged``, and, if there is a change, ``changed``.

    ``jobs`` is the table of :func:`analysis.whatif.replayed.jobs_of`. ``agreement`` says how well the replay agrees
    with the log, ``causes`` why not better. ``effects`` is what the change makes of the mean waits of all classes of
    jobs, ``overall`` of all jobs. ``differences`` is what differs between the two configurations. ``remarks`` are what
    a reader has to know before believing any of it. ``comparison`` has all of this in the sentences that every output
    prints.
    """

    workload: Workload
    runs: dict[str, Result]
    jobs: pd.DataFrame
    changes: tuple[str, ...]
    folder: Path
    remarks: list[str] = field(default_factory=list)
    differences: tuple[Difference, ...] = ()

    def replay_off(self, effect: Effect) -> str:
        """Return by how much the replay is off, in words, where that is more than an effect; else nothing."""
        if effect.label not in self.overall.index or effect.value == effect.base:
            return ""
        error = float(self.overall[UNCHANGED][effect.label] - self.overall[RECORDED][effect.label])
        if not abs(effect.difference) < abs(error):
            return ""
        return Effect(effect.metric, effect.label, effect.unit, "", "", 0.0, error, floor=effect.floor).change()

    @cached_property
    def comparison(self) -> Comparison:
        """Compare the runs: what differs, how well the log is replayed, what the change makes, and the cautions."""
        shares = ", ".join(f"{100 * share:.0f} % within {label}" for label, share in self.near_starts.items())
        recorded, simulated = (float(self.agreement[name]["mean wait"]) for name in (RECORDED, UNCHANGED))
        change = f" ({100 * (simulated - recorded) / recorded:+z.0f} %)".replace("-", "−") if recorded else ""
        recorded_text, simulated_text = durations(np.rint([recorded, simulated]))
        replay = (
            f"Replay without a change: jobs start near their recorded start, {shares}; "
            f"mean wait {simulated_text}, in the log {recorded_text}{change}."
        )
        if CHANGED not in self.runs:
            return Comparison((UNCHANGED,), soundness=(replay,), cautions=tuple(self.remarks))
        cautions = list(self.remarks)
        small = [f"{each.label} (replay off by {off})" for each in self._effects if (off := self.replay_off(each))]
        if small:
            text = "Smaller than what the replay is off by, so an effect on the machine is not shown"
            cautions.insert(0, f"{text}: {'; '.join(small)}.")
        effects = tuple(self._effects)
        return Comparison((UNCHANGED, CHANGED), self.differences, (replay,), effects, cautions=tuple(cautions))

    def __str__(self) -> str:
        return str(self.comparison)

    def _repr_html_(self) -> str:
        return self.comparison._repr_html_()

    @cached_property
    def _effects(self) -> list[Effect]:
        self._needs_change()
        return effects_of(self.jobs, self.runs)

    @cached_property
    def agreement(self) -> pd.DataFrame:
        """Return :func:`analysis.whatif.replayed.agreement`."""
        return agreement(self.jobs, self.cores[UNCHANGED])

    @cached_property
    def near_starts(self) -> dict[str, float]:
        """Return :func:`analysis.whatif.replayed.near_starts`."""
        return near_starts(self.jobs)

    @cached_property
    def causes(self) -> pd.DataFrame:
        """Return :func:`analysis.whatif.replayed.causes`."""
        return causes(self.jobs, self.cores[UNCHANGED])

    @cached_property
    def overall(self) -> pd.DataFrame:
        """Return :func:`analysis.whatif.effects.overall`. Raises InputError if there is no change."""
        self._needs_change()
        return overall(self.jobs, self._effects, self.cores[RECORDED])

    @cached_property
    def effects(self) -> pd.DataFrame:
        """Return :func:`analysis.whatif.effects.by_class` of all jobs, then of each class.

        Raises InputError without a change.
        """
        self._needs_change()
        return pd.concat([by_class(self.jobs, by) for by in ("", *CLASSES)], ignore_index=True)

    @cached_property
    def cores(self) -> dict[str, int]:
        """Return the cores of each run's machine, and of the log's, which is that of the configuration."""
        own = {name: result.platform.core_count for name, result in self.runs.items()}
        return {RECORDED: own[UNCHANGED], **own}

    def _needs_change(self) -> None:
        if CHANGED not in self.runs:
            raise InputError("what_if", "a change, a scheduler, nodes or a power policy", "none")

    def save(self) -> Path:
        """Write both runs, replay.csv (jobs), effects.csv and the page into the folder, and return the page's path."""
        (self.folder / PAGE).unlink(missing_ok=True)
        for name, result in self.runs.items():
            result.save(self.folder / name)
        tables = {"replay.csv": self.jobs} | ({"effects.csv": self.effects} if CHANGED in self.runs else {})
        for name, table in tables.items():
            with atomic_path(self.folder / name) as aside:
                table.to_csv(aside, index=False, lineterminator="\n")
        return write_page(self, self.folder / PAGE)


def write_page(study: Study, path: str | Path) -> Path:
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


def _tiles(study: Study) -> list[Tile]:
    """Return the figures that matter most: of the change if there is one, of the replay otherwise."""
    if CHANGED not in study.runs:
        return [
            Tile(name, simulated, f"{recorded} recorded") for name, recorded, simulated in agreement_rows(study)[2:]
        ]
    return [
        Tile(
            effect.label,
            effect.text(effect.value),
            f"{effect.change()}; {effect.text(effect.base)} unchanged"
            + ("; less than the replay is off by" if study.replay_off(effect) else ""),
            "unsure" if study.replay_off(effect) else direction(effect),
        )
        for effect in study.comparison.effects
    ]


def _weeks(study: Study) -> str:
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


def agreement_rows(study: Study) -> list[list[str]]:
    """Return the log and its replay beside each other, as texts under a header."""
    return [["", RECORDED, UNCHANGED]] + [
        [str(name), *(_text(row[run], str(row["unit"])) for run in (RECORDED, UNCHANGED))]
        for name, row in study.agreement.iterrows()
    ]


def _by_class(study: Study, by: str, drawn: Any) -> dict[str, Any]:
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


def overall_rows(study: Study) -> list[list[str]]:
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


def _change_heading(study: Study) -> str:
    return "change (95 % interval)" if study.jobs["week"].nunique() >= FEWEST_BLOCKS else "change"


def _explained(study: Study) -> list[dict[str, Any]]:
    """Return the jobs that the change moves most, and what both runs say of them."""
    table = most_moved(study.jobs, _EXPLAINED)
    found = []
    for job, shift in zip(table["job_id"].tolist(), table["shift_s"].tolist(), strict=True):
        told = {name: run.explain(job) for name, run in study.runs.items()}
        found.append(
            {"job": job, "shift": f"waits {duration(abs(shift))} {'less' if shift < 0 else 'more'}", "told": told}
        )
    return found
