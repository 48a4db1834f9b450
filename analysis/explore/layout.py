"""The page: what can be chosen, the chart, and beside it the steps."""

from __future__ import annotations

from typing import Any, cast

from dash import dcc, html

from analysis.explore.runs import MOST_JOBS, Choices, ExploreSession
from analysis.figures.palette import OFFERED
from analysis.pages.page import CONFIG
from analysis.tables.display_names import OF_FACTORS, display_name
from analysis.tables.wording import shortened

LIST_PX = 560
"""Height of a list of offers; Dash keeps it within the window."""


def page(desk: ExploreSession) -> html.Div:
    """Return the page as it is when it is opened."""
    choices = desk.first
    changeable = desk.saved is None
    top = [_form(desk, choices)] if changeable else []
    return html.Div(
        id="page",
        children=[
            html.H1("cluster-sim explore" if changeable else "cluster-sim explore: a saved run"),
            *top,
            html.Div(id="message", role="alert"),
            dcc.Loading([html.Div(id="headlines")], delay_show=300, type="dot", color="#0072b2"),
            html.Div(id="warned"),
            dcc.Store(id="choices", data=choices.plain()),
            dcc.Store(id="view"),
            dcc.Store(id="beside", data=None if desk.beside is None else desk.beside.plain()),
            *(dcc.Store(id=name) for name in ("wanted", "frames", "step", "drawn", "address", "addressed")),
            dcc.Location(id="place", refresh=False),
            html.Div(className="columns", children=[_chart(changeable), _steps(changeable)]),
        ],
    )


def _form(desk: ExploreSession, choices: Choices) -> html.Div:
    given = choices.plain()
    fields = []
    for name, (offers, options) in desk.offers.by_kind().items():
        kind = name.replace("_", " ")
        hint = f"options, such as {_HINTS[kind]}"
        items: list[Any] = []
        for key, offer in offers.items():
            title = display_name(key, titles=OF_FACTORS[name])
            spec: list[Any] = [html.Code(shortened(key, 60)), " "] if title != key else []
            meaning = html.Span([" ", *spec, shortened(offer.meaning, 90)], className="soft")
            label = html.Span([html.B(shortened(title[:1].upper() + title[1:], 60)), meaning])
            items.append({"label": label, "value": key, "search": f"{key} {title} {offer.meaning}"})
        fields.append(
            html.Div(
                className="field",
                children=[
                    html.Label(kind.capitalize(), htmlFor=name),
                    dcc.Dropdown(
                        id=name,
                        options=items,
                        value=given[name],
                        clearable=False,
                        optionHeight="auto",
                        maxHeight=LIST_PX,
                    ),
                    html.Label(f"{kind} options", htmlFor=options, className="unseen"),
                    dcc.Input(id=options, value=given[options], placeholder=hint, type="text"),
                ],
            )
        )
    wall = dcc.Checklist(
        id="enforce_walltime",
        options=[{"label": "kill jobs at their requested time", "value": "yes"}],
        inline=True,
        value=["yes"] if choices.enforce_walltime else [],
    )
    row = [
        _number("begin_h", "from hour", choices.begin_h),
        _number("jobs", f"jobs (1 to {MOST_JOBS:,})", choices.jobs),
        _number("seed", "seed", choices.seed),
        wall,
        html.Button("Save scenario", id="save", n_clicks=0, title=_TO_SHARE),
        dcc.Upload("Open scenario", id="open", accept=".json,application/json"),
        dcc.Download(id="download"),
        html.Button("Run", id="run", n_clicks=0, className="main"),
    ]
    return html.Div([html.Div(fields, className="fields"), html.Div(row, className="bar")], className="form")


_TO_SHARE = "As a file. To share it, send the address of this page: it brings these choices back."
_HINTS = {
    "workload": "jobs=200,seed=1",
    "platform": "nodes=8,cores=16",
    "scheduler": "order=saf",
    "power policy": "300",
}


def _number(name: str, label: str, value: float | None, placeholder: str = "") -> html.Div:
    """Return a field for any number.

    It has no limits: of a number beyond them, a browser would say that the field is empty.
    """
    return html.Div(
        [
            html.Label(label, htmlFor=name),
            dcc.Input(id=name, value=value, type="number", step="any", placeholder=placeholder, style={"width": 84}),
        ],
        className="number",
    )


KEEP, LET_GO = "Keep to compare", "Stop comparing"


def _chart(changeable: bool) -> html.Div:
    return html.Div(
        [
            html.Div(
                className="bar",
                children=[
                    html.Label("Colour by", htmlFor="colour_by"),
                    html.Div(
                        dcc.Dropdown(list(OFFERED), OFFERED[0], id="colour_by", clearable=False), style={"width": 120}
                    ),
                    html.Button("Whole run", id="whole", n_clicks=0),
                    *([html.Button(KEEP, id="keep", n_clicks=0)] if changeable else []),
                    html.Span("Drag to zoom; click a job to see why it waited.", className="soft"),
                ],
            ),
            *([html.Div(id="moved")] if changeable else []),
            dcc.Graph(
                id="chart",
                config=cast(dcc.Graph.Config, CONFIG),
                figure={"layout": {"xaxis": {"visible": False}, "yaxis": {"visible": False}}},
            ),
        ]
    )


def _changes() -> list[Any]:
    """Return fields for a job of one's own and for one to take out, and the table of what was changed."""
    own = [
        _number("own_cores", "cores", 1),
        _number("own_run_time", "runs for, s", 600),
        _number("own_requested_time", "asks for, s", 900),
        _number("own_submit_time", "submitted at, s", None, placeholder="now"),
        html.Div(
            [html.Label("user", htmlFor="own_user"), dcc.Input(id="own_user", type="text", style={"width": 90})],
            className="number",
        ),
        html.Button("Submit job", id="submit_job", n_clicks=0),
    ]
    out = [
        html.Label("job", htmlFor="cancel_id", className="unseen"),
        dcc.Input(id="cancel_id", type="text", placeholder="id of a job", className="grow"),
        html.Button("Cancel job", id="cancel_job", n_clicks=0),
    ]
    return [
        html.H3("What if?"),
        html.P("Submit a job of your own, or take one out of the workload: the run is made again.", className="soft"),
        html.Div(own, className="bar"),
        html.Div(out, className="bar"),
        html.Div(id="changes"),
    ]


def _steps(changeable: bool) -> html.Div:
    return html.Div(
        id="steps",
        children=[
            html.Div(id="stepper"),  # explore.js fills it
            html.H3("Why did my job wait?"),
            html.Div(
                className="bar",
                children=[
                    html.Label("job", htmlFor="job", className="unseen"),
                    dcc.Input(id="job", type="text", debounce=True, placeholder="id of a job", className="grow"),
                ],
            ),
            html.Div(id="explanation"),
            *(_changes() if changeable else []),
        ],
    )
