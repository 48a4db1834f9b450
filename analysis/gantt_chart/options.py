"""The options of Gantt charts: each is declared once, for Python's arguments, the command's flags and the manual."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Unit
from typing_extensions import Doc

from analysis.figures.palette import ColourStrategy
from analysis.figures.time_axis import StartDate, TimeUnit
from analysis.gantt_chart.groups import GroupBy
from analysis.gantt_chart.rows import Folded, Rows
from cluster_sim.errors import SpecError, told_apart
from cluster_sim.options import OptionModel, options_of
from cluster_sim.workload.workload import Workload

Drawing = Literal["auto", "bars", "polygons", "raster"]
Panel = Literal["power", "power-by-state", "busy", "queue"]
PANELS: tuple[Panel, ...] = ("power", "busy", "queue")


@dataclass(frozen=True, eq=False)
class JobRowsOptions(OptionModel):
    """The options of a chart with a row per job, which all charts have."""

    colour_by: Annotated[
        str | ColourStrategy,
        Doc(
            "what colours mean: auto (few jobs by job, many by wait), job, profile, user, state, wait, energy, speedup (with"
            " the workload), or any column of the jobs' table; in Python also a function, jobs table -> ColourClasses"
        ),
    ] = "auto"
    _: KW_ONLY
    title: Annotated[str | None, Doc("the heading; made from the run's settings unless given")] = None
    time_unit: Annotated[
        TimeUnit, Doc("unit of the axis; auto: the calendar with a date, else days and hours from the start (elapsed)")
    ] = "auto"
    start_date: Annotated[
        StartDate | None,
        Doc("date and time of simulated second 0, UTC unless it says otherwise; by default what the log's header said"),
    ] = None

    def __post_init__(self) -> None:
        _require(self, "colour_by", isinstance(self.colour_by, str) or callable(self.colour_by), "a name or a function")
        is_date = self.start_date is None or isinstance(self.start_date, StartDate)
        _require(self, "start_date", is_date, "a date and time, as a text or a datetime")
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class _RowsOptions(JobRowsOptions):
    """The options of charts of resources."""

    rows: Annotated[Rows, Doc("what is equally high; auto: cores when there are at most 64, else nodes")] = "auto"
    _: KW_ONLY
    group_by: Annotated[
        GroupBy | None,
        Doc(
            "what nodes stand together by: kind, cluster, partition or rack; in Python also a function, node's name -> group"
        ),
    ] = None
    folded: Annotated[Folded, Doc("groups that show their use in one row at first; auto: all beyond 64 nodes")] = "auto"
    drawing: Annotated[Drawing, Doc("how rectangles are drawn; auto: by their number")] = "auto"
    labels: Annotated[bool, Doc("write job ids into the largest rectangles that have room")] = True
    x_range: Annotated[
        tuple[float, float] | None,
        Unit("s"),
        Doc("begin and end of a window; what lies outside is not drawn; first submission to last finish unless given"),
    ] = None
    panels: Annotated[
        Sequence[Panel], Doc("the curves under the chart, of power, power-by-state, busy and queue, or none")
    ] = PANELS
    workload: Annotated[Workload | None, Doc("the run's workload: it gives the jobs' speedups, and the date")] = None

    def __post_init__(self) -> None:
        if self.x_range is not None:
            try:
                begin, end = map(float, self.x_range)
            except (TypeError, ValueError):
                _require(self, "x_range", False, "two times in seconds, begin and end")
            else:
                object.__setattr__(self, "x_range", (begin, end))
        _require(self, "workload", self.workload is None or isinstance(self.workload, Workload), "a Workload")
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class GanttOptions(_RowsOptions):
    """The options of the chart of a run."""

    _: KW_ONLY
    height: Annotated[
        float | None, Ge(1), Unit("px"), Doc("raised to what the panels need; by the number of rows unless given")
    ] = None
    pattern_by: Annotated[
        str | None, Doc("a column, such as profile, each of whose values fills its bars with a pattern of its own")
    ] = None
    reservations: Annotated[
        bool, Doc("outline the starts that a backfilling scheduler promised, if the run was to explain")
    ] = True
    slider: Annotated[bool, Doc("a small copy of the chart under it, to move the window with")] = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> GanttOptions:
        """Return the options that are given by name. Raises SpecError for an unknown name."""
        maker: Callable[..., GanttOptions] = cls
        for name in given:
            if name not in options_of(maker):
                raise SpecError("gantt", f"an option among {', '.join(options_of(maker))}", name)
        return cls(**given)


@dataclass(frozen=True, eq=False)
class RunsOptions(_RowsOptions):
    """The options of a chart of several runs."""

    _: KW_ONLY
    most_marks: Annotated[int, Ge(0), Doc("how many jobs that moved are marked, those with the largest shifts")] = 2_000
    other_jobs: Annotated[bool, Doc("a run may have jobs that another run lacks; they have no mark")] = False


def _require(options: OptionModel, name: str, is_right: bool, expected: str) -> None:
    if not is_right:
        raise SpecError(name, expected, told_apart(getattr(options, name)))
