"""Choices made in the page, and the runs that they lead to.

A run is a function of the choices alone. So the page remembers its choices, not the run, and the server may forget a
run: it is made again when it is asked for.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Generator, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from analysis.explore.changes import LARGEST, Change, changed, changes_of
from analysis.explore.offers import OF_THE_LOG, Offers, chosen
from analysis.figures.palette import ColourClasses, colour_strategy
from analysis.figures.time_axis import TimeAxis
from analysis.gantt_chart.gantt import drawn
from analysis.gantt_chart.options import GanttOptions
from analysis.gantt_chart.rectangles import RunRectangles, time_window
from analysis.stepping.frames import Frames
from cluster_sim.errors import InputError, heard
from cluster_sim.records.result import Result
from cluster_sim.run.simulation import Simulation
from cluster_sim.workload.workload import Workload

if TYPE_CHECKING:
    import plotly.graph_objects as go


MOST_JOBS = 2_000
"""Jobs of one run of the page: its answer should come soon. ``cluster-sim run`` knows no limit."""
MOST_NODES, MOST_CORES = 20_000, 2_000_000
LONGEST_S = 60.0
"""Seconds of computing after which a run of the page is given up: of its own thread, whatever others compute meanwhile."""
KEPT = 16
"""Runs that are remembered."""


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices of what is to be run. Each name is that of an offer, followed by its options.

    ``begin_h`` is a time of the workload. ``changes`` are to the jobs that are left then.
    """

    workload: str = "lublin"
    workload_options: str = "jobs=200,nodes=32,seed=4"
    begin_h: float = 0.0
    jobs: int = 60
    platform: str = "homogeneous"
    platform_options: str = "nodes=4,cores=8"
    scheduler: str = "easy"
    scheduler_options: str = ""
    power_policy: str = "always-on"
    power_options: str = ""
    seed: int = 0
    enforce_walltime: bool = False
    changes: tuple[Change, ...] = ()

    @classmethod
    def first(cls, offers: Offers) -> Choices:
        """Return what the page begins with: what was named at the start, if anything was."""
        found: dict[str, Any] = {}
        for kind, (of_kind, options) in offers.by_kind().items():
            name, offer = next(iter(of_kind.items()))
            if offer.named:
                found |= {kind: name, options: ""}
        if "workload" in found and "platform" not in found:
            found |= {"platform": OF_THE_LOG, "platform_options": ""}
        return cls(**found)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Choices:
        """Return choices as they come from a page, which is not to be trusted. Raises InputError for a wrong one."""
        if not isinstance(given, Mapping):
            raise InputError("choices", "a name or a number for each", type(given).__name__)
        found: dict[str, Any] = {}
        for field in fields(cls):
            if field.name == "changes":
                found["changes"] = changes_of(given.get("changes"))
                continue
            kind, label = type(field.default), field.name.replace("_", " ")
            value = given.get(field.name)
            if kind is str and value is None:
                value = ""
            if kind is float and type(value) is int and abs(value) < LARGEST:
                value = float(value)
            if type(value) is not kind:
                raise InputError(label, _EXPECTED.get(field.name, "a choice"), "none" if value is None else value)
            found[field.name] = value
        choices = cls(**found)
        if not 1 <= choices.jobs <= MOST_JOBS:
            raise InputError("jobs", _EXPECTED["jobs"], choices.jobs)
        if not 0 <= choices.begin_h < math.inf:
            raise InputError("begin", _EXPECTED["begin_h"], choices.begin_h)
        if not 0 <= choices.seed < LARGEST:
            raise InputError("seed", _EXPECTED["seed"], choices.seed)
        return choices

    def plain(self) -> dict[str, Any]:
        """Return the choices as the page keeps them."""
        return asdict(self)

    def same_jobs(self, other: Choices) -> bool:
        """Return whether these and other choices are about the same jobs, whatever is done with them and to them."""
        return all(getattr(self, name) == getattr(other, name) for name in OF_THE_JOBS)


_EXPECTED = {
    "jobs": f"a whole number from 1 to {MOST_JOBS:,} in this page: choose a window of the workload",
    "begin_h": "a number of hours from 0",
    "seed": f"a whole number from 0 to {LARGEST - 1}",
    "enforce_walltime": "yes or no",
}

OF_THE_JOBS = ("workload", "workload_options", "begin_h", "jobs")


