"""Hovers of the Gantt chart: the texts about the job under the mouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from analysis.figures.time_axis import TimeAxis
from analysis.tables.wording import plotly_text, shortened
from cluster_sim.amounts import NOTHING, energies, numbers
from cluster_sim.machine.core_ranges import Holds, by_unit, units_of
from cluster_sim.platform.platform import Platform
from cluster_sim.records.core_holds import named_pieces
from cluster_sim.records.result import Result

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
    axis = axis or TimeAxis()
    table = _Table()
    lines = [f"<b>job {table.placed(plotly_text(jobs['job_id']))}</b>"]
    if "state" in jobs:
        state = jobs["state"].astype(str)
        if "reason" in jobs:
            reason = jobs["reason"].fillna("").astype(str)
            state = state.where(reason == "", state + " (" + reason.map(shortened) + ")")
        lines[0] += " · " + table.said(plotly_text(state))
    named = []
    for name in _LOOKED_UP:
        if name in jobs and (jobs[name].fillna("") != "").any():
            texts = [shortened(text) if text else "not given" for text in jobs[name].fillna("").astype(str)]
            named.append(f"{name} {table.placed(plotly_text(texts), name)}")
    lines.append(" · ".join(named))
    for line in _LINES:
        shown = [quantity for quantity in line if quantity.column in jobs]
        lines.append(" · ".join(f"{quantity.label} {_quantity(jobs, quantity, axis, table)}" for quantity in shown))
    lines.append("on " + table.said(plotly_text(places)))
    if why is not None:
        lines.append("why " + table.placed(plotly_text(why)))
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


def _quantity(jobs: pd.DataFrame, quantity: _Quantity, axis: TimeAxis, table: _Table) -> str:
    values = jobs[quantity.column].to_numpy(dtype=float)
    if quantity.kind == "number":
        if np.isfinite(values).all():
            return table.placed(rounded(values, quantity.digits), form=":,")
        return table.said(numbers(values, quantity.digits))
    if quantity.kind == "energy":
        texts = energies(values)
    else:
        texts = axis.texts(values) if quantity.kind == "time" else axis.durations(values)
    if quantity.column == "requested_time":  # infinite: the job has no time limit
        texts = ["nothing" if value == np.inf else text for value, text in zip(values.tolist(), texts, strict=True)]
    return table.said(texts, quantity.column if quantity.kind != "energy" else "")


def rounded(values: np.ndarray, digits: int) -> list[int | float]:
    """Return finite numbers as :func:`cluster_sim.amounts.numbers` writes them, whole ones without a point."""
    size = np.abs(values)
    magnitude = np.floor(np.log10(np.where(size >= 1e-4, size, 1.0))).astype(int)
    decimals = np.clip(digits - 1 - magnitude, 0, None).tolist()
    short = (round(value, places) for value, places in zip(values.tolist(), decimals, strict=True))
    return [int(value) if value == int(value) else value for value in short]


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
        found.append(shortened(text, REASON_LENGTH))
    return found
