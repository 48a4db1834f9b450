"""Nodes that fail and are repaired: by a distribution, or as a file says.

``exponential:mtbf=86400,repair=3600``, ``weibull:mtbf=86400,shape=0.7,repair=3600`` or ``trace:FILE``. A job on a node that
fails waits again, and goes on from its last checkpoint or begins anew, until it has failed ``limit`` times. To add a model,
register a class derived from :class:`Failures`, or name it under the entry-point group ``cluster_sim.failures``.
"""

from __future__ import annotations

import csv
import io
from abc import abstractmethod
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from heapq import heapify, heappop, heappush
from math import gamma, inf
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated

import numpy as np
from annotated_types import Ge, Gt, Unit
from typing_extensions import Doc

from cluster_sim.engine import WALLTIME
from cluster_sim.errors import FormatError, InputError, SpecError
from cluster_sim.files.reading import read_text
from cluster_sim.machine.node import NodeState
from cluster_sim.options import checked
from cluster_sim.platform.hardware import is_count, is_number
from cluster_sim.registry import Registry, describe
from cluster_sim.workload.fields import whole_number

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.platform.platform import Platform
    from cluster_sim.run.policies import OngoingRun
    from cluster_sim.workload.jobs import Job

MOST_IN_VAIN = 20_000
"""Failures after which no job is expected to end: jobs only waited between them, or one saved nothing."""
SEED_OF_FAILURES = 3
"""The place of their random numbers among those of a run."""

LEAST_SHAPE = 0.05
"""Shape of Weibull's distribution below which nearly all times between failures are next to nothing."""

EVENTS = ("fail", "repair")
"""Values of the column ``event`` of a file of failures."""

Failure = tuple[float, int, bool]
"""(time s, node, whether it fails, or is repaired)."""

failure_models: Registry[Failures] = Registry("failure model", "cluster_sim.failures", needs=("inject",))


MeanTime = Annotated[float, Gt(0), Unit("s"), Doc("mean time from a repair to the next failure")]
RepairTime = Annotated[float, Ge(0), Unit("s"), Doc("time until a node is repaired")]
GroupSize = Annotated[int, Ge(1), Unit("nodes"), Doc("nodes that fail together")]
MostFailures = Annotated[float, Ge(1), Unit("failures"), Doc("failures of a job after which it is killed")]


class Failures:
    """When nodes fail and are repaired, and what becomes of their jobs.

    Parameters: ``limit`` is how often a job may fail: after that many failures it is killed, not attempted again.
    ``mtbf`` (s) is the mean time from the repair of a node to its next failure, from which the intervals between
    checkpoints ``young`` and ``daly`` follow; inf: not known. Raises SpecError.

    A class of one's own writes :meth:`events` and leaves the rest.
    """

    @checked
    def __init__(self, limit: MostFailures = inf, mtbf: MeanTime = inf):
        if limit < inf and limit != int(limit):
            raise SpecError(f"failure model {describe(self)}, option limit", "a whole number above 0", limit)
        self.limit = limit
        self.mtbf_s = mtbf
        self._failed: Counter[int] = Counter()
        self._in_vain: dict[int, tuple[float, int]] = {}  # of jobs that failed: what is saved, failures since it was

    @abstractmethod
    def events(self, platform: Platform, rng: np.random.Generator) -> Iterator[Failure]:
        """Yield all failures and repairs in order of time, whatever the nodes do otherwise."""

    def inject(self, simulation: OngoingRun) -> None:
        """Have the nodes of a run fail from its beginning on. Raises InputError where it cannot be said when they do."""
        rng = np.random.default_rng(np.random.SeedSequence(simulation.seed).spawn(SEED_OF_FAILURES)[-1])
        simulation.env.process(self._process(simulation, self.events(simulation.platform, rng)))

    def allows_another(self, job: Job, saved: float) -> bool:
        """Return whether a job whose node has just failed is attempted again; ``saved`` is the saved part of its work.

        Raises InputError for a job that fails again and again and saves nothing.
        """
        index = job.index
        self._failed[index] += 1
        before, failures = self._in_vain.get(index, (0.0, 0))
        failures = failures + 1 if saved == before else 1
        self._in_vain[index] = saved, failures
        if failures > MOST_IN_VAIN and self.limit == inf:
            raise self._hopeless(f"{MOST_IN_VAIN:,} failures of job {job.job_id} between which it saved nothing")
        return self._failed[index] < self.limit

    def _hopeless(self, found: str) -> InputError:
        expected = "failures between which jobs end, or make checkpoints, or a limit of failures"
        return InputError(f"failure model {describe(self)}", expected, found)

    def _checked(self, events: Iterable[Failure], nodes: int) -> Iterator[Failure]:
        """Yield the events that a model tells. Raises InputError for what is none."""
        where, expected = f"failure model {describe(self)}, events", "an iterator of (time s, node, whether it fails)"
        if not isinstance(events, Iterable):
            raise InputError(where, expected, repr(events))
        for event in events:
            match event:
                case [time, node, bool() | np.bool_() | 0 | 1] if (
                    is_number(time) and time == time and is_count(node, nodes - 1, 0)
                ):
                    yield event
                case _:
                    what = f"(time s, node from 0 to {nodes - 1:,}, True if it fails or False if it is repaired)"
                    raise InputError(where, what, repr(event))

    def _process(self, simulation: OngoingRun, events: Iterator[Failure]) -> Generator[Event, None, None]:
        """Make the process that waits for each failure and repair. Jobs that end in the same instant have ended."""
        env, view = simulation.env, simulation.view
        self._failed = Counter()
        self._in_vain = {}
        in_vain = 0
        for time, index, fails in self._checked(events, simulation.platform.node_count):
            yield env.at(max(time, env.now), WALLTIME)
            yield env.at(env.now, WALLTIME)  # limits and graces that end jobs now may have been set later than this was
            node = simulation.node(index)
            if fails:
                node.fail()
                in_vain = 0 if view.running_count or not view.pending_count else in_vain + 1
                if in_vain > MOST_IN_VAIN:
                    raise self._hopeless(f"{MOST_IN_VAIN:,} during which jobs waited and none ran")
            else:
                yield env.at(env.now, WALLTIME)  # one that fails and is repaired in one instant has failed first
                if node.state is NodeState.FAILED:
                    node.repair()


