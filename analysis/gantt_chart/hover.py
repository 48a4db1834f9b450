"""Hovers of the Gantt chart: the texts about the job under the mouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import pandas as pd

from analysis.figures.time_axis import TimeAxis
from analysis.gantt_chart.rectangles import RectanglesInView, RunRectangles
from analysis.tables.wording import plotly_text, shortened
from cluster_sim.amounts import NOTHING, duration, energies, numbers
from cluster_sim.errors import counted
from cluster_sim.machine.core_ranges import Holds, by_unit, units_of
from cluster_sim.platform.platform import Platform
from cluster_sim.records.core_holds import named_pieces
from cluster_sim.records.reasons.spells import RESIZED, SUSPENDED, Spell
from cluster_sim.records.result import Result
from cluster_sim.run.jobs.attempts import AttemptEnd

SHOWN_PIECES = 3
REASON_LENGTH = 120


@dataclass(frozen=True, slots=True)
class Hover:
    """Plotly hover template and, per job, the values that it refers to.

    ``data`` has shape (jobs, values); texts are escaped, numbers are rounded to what is shown. Column 0 is always the
    job's id; ``columns`` gives the columns of other values, such as "user". A value that all jobs share stands once in
    the template and not in every row, which keeps pages of many jobs small.
    """

    template: str
    data: np.ndarray
    columns: dict[str, int]
    pieces: np.ndarray | None = None  #: Texts about pieces of jobs, by the number in the rectangles' column ``said``.
    waited: Sequence[str] | None = None  #: For pages: why each job waited last; empty where it did not.

    def of(self, rectangles: pd.DataFrame) -> tuple[np.ndarray, str]:
        """Return the values for each of ``rectangles``, and the template, with the pieces of jobs if there are any."""
        data = self.data[rectangles["owner"].to_numpy()]
        if self.pieces is None:
            return data, self.template
        body, end = self.template.removesuffix("<extra></extra>"), "<extra></extra>"
        return np.column_stack((data, self.pieces[rectangles["said"]])), f"{body}%{{customdata[{data.shape[1]}]}}{end}"


@dataclass(frozen=True, slots=True)
class _Quantity:
    label: str
    column: str
    digits: int = 0  #: Of a number.
    kind: str = "number"  #: Or "energy", or "time" or "duration", which the chart's time axis writes.


# Each tuple is a line of the hover. Missing columns are left out, so tables of other programs can be shown too.
_LINES: tuple[tuple[_Quantity, ...], ...] = (
    (
        _Quantity("submitted", "submit_time", kind="time"),
        _Quantity("started", "start_time", kind="time"),
        _Quantity("finished", "finish_time", kind="time"),
    ),
    (
        _Quantity("waited", "wait_time", kind="duration"),
        _Quantity("ran", "run_time", kind="duration"),
        _Quantity("requested", "requested_time", kind="duration"),
    ),
    (
        _Quantity("cores", "requested_cores", 6),
        _Quantity("slowdown", "slowdown", 3),
        _Quantity("energy", "energy_j", kind="energy"),
        _Quantity("speedup", "speedup", 3),
    ),
)
# These columns are kept even if all jobs share the value: the page's filters look for them.
_LOOKED_UP = ("user", "profile")


def hover_of(view: RectanglesInView, axis: TimeAxis, remarks: Sequence[str] | None = None) -> Hover:
    """Return the hovers of the jobs in view; each ends with its remark of ``remarks`` (one per job)."""
    run, used = view.run, view.run.used
    if run.pieces is not None:
        # Each set of cores of a job is listed once, where it comes first.
        cores = np.column_stack((used.tenant, used.first, used.last))
        first: np.ndarray = np.unique(cores, axis=0, return_index=True)[1]
        used = used.where(np.sort(first))
    if len(view.jobs) < len(run.jobs):
        used = used.where(np.isin(used.tenant, view.position))
        used = used.of(np.searchsorted(view.position, used.tenant))
    places = place_texts(used, run.result.platform, len(view.jobs))
    waited = last_reasons(run.result, view.jobs["job_id"])
    hover = job_hover(view.jobs, places, reasons(run.result, view.jobs["job_id"], waited), axis, remarks)
    return replace(hover, waited=waited, pieces=piece_texts(run, axis))


def job_hover(
    jobs: pd.DataFrame,
    places: Sequence[str],
    why: Sequence[str] | None = None,
    axis: TimeAxis | None = None,
    remarks: Sequence[str] | None = None,
) -> Hover:
    """Return the hover of every row of ``jobs``: id, state, user, profile, times, cores, energy, and its ``places``.

    ``why``, as :func:`reasons` tells it (one per job), is a line of its own; ``axis`` converts times; ``remarks`` (one per
    job, trusted text) are a last line.
    """
    table = _Table()
    named = [name for name in _LOOKED_UP if name in jobs and (jobs[name].fillna("") != "").any()]
    foreign: dict[str, Sequence[str]] = {"job": jobs["job_id"].tolist(), "places": places}
    if "state" in jobs:
        foreign["state"] = jobs["state"].astype(str).tolist()
        if "reason" in jobs:
            pairs = zip(foreign["state"], jobs["reason"].fillna("").astype(str), strict=True)
            foreign["state"] = [f"{state} ({shortened(reason)})" if reason else state for state, reason in pairs]
    for name in named:
        foreign[name] = [shortened(text) if text else "not given" for text in jobs[name].fillna("").astype(str)]
    texts = plotly_text([text for column in foreign.values() for text in column])
    because = None if why is None else plotly_text(why, REASON_LENGTH)
    safe = dict(zip(foreign, _parts(texts, len(foreign)), strict=True))
    lines = [f"<b>job {table.placed(safe['job'])}</b>"]
    if "state" in jobs:
        lines[0] += " · " + table.said(safe["state"])
    lines.append(" · ".join([f"{name} {table.placed(safe[name], name)}" for name in named]))
    lines += _told(jobs, axis or TimeAxis(), table)
    lines.append("on " + table.said(safe["places"]))
    if because is not None:
        lines.append("why " + table.placed(because))
    if remarks is not None:
        lines.append(table.said(remarks))
    return Hover("<br>".join(filter(None, lines)) + "<extra></extra>", table.data(), table.names)


class _Table:
    """Columns that a template refers to, gathered as it is written."""

    def __init__(self) -> None:
        self.columns: list[Sequence[object]] = []
        self.names: dict[str, int] = {"job": 0}

    def placed(self, values: Sequence[object], name: str = "", form: str = "") -> str:
        """Add a column and return the reference to its value in the template."""
        if name:
            self.names[name] = len(self.columns)
        self.columns.append(values)
        return f"%{{customdata[{len(self.columns) - 1}]{form}}}"

    def said(self, texts: Sequence[str], name: str = "") -> str:
        """Add a column of texts and return its reference, or return the text that all jobs share."""
        shared = len(texts) > 1 and len(set(texts)) == 1 and "%{" not in texts[0]
        return texts[0] if shared else self.placed(texts, name)

    def data(self) -> np.ndarray:
        """Return the columns as one array of shape (jobs, columns)."""
        data = np.empty((len(self.columns[0]), len(self.columns)), dtype=object)
        for position, column in enumerate(self.columns):
            data[:, position] = column
        return data


def _told(jobs: pd.DataFrame, axis: TimeAxis, table: _Table) -> list[str]:
    """Return the lines about quantities; all amounts of a kind become texts at once."""
    known = [[quantity for quantity in line if quantity.column in jobs] for line in _LINES]
    texts: dict[str, Sequence[Any]] = {}
    columns = {
        kind: [quantity.column for line in known for quantity in line if quantity.kind == kind]
        for kind in ("time", "duration", "energy")
    }
    time, length, joules = (
        np.concatenate([np.zeros(0), *(jobs[column].to_numpy(dtype=float) for column in columns[kind])])
        for kind in columns
    )
    words = axis.texts(time), axis.durations(length), energies(joules)
    for named, worded in zip(columns.values(), words, strict=True):
        texts |= zip(named, _parts(worded, len(named)), strict=True)
    if "requested_time" in jobs:  # infinite: the job has no time limit
        limits = zip(jobs["requested_time"].tolist(), texts["requested_time"], strict=True)
        texts["requested_time"] = ["nothing" if value == np.inf else text for value, text in limits]
    lines = []
    for line in known:
        parts = []
        for quantity in line:
            column, form = quantity.column, ""
            if quantity.kind == "number":
                values = jobs[column].to_numpy(dtype=float)
                is_plain = bool(np.isfinite(values).all())
                texts[column] = rounded(values, quantity.digits) if is_plain else numbers(values, quantity.digits)
                form = ":," * is_plain
            name = column if quantity.kind in ("time", "duration") else ""
            said = table.placed(texts[column], form=form) if form else table.said(texts[column], name)
            parts.append(f"{quantity.label} {said}")
        lines.append(" · ".join(parts))
    return lines


def _parts(texts: Sequence[Any], count: int) -> list[Sequence[Any]]:
    """Return ``texts`` in so many parts of equal length."""
    length = len(texts) // count
    return [texts[part * length : (part + 1) * length] for part in range(count)]


def rounded(values: np.ndarray, digits: int) -> list[int | float]:
    """Return finite numbers as :func:`cluster_sim.amounts.numbers` writes them, whole ones without a point."""
    size = np.abs(values)
    magnitude = np.floor(np.log10(np.where(size >= 1e-4, size, 1.0))).astype(int)
    decimals = np.clip(digits - 1 - magnitude, 0, None).tolist()
    return [int(value) if value == int(value) else value for value in map(round, values.tolist(), decimals)]


def place_texts(used: Holds, platform: Platform, jobs: int, pieces: int = SHOWN_PIECES) -> list[str]:
    """Return where each job ran, ``cluster0.node0.processor0:0-3; …``: at most ``pieces`` places, and how many more.

    ``used`` are the cores of jobs 0 … ``jobs`` - 1, in that order.
    """
    bounds, units = platform.first_core, units_of(used, platform.first_core)[1]
    count = np.bincount(used.tenant, units, jobs).astype(np.int64)
    before = np.cumsum(units) - units - (np.cumsum(count) - count)[used.tenant]
    shown, _ = by_unit(used, bounds, np.maximum(pieces - before, 0))
    texts = named_pieces(shown, platform)
    stops = np.cumsum(np.minimum(count, pieces)).tolist()
    found = ["; ".join(texts[begin:stop]) or "nothing" for begin, stop in pairwise([0, *stops])]
    for job in np.flatnonzero(count > pieces).tolist():
        found[job] += f"; and {count[job] - pieces} more"
    return found


def last_reasons(result: Result, job_ids: pd.Series) -> list[str] | None:
    """Return why each job waited last, before it got its cores; None if none waited."""
    waits = getattr(result, "waits", None)  # which tables that only look like a result do not have
    waited: list[str] = waits.last(job_ids.tolist()) if waits is not None else []
    return waited if any(waited) else None


def reasons(result: Result, job_ids: pd.Series, waited: Sequence[str] | None) -> list[str] | None:
    """Return why each job started when it did: its start's reason, else why it ``waited`` last; None without waits."""
    if waited is None:
        return None
    log = result.decisions
    starts = log[(log["decision"] == "start") & (log["because"] != "")]
    said = dict(zip(starts["job_id"].tolist(), starts["because"].tolist(), strict=True))
    found = []
    for job, because in zip(job_ids.tolist(), waited, strict=True):
        text = said.get(job) or (f"waited: {because}" if because else NOTHING)
        found.append(text)
    return found


