"""Rectangles of the cores that were held in a run: which cores, in platform order, from when to when.

A rectangle is an interval of neighbouring cores that one job (or one node state) holds over one interval of time.
All tables are columnar; a run of a million allocation rows takes a second or two.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.figures.palette import ColourClasses, ColourStrategy, colour_strategy
from analysis.figures.speedups import job_speedups
from analysis.figures.time_axis import start_date_of
from analysis.gantt_chart.groups import GroupBy
from analysis.gantt_chart.rows import Folded, JobPieces, Rows, RowScale
from cluster_sim.errors import InputError
from cluster_sim.machine.core_ranges import Holds, by_unit
from cluster_sim.machine.course import Doing
from cluster_sim.platform.platform import Platform
from cluster_sim.records.core_holds import CoreHolds
from cluster_sim.records.result import Result
from cluster_sim.run.jobs.attempts import AttemptEnd
from cluster_sim.workload.workload import Workload

SHOWN_STATES = ("OFF", "SWITCHING_ON", "SWITCHING_OFF", "FAILED")
MOST_USE = 15_000
"""Number of rectangles that show the use of folded groups, about."""
_AGAIN = (AttemptEnd.REQUEUED, AttemptEnd.PREEMPTED, AttemptEnd.FAILED)


def job_rectangles(cores: CoreHolds, scale: RowScale) -> pd.DataFrame:
    """Return the rectangles of all jobs whose tasks used cores.

    Columns: ``owner`` (row of the job in ``result.jobs``), ``first_core``, ``last_core`` (platform order, both included),
    ``start``, ``end`` (s), ``low``, ``high`` (rows), ``attempt`` (which of the job's, from 1).
    """
    table = rectangles_of(cores.used, scale)
    attempt = table["owner"].to_numpy()
    return table.assign(owner=cores.job[attempt], attempt=cores.attempt[attempt])


def guest_rectangles(cores: CoreHolds, scale: RowScale) -> pd.DataFrame:
    """Return the rectangles of all guests that held cores; ``owner`` is the place in ``cores.guests``."""
    return rectangles_of(cores.of_guests(), scale)


def state_rectangles(node_states: pd.DataFrame, platform: Platform, scale: RowScale, until: float) -> pd.DataFrame:
    """Return the rectangles of states in which a node cannot work; ``owner`` is the index in ``SHOWN_STATES``."""
    owner = pd.Index(SHOWN_STATES).get_indexer(pd.Index(node_states["state"].astype(str)))
    shown, owner = node_states[owner >= 0], owner[owner >= 0]
    node = platform.node_indices(shown["node"]) if len(shown) else owner
    first, last = scale.node_first_core[node], scale.node_first_core[node + 1] - 1
    start, end = shown["start"].to_numpy(dtype=float), shown["end"].fillna(until).to_numpy(dtype=float)
    return rectangles_of(Holds(owner, first, last, start, end), scale)


def rectangles_of(holds: Holds, scale: RowScale) -> pd.DataFrame:
    """Return the rectangles of holds; those of one tenant and time on neighbouring cores are joined."""
    low = high = holds.start  # without any
    if len(holds.tenant):
        holds = holds.where(np.lexsort((holds.first, holds.end, holds.start, holds.tenant))).joined()
        if scale.blocks is not None:  # neighbours of different groups do not stand together
            holds, _ = by_unit(holds, scale.blocks)
        low, high = scale.extent(holds.first, holds.last)
    return pd.DataFrame(
        {
            "owner": holds.tenant,
            "first_core": holds.first,
            "last_core": holds.last,
            "start": holds.start,
            "end": holds.end,
            "low": low,
            "high": high,
        }
    )


def busy_fraction(rectangles: pd.DataFrame, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the share of each cell of an even grid that rectangles cover: shape ``(len(y) - 1, len(x) - 1)``.

    ``x`` (s) and ``y`` (rows) are the cells' edges. Exact, also for rectangles smaller than a cell: the corners of a
    rectangle are deposited as point masses, shared linearly between two cells on each axis; summing along both axes
    then gives the covered area of every cell.
    """
    step_x, step_y = x[1] - x[0], y[1] - y[0]
    columns, rows = len(x) - 1, len(y) - 1
    shape = (rows + 2, columns + 2)
    mass = np.zeros(shape[0] * shape[1])
    for x_edge, x_sign in (("start", 1.0), ("end", -1.0)):
        for y_edge, y_sign in (("low", 1.0), ("high", -1.0)):
            for column, x_share in _linear_shares((rectangles[x_edge].to_numpy() - x[0]) / step_x, columns):
                for row, y_share in _linear_shares((rectangles[y_edge].to_numpy() - y[0]) / step_y, rows):
                    weight = x_sign * y_sign * x_share * y_share
                    mass += np.bincount(row * shape[1] + column, weights=weight, minlength=len(mass))
    covered: np.ndarray = mass.reshape(shape).cumsum(axis=0).cumsum(axis=1)[:rows, :columns]
    return covered.clip(0.0, 1.0)


def _linear_shares(position: np.ndarray, cells: int) -> list[tuple[np.ndarray, np.ndarray]]:
    position = np.clip(position, 0.0, float(cells))
    cell = position.astype(np.int64)
    beyond = position - cell
    return [(cell, 1.0 - beyond), (cell + 1, beyond)]


def time_window(result: Result) -> tuple[float, float]:
    """Return first submission and last finish, s (evalys' convention), or the stop of a run with unfinished jobs."""
    jobs = result.jobs
    start = float(jobs["submit_time"].min()) if len(jobs) else 0.0
    started = jobs[jobs["start_time"].notna()]
    running = started["finish_time"].isna().any()
    ends = [result.power["time"].max() if running else np.nan, started["finish_time"].max()]
    end = float(np.nanmax([*ends, start]))
    return start, end if end > start else start + 1.0


@dataclass(frozen=True, slots=True)
class Canvas:
    """Size of the rows' panel in pixels and in data units."""

    width_px: float
    height_px: float
    start: float
    end: float
    rows: float

    px_per_s: float
    px_per_row: float

    @classmethod
    def of(cls, width_px: float, height_px: float, window: tuple[float, float], rows: float) -> Canvas:
        """Return the canvas of a panel that shows a ``window`` (s) and so many rows."""
        return cls(width_px, height_px, *window, rows, width_px / (window[1] - window[0]), height_px / rows)


@dataclass(frozen=True, slots=True)
class RunRectangles:
    """All rectangles of a run, for every window. Keep them: a million of them take seconds to make."""

    result: Result
    jobs: pd.DataFrame  #: With the column speedup, if a workload was given.
    used: Holds  #: Which cores jobs used, by their rows in jobs, in that order.
    scale: RowScale
    rectangles: pd.DataFrame
    states: pd.DataFrame
    until: float
    window: tuple[float, float]  #: Of the whole run, s: :func:`time_window`.
    start_date: datetime.datetime | None  #: At simulated second 0, if the workload says it.
    guests: pd.DataFrame | None = None  #: Their rectangles, if there were any; owner is the place in the names.
    guest_names: Sequence[str] = ()
    pieces: JobPieces | None = None  #: Of jobs that had cores more than once, if any had.

    @classmethod
    def of(
        cls,
        result: Result,
        rows: Rows = "auto",
        workload: Workload | None = None,
        group_by: GroupBy | None = None,
        folded: Folded = "auto",
    ) -> RunRectangles:
        """Return the rectangles of ``result``; arguments as in :func:`analysis.gantt`, ``workload`` for speedups."""
        if not hasattr(result, "core_holds"):
            raise InputError("gantt", "a result, such as Simulation.run() returns", result)
        jobs, states, power, cores = result.jobs, result.off_states, result.power, result.core_holds
        ends = [power["time"].max(), cores.used.end.max(initial=0.0), states["end"].max()]
        asked = np.nan_to_num(jobs["run_time"].to_numpy(dtype=float) * jobs["requested_cores"].to_numpy(dtype=float))
        if not np.allclose(cores.used_core_s, asked, rtol=1e-6, atol=1e-3):
            jobs = jobs.assign(core_s=cores.used_core_s)
        if workload is not None:
            jobs = jobs.assign(speedup=job_speedups(result, workload))
        until, used = float(np.nanmax([0.0, *ends])), cores.used_by_job
        scale, pieces = RowScale.of(result.platform, rows, group_by, folded), JobPieces.of(result)
        rectangles = job_rectangles(cores, scale)
        if pieces is not None:
            tries = result.attempts.groupby("job_id")["attempt"].max()
            if (tries > 1).any():
                jobs = jobs.assign(attempts=jobs["job_id"].map(tries).fillna(0).astype(int))
            rectangles["said"] = pieces.numbers(
                *(rectangles[name].to_numpy() for name in ("owner", "attempt", "start"))
            )
        return cls(
            result,
            jobs,
            used,
            scale,
            rectangles,
            state_rectangles(states, result.platform, scale, until),
            until,
            time_window(result),
            start_date_of(result, workload),
            guest_rectangles(cores, scale) if cores.guests else None,
            cores.guests,
            pieces,
        )


@dataclass(frozen=True, slots=True)
class RectanglesInView:
    """Jobs, rectangles and states in view; ``rectangles["owner"]`` is a row of ``jobs``, the jobs in view."""

    run: RunRectangles
    jobs: pd.DataFrame
    position: np.ndarray  #: Of those jobs in the run's table.
    rectangles: pd.DataFrame
    states: pd.DataFrame
    guests: pd.DataFrame | None
    outside: int  #: Jobs that ran, but not in the window.
    canvas: Canvas
    part: bool  #: Whether the window was chosen, so that nothing beyond it is of interest.

    @classmethod
    def of(
        cls, run: RunRectangles, window: tuple[float, float], width_px: float, height_px: float, part: bool = False
    ) -> RectanglesInView:
        """Return the part of ``run`` that overlaps ``window`` (s), on a panel of that size."""
        shown = _within(run.rectangles, window)
        position, owner = np.unique(shown["owner"].to_numpy(), return_inverse=True)
        return cls(
            run=run,
            jobs=run.jobs.iloc[position],
            position=position,
            rectangles=shown.assign(owner=owner),
            states=_within(run.states, window),
            guests=None if run.guests is None else _within(run.guests, window),
            outside=run.rectangles["owner"].nunique() - len(position),
            canvas=Canvas.of(width_px, height_px, window, run.scale.height),
            part=part,
        )

    def classes(self, colour_by: str | ColourStrategy) -> ColourClasses:
        """Return the colours of the jobs in view, by the whole workload: a job looks the same in every window."""
        classes = colour_strategy(colour_by)(self.run.jobs)
        return replace(classes, code=classes.code[self.position])

    def nodes(self, rectangles: pd.DataFrame) -> list[str]:
        """Return the node of each of ``rectangles``, or its first and last node."""
        names = self.run.result.platform.node_names()
        return self.run.scale.nodes(rectangles["first_core"].to_numpy(), rectangles["last_core"].to_numpy(), names)

    def unfolded(self) -> RectanglesInView:
        """Return the same view without the rectangles of jobs in folded groups."""
        table = self.rectangles
        if not self.run.scale.groups:
            return self
        return replace(self, rectangles=table[~self.run.scale.is_folded(table["first_core"].to_numpy())])

    def group_use(self, classes: ColourClasses) -> pd.DataFrame:
        """Return the use of the folded groups as rectangles: the share of a group's cores that each class of jobs held.

        They stand one on the other in the group's row, for each of some hundred equal parts of the window; ``owner`` is a
        job of the class.
        """
        scale, canvas, table = self.run.scale, self.canvas, self.rectangles
        node = np.searchsorted(scale.node_first_core, table["first_core"], side="right") - 1
        group = np.full(len(table), -1) if scale.group is None else scale.group[node]
        code, owner = classes.code[table["owner"].to_numpy()], table["owner"].to_numpy()
        folded = [place for place, each in enumerate(scale.groups) if each.folded]
        parts = int(np.clip(MOST_USE / max(1, len(folded) * len(np.unique(code))), 60, 600))
        x, found = np.linspace(canvas.start, canvas.end, parts + 1), []
        for place in folded:
            row, below = scale.groups[place], np.zeros(parts)
            high = row.high - row.low
            for each in np.unique(code[group == place]).tolist():
                own = (group == place) & (code == each)
                share = busy_fraction(table[own], x, np.array([row.low, row.high]))[0]
                shown = np.flatnonzero(share > 0)
                edges = {"low": row.high - (below + share)[shown] * high, "high": row.high - below[shown] * high}
                found.append(pd.DataFrame({"owner": owner[own][0], "start": x[shown], "end": x[shown + 1], **edges}))
                below += share
        return pd.concat(found, ignore_index=True) if found else table[["owner", "start", "end", "low", "high"]][:0]

    def all_together(self, classes: ColourClasses) -> pd.DataFrame:
        """Return the rectangles of jobs or of their use, and those of guests and nodes that cannot work: owner -1."""
        others = [table.assign(owner=-1) for table in (self.states, self.guests) if table is not None and len(table)]
        if self.run.scale.groups:
            return pd.concat([*others, self.unfolded().rectangles, self.group_use(classes)], ignore_index=True)
        return pd.concat([*others, self.rectangles], ignore_index=True) if others else self.rectangles

    def lost_work(self) -> pd.DataFrame:
        """Return rectangles over the work that attempts lost: since their last checkpoint, or their beginning."""
        pieces, result = self.run.pieces, self.run.result
        if pieces is None:
            return self.rectangles[:0]
        # The end of the last checkpoint of each attempt, s.
        stages = result.stages
        made = stages[stages["stage"] == Doing.CHECKPOINT]
        rows = pd.Index(result.jobs["job_id"]).get_indexer(pd.Index(made["job_id"])).tolist()
        checkpointed: dict[tuple[int, int], float] = {}
        saved = dict.fromkeys(rows, 0.0)
        for row, attempt, end, now in zip(rows, *(made[n].tolist() for n in ("attempt", "end", "saved")), strict=True):
            if now > saved[row]:
                checkpointed[row, attempt], saved[row] = end, now
        since = {
            key: checkpointed.get(key, -np.inf)
            for key, attempt in pieces.attempts.items()
            if attempt["lost_core_s"] and attempt["outcome"] in _AGAIN
        }
        shown = self.rectangles
        keys = zip(self.position[shown["owner"]].tolist(), shown["attempt"].tolist(), strict=True)
        lost = shown.assign(start=np.maximum(shown["start"], [since.get(key, np.inf) for key in keys]))
        return lost[lost["start"] < lost["end"]]

    def stages(self) -> pd.DataFrame | None:
        """Return rectangles of the times in which jobs do no work: ``stage`` says what, ``saved`` how much is kept."""
        stages, canvas = getattr(self.run.result, "stages", None), self.canvas
        if stages is None or not len(stages):
            return None
        seen = stages[(stages["end"] >= canvas.start) & (stages["start"] <= canvas.end)]
        rows = pd.Index(self.run.jobs["job_id"]).get_indexer(pd.Index(seen["job_id"]))
        wanted = seen.assign(row=rows, stage_start=seen["start"], stage_end=seen["end"]).drop(columns=["start", "end"])
        over = self.rectangles.assign(row=self.position[self.rectangles["owner"]])
        both = over.merge(wanted, on=["row", "attempt"])
        begin, end = both["stage_start"], both["stage_end"]
        overlaps = (begin < both["end"]) & (end > both["start"])
        touches = (begin == end) & ((end == both["end"]) | (begin == both["start"]))
        both = both[overlaps | touches]
        return both.assign(start=both["stage_start"], end=both["stage_end"])

    def promises(self) -> tuple[pd.DataFrame, pd.DataFrame] | None:
        """Return the last promised start of each job, and the rectangles of its nodes; None if none is in view.

        The first table has the columns of the log of decisions, ``end`` (s) and ``start_time``, when the job did start.
        In the second one ``owner`` is a row of the first. A promise that names no nodes covers the whole height.
        """
        decisions = getattr(self.run.result, "decisions", None)
        if decisions is None or not len(decisions):
            return None
        numbered = decisions.reset_index(drop=True)
        promised = numbered[numbered["decision"] == "reserve"].drop_duplicates("job_id", keep="last")
        jobs = self.run.jobs.set_index("job_id").reindex(promised["job_id"])
        start = promised["promised_time"].to_numpy(dtype=float)
        length = jobs["requested_time"].to_numpy(dtype=float)
        end = np.where(np.isfinite(length), start + length, np.maximum(self.run.until, start))
        promised = promised.assign(start=start, end=end, start_time=jobs["start_time"].to_numpy(dtype=float))
        promised = promised[(end >= self.canvas.start) & (start <= self.canvas.end)]
        if promised.empty:
            return None
        spans, scale = self.run.result.decision_spans, self.run.scale
        boxes = [
            (position, first, stop)
            for position, row in enumerate(promised.index)
            for first, stop, _ in spans[row] or [(0, len(scale.node_low), 0)]
        ]
        owner, first, stop = np.array(boxes, dtype=np.int64).T
        starts, ends = (promised[side].to_numpy()[owner] for side in ("start", "end"))
        first_core, last_core = scale.node_first_core[first], scale.node_first_core[stop] - 1
        return promised, rectangles_of(Holds(owner, first_core, last_core, starts, ends), scale)


def _within(rectangles: pd.DataFrame, window: tuple[float, float]) -> pd.DataFrame:
    """Return the rectangles that overlap or touch a window of time (s)."""
    return rectangles[(rectangles["end"] >= window[0]) & (rectangles["start"] <= window[1])]
