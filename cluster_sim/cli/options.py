"""The options that ``run`` and ``compare`` have in common."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import click

TIME_UNITS = {"ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours", "d": "days"}


class Seconds(click.ParamType):
    """A time above 0, in seconds."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number that ``value`` says; inf and NaN are no times."""
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not 0 < seconds < math.inf:
            self.fail(f"expected a number above 0, found {value}", param, ctx)
        return seconds


class TimeUnit(click.ParamType):
    """A unit of time by its symbol or its name."""

    name = "unit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The unit's name."""
        if value not in {*TIME_UNITS, *TIME_UNITS.values()}:
            self.fail(f"expected one of {', '.join(TIME_UNITS)}, found {value}", param, ctx)
        return TIME_UNITS.get(value, str(value))


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Only the options that the user gave."""
    return {name: value for name, value in options.items() if value not in (None, ())}


# No option has a default of its own: a value that was not given may still come from a configuration file.
_INPUT = (
    click.option("--platform", "-p", metavar="P", help="File, homogeneous:nodes=N,cores=N or mixed:3x64@3.0,9x8@4.2;"
                 " left out with an SWF log, as many one-core nodes as it says its machine had."),
    click.option("--workload", "-w", metavar="W", help="SWF, JSON (IRMaSim) or CSV file, .gz too."),
    click.option("--first", type=click.IntRange(min=1), metavar="N", help="Take only the first N jobs."),
    click.option("--reservations", metavar="FILE", help="Nodes set aside for a time: advance reservations, maintenance."),
    click.option("--time-unit", type=TimeUnit(), metavar="UNIT",
                 help=f"What times in the workload count: {', '.join(TIME_UNITS)}. [default: s]"),
    click.option("--think-times", is_flag=True, default=None,
                 help="Submit a job think_time after the end of its preceding_job, not at the log's time."),
)  # fmt: skip
_MODEL = (
    click.option("--power-policy", metavar="Q", help="When nodes sleep. [default: always-on]"),
    click.option("--contention-model", metavar="SPEC", help="In place of the platform's, such as piecewise:k=1."),
    click.option("--power-model", metavar="SPEC", help="In place of the platform's, such as baseline."),
    click.option("--network-model", metavar="SPEC", help="What communication between nodes costs. [default: none]"),
    click.option("--enforce-walltime", is_flag=True, default=None, help="Kill jobs at their requested time."),
    click.option("--quirk", "quirks", multiple=True, metavar="NAME",
                 help="Imitate a published program in one respect; may be given several times."),
    click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Of everything random. [default: 0]"),
    click.option("--until", type=Seconds(), metavar="S", help="Stop at S seconds on the run's clock."),
)  # fmt: skip
_OUTPUT = (
    click.option("--out", required=True, type=click.Path(file_okay=False), metavar="DIR", help="Folder for results."),
    click.option("--explain", is_flag=True, default=None, help="Keep a log of the scheduler's decisions and reasons."),
    click.option("--report", is_flag=True, default=None, help="Leave an interactive report.html, too."),
    click.option("--format", "file_format", type=click.Choice(["csv", "parquet"]), help="Of tables. [default: csv]"),
)  # fmt: skip


def simulation_options(scheduler: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Decorator: all options of a simulation, with ``scheduler``, the one in which the commands differ, among them."""

    def decorate(command: Any) -> Any:
        for option in reversed([*_INPUT, scheduler, *_MODEL, *_OUTPUT]):
            command = option(command)
        return command

    return decorate
