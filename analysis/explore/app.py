"""The Dash app of the page."""

from __future__ import annotations

import sys
import traceback
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, no_update, set_props
from dash.exceptions import PreventUpdate

from analysis.explore import callbacks
from analysis.explore.layout import KEEP, LET_GO, page
from analysis.explore.runs import Choices, ExploreSession
from analysis.pages.page import render
from analysis.pages.serving import guarded_app
from cluster_sim.errors import ClusterSimError

_CHOICES = tuple(name for name in Choices.__dataclass_fields__ if name != "changes")
_OWN_JOB = ("own_submit_time", "own_cores", "own_run_time", "own_requested_time", "own_user")


def make_app(desk: ExploreSession, host: str = "127.0.0.1") -> Dash:
    """Return the app. Unless ``host`` says that all may come, requests for another host's name are refused."""
    # With this package's name, Dash looks for files to serve in this folder, which has none, and not in the user's.
    app = guarded_app(__name__, "explore", render("explore.html"), host, on_error=_defect)
    app.layout = lambda: page(desk)
    if desk.saved is None:
        _wire_form(app, desk)
        _wire_changes(app, desk)
        _wire_comparison(app, desk)
    _wire_run(app, desk)
    return app


def _defect(error: Exception) -> None:
    """Show an error of a callback in one line of the page; the traceback of a defect is for the terminal."""
    if isinstance(error, ClusterSimError):
        text = str(error)
    else:
        text = "This is a defect of the program: the terminal has the details."
        traceback.print_exception(error, file=sys.stderr)
    set_props("message", {"children": text})


def _wire_form(app: Dash, desk: ExploreSession) -> None:
    @app.callback(
        Output("choices", "data"),
        Output("message", "children"),
        Input("run", "n_clicks"),
        State("choices", "data"),
        *(State(name, "value") for name in _CHOICES),
        prevent_initial_call=True,
        running=[(Output("run", "disabled"), True, False)],
    )
    def start(_: int, kept: Any, *values: Any) -> Any:
        given = dict(zip(_CHOICES, values, strict=True))
        return callbacks.start(desk, given | {"enforce_walltime": bool(given["enforce_walltime"])}, kept)

    for name, (offers, field) in desk.offers.by_kind().items():

        @app.callback(
            Output(field, "value"),
            Output(field, "disabled"),
            Input(name, "value"),
            State("choices", "data"),
            prevent_initial_call=True,
        )
        def options(chosen: str, given: Any, offers: Any = offers, name: str = name, field: str = field) -> Any:
            offer = offers.get(chosen)
            if offer is None:
                return "", True
            as_run = chosen == given[name]  # a scenario that was opened, or back to what is shown
            return given[field] if as_run else offer.example, not offer.takes_options


def _wire_changes(app: Dash, desk: ExploreSession) -> None:
    @app.callback(
        Output("choices", "data", allow_duplicate=True),
        Output("message", "children", allow_duplicate=True),
        Input("submit_job", "n_clicks"),
        Input("cancel_job", "n_clicks"),
        Input({"kind": "undo", "change": ALL}, "n_clicks"),
        State("choices", "data"),
        State("step", "data"),
        State("cancel_id", "value"),
        *(State(name, "value") for name in _OWN_JOB),
        prevent_initial_call=True,
        running=[(Output("submit_job", "disabled"), True, False), (Output("cancel_job", "disabled"), True, False)],
    )
    def change(_: int, __: int, undo: list[int | None], given: Any, step: int, job_id: str | None, *fields: Any) -> Any:
        what = ctx.triggered_id
        if isinstance(what, dict):
            return callbacks.undone(desk, given, int(what["change"])) if any(undo) else (no_update, no_update)
        if what == "cancel_job":
            return callbacks.cancelled(desk, given, job_id)
        return callbacks.submitted(desk, given, step, fields)

    @app.callback(Output("changes", "children"), Input("choices", "data"))
    def changes(given: Any) -> Any:
        return callbacks.changes(desk, given)