@failure_models.register("none")
class NoFailures(Failures):
    """Nodes do not fail."""

    def __init__(self) -> None:
        super().__init__()

    def events(self, platform: Platform, rng: np.random.Generator) -> Iterator[Failure]:
        """Return no events."""
        return iter(())


class _Drawn(Failures):
    """Failures with times between them that are drawn, by node, or by groups of nodes that fail together."""

    def __init__(self, mtbf: float, repair: float, group: int, limit: float):
        super().__init__(limit, mtbf)
        self.repair_s = repair
        self.group = group

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> float:
        """Return the time from one repair to the next failure, s."""

    def events(self, platform: Platform, rng: np.random.Generator) -> Iterator[Failure]:
        """Return a group is up for a time that is drawn, and down for ``repair_s``, in turn."""
        count = platform.node_count
        heap = [(self.draw(rng), first, True) for first in range(0, count, self.group)]
        heapify(heap)
        while True:
            time, first, fails = heappop(heap)
            for node in range(first, min(first + self.group, count)):
                yield time, node, fails
            heappush(heap, (time + (self.repair_s if fails else self.draw(rng)), first, not fails))


@failure_models.register("exponential")
class ExponentialFailures(_Drawn):
    """Failures at a constant rate: mtbf and repair in s, group: nodes that fail together, limit: failures of one job."""

    @checked
    def __init__(
        self, mtbf: MeanTime = 86400.0, repair: RepairTime = 3600.0, group: GroupSize = 1, limit: MostFailures = inf
    ):
        super().__init__(mtbf, repair, group, limit)

    def draw(self, rng: np.random.Generator) -> float:
        """Draw from an exponential distribution with mean ``mtbf_s``."""
        return float(rng.exponential(self.mtbf_s))


@failure_models.register("weibull")
class WeibullFailures(_Drawn):
    """Times between failures by Weibull's distribution: shape below 1, failures come in bursts; the rest as exponential."""

    @checked
    def __init__(
        self,
        mtbf: MeanTime = 86400.0,
        shape: Annotated[float, Ge(LEAST_SHAPE), Doc("shape of the distribution")] = 0.7,
        repair: RepairTime = 3600.0,
        group: GroupSize = 1,
        limit: MostFailures = inf,
    ):
        super().__init__(mtbf, repair, group, limit)
        self.shape = shape
        self._scale = mtbf / gamma(1.0 + 1.0 / shape)

    def draw(self, rng: np.random.Generator) -> float:
        """Draw from a Weibull distribution with mean ``mtbf_s``."""
        return float(self._scale * rng.weibull(self.shape))


@failure_models.register("trace")
class RecordedFailures(Failures):
    """Failures and repairs as a CSV file lists them: columns time (s), node (name or position) and event (fail, repair)."""

    @checked
    def __init__(
        self,
        file: Annotated[str, Doc("CSV file with columns time, node and event")],
        limit: MostFailures = inf,
        mtbf: MeanTime = inf,
    ):
        super().__init__(limit, mtbf)
        self.file = file

    def events(self, platform: Platform, rng: np.random.Generator) -> Iterator[Failure]:
        """Return the events of the file; in one instant repairs of other nodes come in its order."""
        text = read_text(self.file)
        rows = csv.DictReader(io.StringIO(text), strict=True)
        if not {"time", "node", "event"} <= set(rows.fieldnames or ()):
            raise FormatError(f"{self.file} line 1", "columns time, node, event", ", ".join(rows.fieldnames or ()))
        try:
            found = [self._row(row, rows.line_num, platform) for row in rows]
        except csv.Error as error:
            raise FormatError(f"{self.file} line {rows.line_num}", "a CSV table", str(error)) from None
        return iter(sorted(found, key=itemgetter(0)))

    def _row(self, row: dict[str, str | None], line: int, platform: Platform) -> Failure:
        where = f"{self.file} line {line}"
        if None in row:
            raise FormatError(where, f"{len(row) - 1} cells, as in the header", "more")
        try:
            time = float(row["time"] or "")
        except ValueError:
            time = inf
        if not 0.0 <= time < inf:
            raise FormatError(f"{where}, time", "a time in s, 0 or later", row["time"])
        if row["event"] not in EVENTS:
            raise FormatError(f"{where}, event", f"one of {', '.join(EVENTS)}", row["event"])
        node = row["node"] or ""
        if (number := whole_number(node)) is not None and number < platform.node_count:
            return time, number, row["event"] == EVENTS[0]
        try:
            return time, platform.node_index(node), row["event"] == EVENTS[0]
        except (InputError, KeyError):
            raise FormatError(f"{where}, node", "a node of the platform, by name or position", node) from None
