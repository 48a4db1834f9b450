"""The chart of a running simulation in a notebook."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import plotly.graph_objects as go

from analysis.gantt_chart.notebook import put, zoomable
from analysis.live_view.picture import so_far
from cluster_sim.extras import needed
from cluster_sim.records.result import Result


class LiveWidget:
    """A FigureWidget under the cell that runs the simulation; in the end it can be zoomed as any chart of a notebook."""

    def __init__(self, options: dict[str, Any]):
        with needed("live", "anywidget"):
            self.figure = go.FigureWidget()
        self._options = {"time_unit": "elapsed"} | options
        import_module("IPython.display").display(self.figure)  # IPython need not be there when types are checked

    def __enter__(self) -> LiveWidget:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the widget as it is."""

    def show(self, result: Result, now: float) -> None:
        """Draw what has happened so far."""
        put(self.figure, so_far(result, now, self._options))

    def finish(self, result: Result) -> None:
        """Draw the whole run, which can be zoomed from now on."""
        zoomable(self.figure, result, **self._options)
