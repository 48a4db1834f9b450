"""``simulation.live()``: a run that is shown while it goes on."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Annotated, Any, Literal, Protocol

from annotated_types import Ge, Gt, Unit
from typing_extensions import Doc

from analysis.figures.palette import MOST_BY_JOB
from analysis.gantt_chart.options import GanttOptions
from analysis.live_view.watch import watching
from cluster_sim.options import checked
from cluster_sim.records.result import Result
from cluster_sim.run.simulation import Simulation

Where = Literal["auto", "browser", "notebook"]


class Showing(Protocol):
    """What shows a run: a page or a widget."""

    def show(self, result: Result, now: float) -> None:
        """Draw what has happened so far."""

    def finish(self, result: Result) -> None:
        """Draw the whole run, and leave it there."""


@checked
def live(
    simulation: Simulation,
    until: float | None = None,
    *,
    pace: Annotated[
        float | None,
        Gt(0),
        Unit("s"),
        Doc("simulated seconds that pass in a second, at most; as many as can unless given"),
    ] = None,
    where: Annotated[Where, Doc("auto: in a notebook where this is one, else in a browser")] = "auto",
    port: Annotated[int, Ge(0), Doc("of the page in a browser; 0: any free one")] = 0,
    open_browser: Annotated[bool, Doc("False: only say where the page is")] = True,
    **options: Any,
) -> Result:
    """Run a simulation, to its end or to ``until`` (s), and show its Gantt chart meanwhile; return the result.

    ``options`` are those of :func:`analysis.gantt`. The page is served on this machine alone, until it has shown the whole
    run. Raises InputError for wrong options, and without dash or anywidget (the extras ``app`` and ``notebook``).
    """
    # The colours that `auto` chooses depend on how far the run is.
    options.setdefault("colour_by", "job" if len(simulation.workload) <= MOST_BY_JOB else "wait")
    GanttOptions(**options)
    shown: AbstractContextManager[Showing]
    if where == "notebook" or (where == "auto" and _in_notebook()):
        from analysis.live_view.widget import LiveWidget

        shown = LiveWidget(options)
    else:
        from analysis.live_view.page import LivePage

        shown = LivePage(options, port, open_browser)
    with shown as showing:
        simulation.env.process(watching(simulation, showing.show, pace))
        result = simulation.run(until)
        showing.finish(result)
    return result


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")