class Run:
    """A finished run and what is drawn of it, worked out once."""

    def __init__(self, result: Result, warned: tuple[str, ...] = ()):
        self.result = result
        self.warned = warned
        self.window = time_window(result)
        self.axis = TimeAxis.of("auto", self.window)
        self.frames = Frames(result)

    @cached_property
    def rectangles(self) -> RunRectangles:
        """Return the rectangles that are drawn of it."""
        return RunRectangles.of(self.result)

    def figure(self, colour_by: str = "job", window: tuple[float, float] | None = None) -> go.Figure:
        """Draw the run or a window of it (s): exactly if the rectangles are few enough, else shaded."""
        return drawn(self.rectangles, GanttOptions(colour_by, time_unit=self.axis.unit, x_range=window))

    def classes(self, colour_by: str) -> ColourClasses:
        """Return the colours that jobs have in that chart."""
        return colour_strategy(colour_by)(self.result.jobs)


class ExploreSession:
    """Maker and keeper of the runs of the page: the one thing that the callbacks share.

    ``saved`` is a run to look at, if any; else the page begins with the choices ``first``, and ``beside`` to compare with.
    """

    def __init__(
        self,
        offers: Offers,
        saved: Result | None = None,
        first: Choices | None = None,
        beside: Choices | None = None,
    ):
        self.offers = offers
        self.first = first or Choices.first(offers)
        self.beside = beside
        self.saved = None if saved is None else Run(saved)
        # A browser asks for several things about a new run at once, from several threads; the first makes the run. An
        # error is kept as well: it took as long to find out.
        self._kept: OrderedDict[Choices, Future[Run]] = OrderedDict()
        self._lock = threading.Lock()  # never held while a run is made

    def run(self, given: Mapping[str, Any] | None) -> Run:
        """Return the run that was saved, or that of these choices. Raises InputError for a wrong choice."""
        if self.saved is not None:
            return self.saved
        choices = Choices.of(given or {})
        with self._lock:
            future, is_first = self._kept.get(choices, Future()), choices not in self._kept
            self._kept[choices] = future
            self._kept.move_to_end(choices)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        if is_first:
            try:
                future.set_result(self._made(choices))
            except BaseException as error:  # whatever it is, the others must not wait for ever
                future.set_exception(error)
                if not isinstance(error, InputError):
                    with self._lock:
                        self._kept.pop(choices, None)
        return future.result()

    def _made(self, choices: Choices) -> Run:
        with heard() as told:
            offers = self.offers
            log = chosen(offers.workloads, "workload", choices.workload, choices.workload_options)
            workload = changed(window_of(log, choices.begin_h, choices.jobs), choices.changes)
            # It takes the whole log, whose header describes its machine.
            platform = chosen(offers.platforms, "platform", choices.platform, choices.platform_options, log)
            if platform.node_count > MOST_NODES:
                raise InputError("platform", f"at most {MOST_NODES:,} nodes in this page", f"{platform.node_count:,}")
            if platform.core_count > MOST_CORES:
                raise InputError("platform", f"at most {MOST_CORES:,} cores in this page", f"{platform.core_count:,}")
            simulation = Simulation(
                platform,
                workload,
                chosen(offers.schedulers, "scheduler", choices.scheduler, choices.scheduler_options),
                chosen(offers.power_policies, "power policy", choices.power_policy, choices.power_options),
                seed=choices.seed,
                enforce_walltime=choices.enforce_walltime,
                explain=True,
            )
            simulation.env.process(_given_up(simulation, time.thread_time() + LONGEST_S))
            result = simulation.run(warn=False)
        return Run(result, tuple(dict.fromkeys(map(str, told))))


def window_of(workload: Workload, begin_h: float, jobs: int) -> Workload:
    """Return that many jobs of a workload from an hour of its clock on. Raises InputError when there are none."""
    part = workload.slice(3600.0 * begin_h, math.inf) if begin_h else workload
    if not len(part):
        last = float(workload.jobs["submit_time"].max()) / 3600.0 if len(workload) else 0.0
        raise InputError("begin", f"an hour before the last submission, at {last:,.2f} h", f"{begin_h:g} h")
    return part.first(jobs)


def _given_up(simulation: Simulation, deadline: float) -> Generator[Any, Any, None]:
    """End a run that takes too long: a process that raises InputError at the first event after the deadline."""
    while True:
        yield simulation.on("instant")
        if time.thread_time() > deadline:
            wanted = f"a run that is done in {LONGEST_S:g} s: take fewer jobs, or another scheduler"
            raise InputError("run", wanted, f"{simulation.env.now:,.0f} simulated seconds by then")