def piece_texts(run: RunRectangles, axis: TimeAxis) -> np.ndarray | None:
    """Return the lines about each piece of a job, each text after a line break, the first text empty; None without pieces."""
    pieces = run.pieces
    if pieces is None:
        return None
    texts, spells = [""], pieces.spells
    times = axis.texts(np.array([(spell.start, spell.end) for spell in spells]).ravel())
    nodes = _piece_nodes(run, len(spells))
    for row, own in groupby(range(len(spells)), key=lambda place: spells[place].row):
        places = list(own)
        tries = max(spells[place].attempt for place in places)
        for i, place in enumerate(places, start=1):
            spell, goes_on = spells[place], i < len(places)
            lines = [_attempt(run.result, pieces.attempts[row, spell.attempt], spell, tries)] if tries > 1 else []
            if len(places) > tries or tries == 1:
                cores, begin, end = counted(spell.cores, "core"), times[2 * place], times[2 * place + 1]
                lines.append(f"piece {i} of {len(places)}: {cores} from {begin} to {end}")
                if spell.then == SUSPENDED:
                    lines[-1] += f", then suspended{_taker(run.result, spell)}"
                elif spell.then == RESIZED and goes_on:
                    lines[-1] += f", then {counted(spells[place + 1].cores, 'core')}"
            if goes_on and spell.then != RESIZED:
                lines.append(f"goes on at {times[2 * place + 2]} on {nodes[place + 1]}")
            texts.append("".join(f"<br>{line}" for line in plotly_text(lines)))
    return np.array(texts, dtype=object)