def _wire_comparison(app: Dash, desk: ExploreSession) -> None:
    kept, beside = State("choices", "data"), State("beside", "data")

    @app.callback(Output("beside", "data"), Input("keep", "n_clicks"), kept, beside, prevent_initial_call=True)
    def keep(_: int, given: Any, now_beside: Any) -> Any:
        return callbacks.kept(given, now_beside)

    @app.callback(
        Output("moved", "children"), Output("keep", "children"), Input("choices", "data"), Input("beside", "data")
    )
    def moved(given: Any, now_beside: Any) -> Any:
        return callbacks.moved(desk, given, now_beside), LET_GO if now_beside else KEEP

    @app.callback(Output("address", "data"), Input("choices", "data"), Input("beside", "data"))
    def address(given: Any, now_beside: Any) -> Any:
        return callbacks.address(given, now_beside)

    show = ClientsideFunction("address", "show")  # of explore.js
    app.clientside_callback(show, Output("addressed", "data"), Input("address", "data"))  # type: ignore[no-untyped-call]

    @app.callback(Output("download", "data"), Input("save", "n_clicks"), kept, beside, prevent_initial_call=True)
    def save(_: int, given: Any, now_beside: Any) -> Any:
        return callbacks.saved_scenario(given, now_beside)

    @app.callback(
        Output("choices", "data", allow_duplicate=True),
        Output("beside", "data", allow_duplicate=True),
        Output("message", "children", allow_duplicate=True),
        Output("open", "contents"),
        *(Output(name, "value", allow_duplicate=True) for name in _CHOICES),
        Input("open", "contents"),
        Input("place", "hash"),
        State("open", "filename"),
        kept,
        beside,
        prevent_initial_call=True,
    )
    def opened(content: Any, place: Any, name: Any, now: Any, now_beside: Any) -> Any:
        if ctx.triggered_id == "place":
            given, *others = callbacks.opened_address(desk, place, now, now_beside)
        elif content is None:
            raise PreventUpdate
        else:
            given, *others = callbacks.opened_scenario(desk, content, name)
        fields = [no_update] * len(_CHOICES)
        if given is not no_update:
            form = given | {"enforce_walltime": ["yes"] if given["enforce_walltime"] else []}
            fields = [form[choice] for choice in _CHOICES]
        return given, *others, None, *fields  # emptied by None, the same file may be opened once more


def _wire_run(app: Dash, desk: ExploreSession) -> None:
    kept = State("choices", "data")

    @app.callback(Output("headlines", "children"), Input("choices", "data"), Input("beside", "data"))
    def headlines(given: Any, beside: Any) -> Any:
        return callbacks.headlines(desk, given, beside)

    @app.callback(
        Output("warned", "children"),
        Output("wanted", "data"),
        Output("view", "data"),
        Output("explanation", "children"),
        Input("choices", "data"),
    )
    def opened(given: Any) -> Any:
        return *callbacks.opened(desk, given), []

    @app.callback(
        Output("frames", "data"), Input("wanted", "data"), Input("colour_by", "value"), kept, State("step", "data")
    )
    def frames(wanted: Any, colour_by: str, given: Any, step: int) -> Any:
        recoloured = {each["prop_id"] for each in ctx.triggered} == {"colour_by.value"}
        return callbacks.frames(desk, given, colour_by, step if recoloured else wanted)

    load = ClientsideFunction("stepper", "load")  # of explore.js
    app.clientside_callback(load, Output("step", "data"), Input("frames", "data"))  # type: ignore[no-untyped-call]

    @app.callback(
        Output("drawn", "data"),
        Input("choices", "data"),
        Input("colour_by", "value"),
        Input("view", "data"),
        Input("step", "data"),
        Input("beside", "data"),
    )
    def chart(given: Any, colour_by: str, view: Any, step: int, beside: Any) -> Any:
        if ctx.triggered_id == "step" and len(ctx.triggered_prop_ids) == 1:
            return callbacks.moved_cursor(desk, given, step)
        return callbacks.chart(desk, given, colour_by, view, step, beside)

    show = ClientsideFunction("chart", "show")  # of explore.js
    app.clientside_callback(show, Output("chart", "figure"), Input("drawn", "data"))  # type: ignore[no-untyped-call]

    @app.callback(
        Output("view", "data", allow_duplicate=True),
        Input("chart", "relayoutData"),
        Input("whole", "n_clicks"),
        kept,
        State("view", "data"),
        prevent_initial_call=True,
    )
    def zoomed(relayout: Any, _: int, given: Any, view: Any) -> Any:
        if ctx.triggered_id == "whole":
            return callbacks.whole(view)
        return callbacks.zoomed(desk, given, relayout, view)

    @app.callback(
        Output("wanted", "data", allow_duplicate=True),
        Input({"kind": "step", "step": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def stepped(links: list[int | None]) -> Any:
        # No click: the links were only just made.
        return ctx.triggered_id["step"] if isinstance(ctx.triggered_id, dict) and any(links) else no_update

    @app.callback(
        Output("explanation", "children", allow_duplicate=True),
        Output("job", "value"),
        Input("job", "value"),
        Input({"kind": "job", "job": ALL}, "n_clicks"),
        Input("chart", "clickData"),
        kept,
        prevent_initial_call=True,
    )
    def explained(job: str | None, links: list[int | None], click: Any, given: Any) -> Any:
        what = ctx.triggered_id
        if isinstance(what, dict):
            if not any(links):
                return no_update, no_update
            job = str(what["job"])
        elif what == "chart":
            job = callbacks.clicked_job(desk.run(given), click)
            if job is None:
                return no_update, no_update
        return callbacks.explained(desk, given, job), no_update if what == "job" else job
