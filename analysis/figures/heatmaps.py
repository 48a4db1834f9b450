"""Heatmaps over time: how busy the cores are, and how hard the jobs press on the memory channels.

Each cell is the exact mean over its rows and its interval of time: a job that holds a core for a tenth of a cell counts
for a tenth.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.figures.figure_style import styled
from analysis.figures.time_axis import TimeAxis, start_date_of
from analysis.tables.wording import plotly_text, shortened
from cluster_sim.errors import InputError, SpecError
from cluster_sim.files.source import running_no_new_files
from cluster_sim.machine.core_ranges import Holds, by_unit
from cluster_sim.models.contention import contention_models
from cluster_sim.records.result import Result
from cluster_sim.workload.work import Work
from cluster_sim.workload.workload import Workload

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

BINS = 400
MOST_ROWS = 256
_MOST_CORES = 4_096


@dataclass(frozen=True, slots=True)
class HeatmapGrid:
    """Numbers of a heatmap: ``edges`` of the intervals (s, bins + 1), names of the rows, ``values`` (rows, bins)."""

    edges: Floats
    rows: tuple[str, ...]
    values: Floats


def occupancy_grid(result: Result, rows: Literal["auto", "core", "node"] = "auto", bins: int = BINS) -> HeatmapGrid:
    """Return the share of the time, from 0 to 1, for which jobs hold each core, or the cores of each node.

    More than 256 rows are drawn in groups of neighbours. "auto" takes cores up to 4,096 of them, else nodes. Raises
    SpecError for other ``rows``.
    """
    if rows not in ("auto", "core", "node"):
        raise SpecError("occupancy, rows", "auto, core or node", rows)
    platform, used = result.platform, result.core_holds.used
    if rows == "auto":
        rows = "core" if platform.core_count <= _MOST_CORES else "node"
    edges = _edges(result, bins)
    if rows == "node":
        parts, node = by_unit(used, platform.first_core[platform.first_processor])
        width = (parts.last - parts.first + 1) / platform.node_cores[node]
        values = _binned(node, parts.start, parts.end, width, edges, platform.node_count)
        return _grouped(HeatmapGrid(edges, tuple(platform.node_names()), values))
    # A range of cores is a step up at its first core and one down behind its last.
    both = np.concatenate([used.first, used.last + 1])
    sign = np.repeat([1.0, -1.0], len(used.first))
    steps = _binned(both, np.tile(used.start, 2), np.tile(used.end, 2), sign, edges, platform.core_count + 1)
    values = np.cumsum(steps, axis=0)[:-1]
    return _grouped(HeatmapGrid(edges, tuple(f"core {i}" for i in range(platform.core_count)), values))


def pressure_grid(result: Result, workload: Workload, bins: int = BINS) -> HeatmapGrid:
    """Return the memory bandwidth that tasks ask of each processor, over the bandwidth at which they slow each other.

    Above 1 the run's contention model slows the tasks. ``workload`` is the run's: results do not keep the memory volume
    of jobs. A task asks evenly while its job holds the core, at the rate at which it would run alone. Processors
    that never contend are left out; more than 256 rows are drawn in groups of neighbours. Raises InputError when no
    processor can contend, or when a job is missing in ``workload``.
    """
    platform = result.platform
    with running_no_new_files():
        model = contention_models.make(str(result.meta.get("contention_model") or platform.contention_model))
    by_kind = np.array([model.on(kind).threshold for kind in platform.processor_types], dtype=np.float64)
    threshold = by_kind[platform.type_of_processor]  # MB/s for each processor; infinite where tasks never contend
    contended = np.flatnonzero(np.isfinite(threshold) & (threshold > 0))
    if not len(contended):
        raise InputError("memory pressure", "a platform and a contention model with a threshold", "none that contends")
    used, processor = by_unit(result.core_holds.used_by_job, platform.first_core)
    asked = _bandwidth(used, processor, result, workload)
    edges = _edges(result, bins)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(np.isfinite(threshold[processor]), asked / threshold[processor], 0.0)
    values = _binned(processor, used.start, used.end, size, edges, platform.processor_count)
    names = platform.node_names()
    owner = np.searchsorted(platform.first_processor, contended, side="right") - 1
    within = contended - platform.first_processor[owner]
    labels = [f"{names[n]}.processor{p}" for n, p in zip(owner.tolist(), within.tolist(), strict=True)]
    return _grouped(HeatmapGrid(edges, tuple(labels), values[contended]))


def occupancy_heatmap(
    result: Result, rows: Literal["auto", "core", "node"] = "auto", *, bins: int = BINS, title: str | None = None
) -> go.Figure:
    """Draw cores (or nodes) × time, coloured by the share of the time for which jobs hold them."""
    grid = occupancy_grid(result, rows, bins)
    return _heatmap(grid, start_date_of(result), title or "Cores in use", "busy", ".1%", [0.0, 1.0], "Cividis")


def memory_pressure(result: Result, workload: Workload, *, bins: int = BINS, title: str | None = None) -> go.Figure:
    """Draw processors × time, coloured by asked memory bandwidth over the threshold of contention; 1 is the middle."""
    grid = pressure_grid(result, workload, bins)
    top = max(2.0, float(grid.values.max(initial=0.0)))
    return _heatmap(
        grid,
        start_date_of(result, workload),
        title or "Pressure on memory bandwidth",
        "asked / threshold",
        ".3~g",
        [0.0, top],
        None,
        mid=1.0,
    )


def _heatmap(
    grid: HeatmapGrid,
    start: datetime.datetime | None,
    title: str,
    words: str,
    spec: str,
    span: list[float],
    scale: str | None,
    mid: float | None = None,
) -> go.Figure:
    step = float(grid.edges[1] - grid.edges[0])
    # White to blue up to the threshold, and orange beyond it.
    colours = scale or [[0, "#FFFFFF"], [0.5, "#56B4E9"], [0.5, "#E69F00"], [1, "#7A2E00"]]
    labels = plotly_text(shortened(name, 40) for name in grid.rows)
    hover = f"%{{customdata}}<br>{words}: %{{z:{spec}}}<br>around %{{x:,.8~g}} s<extra></extra>"
    trace = go.Heatmap(
        z=np.round(grid.values, 4).astype(np.float32),
        x0=float(grid.edges[0]) + step / 2,
        dx=step,
        y0=0,
        dy=1,
        customdata=np.repeat(np.array(labels, object)[:, None], grid.values.shape[1], axis=1)
        if len(labels) <= 64
        else None,
        colorscale=colours,
        zmin=span[0],
        zmax=span[1],
        zmid=mid,
        hovertemplate=hover if len(labels) <= 64 else hover.replace("%{customdata}", "row %{y}"),
        colorbar={
            "title": {"text": words, "side": "right"},
            "tickformat": ".0%" if spec.endswith("%") else None,
            "thickness": 14,
        },
    )
    every = max(1, int(np.ceil(len(labels) / 12)))
    ticks = {"tickvals": list(range(0, len(labels), every)), "ticktext": labels[::every], "automargin": True}
    height = int(np.clip(180 + 14 * len(labels), 320, 560))
    figure = styled(go.Figure(trace), title, "", "", height)
    window = float(grid.edges[0]), float(grid.edges[-1])
    axis = TimeAxis.of("auto", window, start)
    figure.update_xaxes(axis.layout(window))
    axis.convert(figure)
    return figure.update_yaxes(autorange="reversed", showgrid=False, **ticks)


def _edges(result: Result, bins: int) -> Floats:
    end = float(result.power["time"].iloc[-1])
    return np.linspace(0.0, end if end > 0 else 1.0, bins + 1)


def _binned(row: npt.NDArray[np.int64], start: Floats, end: Floats, size: Floats, edges: Floats, rows: int) -> Floats:
    """Return the exact means per interval of the sums of ``size`` over [start, end), shape (rows, bins)."""
    bins, step = len(edges) - 1, edges[1] - edges[0]
    inside, beyond = np.zeros((rows, bins)), np.zeros((rows, bins + 1))
    for time, change in ((start, size), (end, -size)):
        column = np.clip(((time - edges[0]) / step).astype(np.int64), 0, bins - 1)
        # A change counts for the rest of its own interval, and fully in all intervals after it.
        np.add.at(inside, (row, column), change * np.clip((edges[column + 1] - time) / step, 0.0, 1.0))
        np.add.at(beyond, (row, column + 1), change)
    values = inside + np.cumsum(beyond, axis=1)[:, :-1]
    return np.where(np.abs(values) < 1e-9, 0.0, values)


def _grouped(grid: HeatmapGrid) -> HeatmapGrid:
    size = int(np.ceil(len(grid.rows) / MOST_ROWS))
    if size <= 1:
        return grid
    first = np.arange(0, len(grid.rows), size)
    count = np.diff(np.append(first, len(grid.rows)))
    names = tuple(
        f"{grid.rows[i]} to {grid.rows[i + n - 1]}" if n > 1 else grid.rows[i]
        for i, n in zip(first.tolist(), count.tolist(), strict=True)
    )
    return HeatmapGrid(grid.edges, names, np.add.reduceat(grid.values, first, axis=0) / count[:, None])


def _bandwidth(used: Holds, processor: npt.NDArray[np.int64], result: Result, workload: Workload) -> Floats:
    """Return the MB/s that the tasks of each hold ask for together, running at the full speed of their cores."""
    jobs, platform = workload.jobs, result.platform
    held, held_by = np.unique(used.tenant, return_inverse=True)
    ids = result.jobs["job_id"].to_numpy(dtype=object)[held]
    row = pd.Index(jobs["job_id"]).get_indexer(pd.Index(ids))
    if (row < 0).any():
        raise InputError("memory pressure, workload", f"job {ids[int((row < 0).argmax())]} of the run", "no such job")
    row = row[held_by]
    reference = workload.reference_gflops
    work = Work(
        {str(name): jobs[name].to_numpy() for name in jobs.columns},
        platform.fastest_ops_per_s if reference is None else reference * 1e9,
    )
    rate = np.array([kind.ops_per_s for kind in platform.processor_types])[platform.type_of_processor][processor]
    tasks = used.last - used.first + 1
    seconds = np.array([work.seconds(int(i), float(r)) for i, r in zip(row, rate, strict=True)])
    volume = jobs["mem_vol"].to_numpy(dtype=float)[row]
    return np.asarray(tasks * np.divide(volume, seconds, out=np.zeros_like(seconds), where=seconds > 0))
