"""The data of a Gantt chart, computed once: rows, rectangles and the window of time."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.figures.palette import ColourClasses, ColourStrategy
from analysis.figures.speedups import job_speedups
from analysis.figures.time_axis import TimeAxis, start_date_of
from analysis.gantt_chart.hover import Hover, job_hover, last_reasons, place_texts, reasons
from analysis.gantt_chart.rectangles import (
    SHOWN_STATES,
    guest_rectangles,
    job_rectangles,
    state_rectangles,
)
from analysis.gantt_chart.rows import JobPieces, Rows, RowScale
from analysis.gantt_chart.traces import (
    Canvas,
    PatternedLook,
    job_bars,
    job_labels,
    job_polygons,
    job_raster,
    patterned_traces,
)
from cluster_sim.errors import InputError
from cluster_sim.machine.core_ranges import Holds
from cluster_sim.records.result import Result
from cluster_sim.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class HeldRectangles:
    """All rectangles of a run, for every window. Keep them: a million of them take seconds to make."""

    result: Result
    jobs: pd.DataFrame  # with the column speedup, if a workload was given
    used: Holds  # which cores jobs used, by their rows in jobs, in that order
    scale: RowScale
    rectangles: pd.DataFrame
    states: pd.DataFrame
    until: float
    start_date: datetime.datetime | None  # at simulated second 0, if the workload says it
    guests: pd.DataFrame | None = None  # their rectangles, if there were any; owner is the place in the names
    guest_names: Sequence[str] = ()
    pieces: JobPieces | None = None  # of jobs that had cores more than once, if any had

    @classmethod
    def of(cls, result: Result, rows: Rows = "auto", workload: Workload | None = None) -> HeldRectangles:
        """Return the rectangles of ``result``; ``rows`` as in :func:`analysis.gantt`, ``workload`` for speedups."""
        if not hasattr(result, "core_holds"):
            raise InputError("gantt", "a result, such as Simulation.run() returns", result)
        scale = RowScale.of(result.platform, rows)
        cores, states = result.core_holds, result.off_states
        jobs = result.jobs
        asked = np.nan_to_num(jobs["run_time"].to_numpy(dtype=float) * jobs["requested_cores"].to_numpy(dtype=float))
        if not np.allclose(cores.used_core_s, asked, rtol=1e-6, atol=1e-3):
            jobs = jobs.assign(core_s=cores.used_core_s)
        if workload is not None:
            jobs = jobs.assign(speedup=job_speedups(result, workload))
        ends = [result.power["time"].max(), cores.used.end.max(initial=0.0), states["end"].max()]
        until = float(np.nanmax([0.0, *ends]))
        rectangles = job_rectangles(cores, scale)
        pieces = JobPieces.of(result, rectangles, scale)
        return cls(
            result,
            jobs,
            cores.used_by_job,
            scale,
            rectangles,
            state_rectangles(states, result.platform, scale, until),
            until,
            start_date_of(result, workload),
            guest_rectangles(cores, scale) if cores.guests else None,
            cores.guests,
            pieces,
        )


@dataclass(frozen=True, slots=True)
class ChartData:
    """Jobs, rectangles and states in view; ``rectangles["owner"]`` is a row of ``jobs``, the jobs in view."""

    held: HeldRectangles
    jobs: pd.DataFrame
    position: np.ndarray  # of those jobs in the run's table
    rectangles: pd.DataFrame
    states: pd.DataFrame
    outside: int  # jobs that ran, but not in the window
    canvas: Canvas
    part: bool  # whether the window was chosen, so that nothing beyond it is of interest

    @classmethod
    def of(
        cls, held: HeldRectangles, window: tuple[float, float], width_px: float, height_px: float, part: bool = False
    ) -> ChartData:
        """Return the part of ``held`` that overlaps ``window`` (s), on a panel of that size."""
        start, end = window
        shown = within(held.rectangles, start, end)
        position, owner = np.unique(shown["owner"].to_numpy(), return_inverse=True)
        return cls(
            held=held,
            jobs=held.jobs.iloc[position],
            position=position,
            rectangles=shown.assign(owner=owner),
            states=within(held.states, start, end),
            outside=held.rectangles["owner"].nunique() - len(position),
            canvas=Canvas(width_px, height_px, start, end, held.scale.height),
            part=part,
        )

    def classes(self, strategy: ColourStrategy) -> ColourClasses:
        """Return the colours of the jobs in view, by the whole workload: a job looks the same in every window."""
        classes = strategy(self.held.jobs)
        return replace(classes, code=classes.code[self.position])

    def patterned_traces(self, axis: TimeAxis) -> list[Any]:
        """Return the traces of nodes that cannot work, and of the cores that guests held."""
        held, states = self.held, [PatternedLook.of_state(state) for state in SHOWN_STATES]
        where = held.result.platform.node_names(), held.scale, self.canvas, axis
        traces = patterned_traces(self.states, states, *where)
        if held.guests is not None:
            guests = within(held.guests, self.canvas.start, self.canvas.end)
            traces += patterned_traces(guests, [PatternedLook.of_guest(name) for name in held.guest_names], *where)
        return traces

    def hover(self, axis: TimeAxis, remarks: Sequence[str] | None = None) -> Hover:
        """Return the jobs' hovers; each ends with its remark of ``remarks`` (one per job)."""
        used = self.held.used
        if self.held.pieces is not None:
            # Each set of cores of a job is listed once, where it comes first.
            cores = np.column_stack((used.tenant, used.first, used.last))
            first: np.ndarray = np.unique(cores, axis=0, return_index=True)[1]
            used = used.where(np.sort(first))
        if self.outside:
            used = used.where(np.isin(used.tenant, self.position))
        places = place_texts(
            used.of(np.searchsorted(self.position, used.tenant)), self.held.result.platform, len(self.jobs)
        )
        waited = last_reasons(self.held.result, self.jobs["job_id"])
        why = reasons(self.held.result, self.jobs["job_id"], waited)
        hover = replace(job_hover(self.jobs, places, why, axis, remarks), waited=waited)
        pieces = self.held.pieces
        return hover if pieces is None else replace(hover, pieces=pieces.texts(axis))

    def job_traces(
        self,
        classes: ColourClasses,
        how: str,
        hover: Hover | None,
        *,
        labels: bool = True,
        pattern_by: str | None = None,
    ) -> list[Any]:
        """Return the traces of the jobs, drawn as ``how`` says; a raster needs no hover."""
        if not len(self.rectangles):
            return []
        if hover is None:
            return [job_raster(self.rectangles, self.held.scale, self.canvas)]
        traces: list[Any] = []
        if how == "bars":
            patterns = None if pattern_by is None else self.jobs[pattern_by].fillna("").astype(str)
            traces += job_bars(self.rectangles, classes, hover, self.canvas, patterns)
        else:
            traces += job_polygons(self.rectangles, classes, hover)
        if labels:
            traces += job_labels(self.rectangles, self.jobs["job_id"], classes, self.canvas)
        return traces


def within(rectangles: pd.DataFrame, start: float, end: float) -> pd.DataFrame:
    """Return the rectangles that overlap or touch a window of time (s)."""
    return rectangles[(rectangles["end"] >= start) & (rectangles["start"] <= end)]