def _piece_nodes(run: RunRectangles, count: int) -> list[str]:
    """Return the first node of each piece of a job, and how many more there are."""
    table, names = run.rectangles, run.result.platform.node_names()
    nodes: list[dict[str, None]] = [{} for _ in range(count + 1)]
    texts = run.scale.nodes(table["first_core"].to_numpy(), table["last_core"].to_numpy(), names)
    for said, text in zip(table["said"].tolist(), texts, strict=True):
        nodes[said][text] = None
    return [f"{next(iter(own), 'other nodes')}{f' and {len(own) - 1} more' * (len(own) > 1)}" for own in nodes[1:]]


def _attempt(result: Result, attempt: Mapping[Any, Any], spell: Spell, tries: int) -> str:
    reason = f" ({shortened(attempt['reason'])})" if attempt["reason"] not in ("", attempt["outcome"]) else ""
    lost = f", {duration(attempt['lost_core_s'])} of core time lost" if attempt["lost_core_s"] else ""
    taker = _taker(result, spell) if attempt["outcome"] == AttemptEnd.PREEMPTED else ""
    return f"attempt {spell.attempt} of {tries}: {attempt['outcome']}{taker}{reason}{lost}"


def _taker(result: Result, spell: Spell) -> str:
    """Return `` for job b`` if the log says which job took the spell's cores, else nothing."""
    behind, _ = result.waits.preempted(spell.row, spell.start, spell.end)
    return f" for job {behind}" if behind else ""
