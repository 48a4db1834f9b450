"""A textbook case, read from its file: what is run, and what is known to come out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import yaml

from cluster_sim.errors import InputError
from cluster_sim.formats.native_platform import platform_from
from cluster_sim.packages import sibling
from cluster_sim.run.simulation import Simulation
from cluster_sim.workload.workload import Workload

if TYPE_CHECKING:
    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.result import Result

_FOLDER = files("cluster_sim.examples") / "cases"
TOLERANCE = 1e-9
"""Relative, and absolute below 1: that much is rounding. A published number says itself how far it was rounded."""


@dataclass(frozen=True)
class Expected:
    """The outcome of a case under one scheduler.

    ``starts`` (s) by job and ``metrics`` by key of the summary may each name only some; ``source`` says who found them:
    ``published`` or ``hand-worked``. ``tolerance`` is relative, for numbers that were printed rounded.
    """

    scheduler: str
    power: str = ""
    starts: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    source: str = "hand-worked"
    tolerance: float = TOLERANCE
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Return the scheduler, the power policy and the settings that differ, in one line."""
        settings = (f"{key}={value}" for key, value in self.settings.items())
        return ", ".join(filter(None, [self.scheduler, self.power, *settings]))


@dataclass(frozen=True)
class Case:
    """A small platform and workload, and what is known of their schedules.

    ``source`` is the publication, or says that the case was made for this project; ``about`` what it shows.
    """

    name: str
    title: str
    source: str
    about: str
    expected: tuple[Expected, ...]
    _platform: dict[str, Any] = field(repr=False)
    _columns: list[str] = field(repr=False)
    _rows: list[list[Any]] = field(repr=False)

    @cached_property
    def platform(self) -> Platform:
        """Return the hardware."""
        return platform_from(self._platform, f"case {self.name}")

    @cached_property
    def workload(self) -> Workload:
        """Return the jobs."""
        return Workload(pd.DataFrame(self._rows, columns=self._columns), self.name)

    @property
    def jobs(self) -> pd.DataFrame:
        """Return the jobs as the case's file gives them: only the columns that it needs, with their ids as index."""
        return pd.DataFrame(self._rows, columns=self._columns).set_index("job_id")

    def run(self, scheduler: Any = "fcfs", power: Any = None, **settings: Any) -> Result:
        """Run one simulation. ``scheduler`` and ``power`` are specs such as ``"easy"``, or objects.

        ``settings`` are those of :class:`~cluster_sim.Simulation`, such as ``contention="none"``. Raises SpecError.
        """
        made = sibling("schedulers")
        scheduler = made.make_scheduler(scheduler) if isinstance(scheduler, str) else scheduler
        power = made.make_power_policy(power) if isinstance(power, str) else power
        return Simulation(self.platform, self.workload, scheduler, power, **settings).run(warn=False)

    def check(self) -> list[str]:
        """Run every scheduler that something is known of; a line for each number that came out differently."""
        lines = []
        for expected in self.expected:
            result = self.run(expected.scheduler, expected.power or None, **expected.settings)
            starts = result.jobs.set_index("job_id")["start_time"]
            summary = result.summary()
            pairs = [(f"start of {job}", float(starts[job]), time) for job, time in expected.starts.items()]
            pairs += [(metric, float(summary[metric]), value) for metric, value in expected.metrics.items()]
            for what, found, value in pairs:
                if not math.isclose(found, value, rel_tol=expected.tolerance, abs_tol=expected.tolerance):
                    lines.append(f"{self.name}, {expected.title}: {what} is {found:g}, not {value:g}")
        return lines

    def write(self, folder: str | Path) -> tuple[Path, Path]:
        """Write ``platform.yaml`` and ``workload.csv`` into a folder, for the command line; their paths come back."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        platform, workload = folder / "platform.yaml", folder / "workload.csv"
        self.platform.write(platform)
        self.workload.write(workload)
        return platform, workload


def names() -> list[str]:
    """Return the names of all cases."""
    return sorted(entry.name.removesuffix(".yaml") for entry in _FOLDER.iterdir() if entry.name.endswith(".yaml"))


@cache
def case(name: str) -> Case:
    """Return the case of that name. Raises InputError that lists the names there are."""
    if name not in names():
        raise InputError("examples", f"one of {', '.join(names())}", name)
    data = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    expected = tuple(Expected(**entry) for entry in data["expected"])
    rows = [list(row) for row in data["jobs"]]
    about = " ".join(data["about"].split())
    return Case(name, data["title"], data["source"], about, expected, data["platform"], data["columns"], rows)


def cases() -> list[Case]:
    """Return all cases, by name."""
    return [case(name) for name in names()]


def table() -> pd.DataFrame:
    """Return all cases, a row each: title, number of jobs, nodes and cores, and source."""
    rows = [
        {
            "case": one.name,
            "title": one.title,
            "jobs": len(one.workload),
            "nodes": one.platform.node_count,
            "cores": one.platform.core_count,
            "source": one.source,
        }
        for one in cases()
    ]
    return pd.DataFrame(rows).set_index("case")
