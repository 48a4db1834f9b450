"""The page of a running simulation: a Dash app that asks for the next picture twice a second."""

from __future__ import annotations

import sys
import threading
import time
import webbrowser
from dataclasses import dataclass
from typing import Any, cast

import plotly.graph_objects as go

from analysis.gantt_chart.gantt import gantt
from analysis.live_view.picture import so_far
from analysis.live_view.watch import FRAME_S
from analysis.pages.page import CONFIG, render
from cluster_sim.extras import needed
from cluster_sim.records.result import Result

with needed("live", "dash"):
    from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update

from analysis.pages.serving import LOCAL, guarded_app, served

READER_COMES_S = 20.0
"""Seconds that a run waits for the page to be open in a browser, which takes longer than many runs do."""
READER_STAYS_S = 5.0
"""Seconds without a request after which nobody has the page open."""
QUIET_S = 1.0
"""Seconds without a request after which a browser that has the last picture has all of the page."""


@dataclass(frozen=True)
class Picture:
    """What the page shows: its number, a sentence, the chart, and whether it is the last."""

    number: int
    text: str
    figure: go.Figure | None
    is_last: bool = False


class LivePage:
    """A page of this machine that shows a run while it goes on. A context: the page is served within."""

    def __init__(self, options: dict[str, Any], port: int = 0, open_browser: bool = True):
        self._options = options
        self._open_browser = open_browser
        self._asked = threading.Event()  # somebody has the page open
        self._asked_at = 0.0
        self._is_seen = False  # whether somebody has the last picture
        self.picture = Picture(0, "It begins.", None)
        self._served = served(live_app(self), "live", port)

    def __enter__(self) -> LivePage:
        address = self._served.__enter__()
        print(f"The page is {address}", file=sys.stderr)  # stdout is for results
        if self._open_browser:
            webbrowser.open(address)
            self._asked.wait(READER_COMES_S)
        return self

    def __exit__(self, *error: Any) -> None:
        self._served.__exit__(*error)

    def show(self, result: Result, now: float) -> None:
        """Draw what has happened so far."""
        self._hand_out(so_far(result, now, self._options), "It goes on.")

    def finish(self, result: Result) -> None:
        """Draw the whole run, and wait until whoever has the page open has seen it."""
        self._hand_out(gantt(result, **self._options), "It is over.", is_last=True)
        while time.monotonic() < self._asked_at + (QUIET_S if self._is_seen else READER_STAYS_S):
            time.sleep(0.1)

    def _hand_out(self, figure: go.Figure, text: str, is_last: bool = False) -> None:
        figure.update_layout(uirevision="live")  # what is zoomed by hand stays zoomed
        self.picture = Picture(self.picture.number + 1, text, figure, is_last)

    def asked(self) -> None:
        """Note that a browser asks for something."""
        self._asked_at = time.monotonic()

    def next_after(self, number: int) -> Picture | None:
        """Return the newest picture, None if it is the one of that number."""
        self._asked.set()
        if self.picture.number != number:
            return self.picture
        self._is_seen = self.picture.is_last
        return None


def live_app(page: LivePage) -> Dash:
    """Return the app of a page."""
    app = guarded_app(__name__, "live", render("live.html"), LOCAL[0])
    app.server.before_request(page.asked)
    app.layout = html.Div(
        id="page",
        children=[
            html.H1("cluster-sim: a run as it goes on"),
            html.P(page.picture.text, id="state", role="status"),
            dcc.Graph(id="chart", config=cast(dcc.Graph.Config, CONFIG), figure={}),
            dcc.Store(id="number", data=0),
            dcc.Store(id="drawn"),
            dcc.Interval(id="clock", interval=1000 * FRAME_S),
        ],
    )

    @app.callback(
        Output("drawn", "data"),
        Output("state", "children"),
        Output("number", "data"),
        Output("clock", "disabled"),
        Input("clock", "n_intervals"),
        State("number", "data"),
    )
    def ask(_: int, number: int) -> Any:
        picture = page.next_after(number)
        if picture is None:
            return no_update, no_update, no_update, page.picture.is_last
        return picture.figure, picture.text, picture.number, False

    show = ClientsideFunction("chart", "show")  # of dash_chart.js
    app.clientside_callback(show, Output("chart", "figure"), Input("drawn", "data"))  # type: ignore[no-untyped-call]
    return app
