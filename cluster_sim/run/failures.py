"""Nodes that fail and are repaired: by a distribution, or as a file says.

``exponential:mtbf=86400,repair=3600``, ``weibull:mtbf=86400,shape=0.7,repair=3600`` or ``trace:FILE``. A job on a node that
fails waits again, and goes on from its last checkpoint or begins anew, until it has failed ``limit`` times. To add a model,
register a class with the attributes and methods of :class:`Failures`, or under the entry-point group ``cluster_sim.failures``.
"""

from __future__ import annotations

import csv
import io
from abc import abstractmethod
from collections import Counter
from collections.abc import Generator, Iterator
from heapq import heapify, heappop, heappush
from math import gamma, inf
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.engine import WALLTIME
from cluster_sim.errors import FormatError, InputError, SimulationError, SpecError
from cluster_sim.files.reading import read_text
from cluster_sim.machine.node import NodeState
from cluster_sim.registry import Registry
from cluster_sim.workload.fields import whole_number

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.platform.platform import Platform
    from cluster_sim.run.simulation import Simulation
    from cluster_sim.workload.jobs import Job

MOST_IN_VAIN = 100_000
"""So many failures in a row during which no job ran say that none will."""
SEED_OF_FAILURES = 3
"""The place of their random numbers among those of a run."""

EVENTS = ("fail", "repair")
"""What the column ``event`` of a file of failures says."""

Failure = tuple[float, int, bool]
"""(time s, node, whether it fails, or is repaired)."""

failure_models: Registry[Failures] = Registry("failure model", "cluster_sim.failures")


class Failures:
    """When nodes fail and are repaired, and what becomes of their jobs.

    Parameters: ``limit`` is how often a job may fail; the attempt after that is not made, the job is killed.
    """

    mtbf_s = inf  #: Mean time between the failures of a node, s; inf: not known.

    def __init__(self, limit: float = inf):
        if not limit >= 1:
            raise SpecError("failures, option limit", "a number of failures, 1 or more", limit)
        self.limit = limit
        self._failed: Counter[int] = Counter()

    @abstractmethod
    def events(self, platform: Platform, rng: np.random.Generator) -> Iterator[Failure]:
        """All failures and repairs in order of time, as long as anybody asks; what the nodes do otherwise changes nothing."""

    def inject(self, simulation: Simulation) -> None:
        """Have the nodes of a run fail from now on."""
        self._failed = Counter()
        simulation.env.process(self._process(simulation))

    def allows_another(self, job: Job) -> bool:
        """Whether a job whose node has just failed is attempted again."""
        self._failed[job.index] += 1
        return self._failed[job.index] < self.limit

    def _process(self, simulation: Simulation) -> Generator[Event, None, None]:
        """The SimPy process: waits for each failure and repair. Jobs that end in the same instant have ended."""
        env, view = simulation.env, simulation.view
        rng = np.random.default_rng(np.random.SeedSequence(simulation.seed).spawn(SEED_OF_FAILURES)[-1])
        in_vain = 0
        for time, index, fails in self.events(simulation.platform, rng):
            yield env.at(max(time, env.now), WALLTIME)
            node = simulation.node(index)
            if fails:
                node.fail()
                in_vain = 0 if view.running_count else in_vain + 1
                if in_vain > MOST_IN_VAIN:
                    message = f"no job ran during {MOST_IN_VAIN:,} failures of nodes, up to {env.now:g} s: none will"
                    raise SimulationError(message)
            else:
                yield env.at(env.now, WALLTIME)  # one that fails and is repaired in one instant has failed first
                if node.state is NodeState.FAILED:
                    node.repair()


class _Drawn(Failures):
    """Failures with times between them that are drawn, by node, or by groups of nodes that fail together."""

    def __init__(self, mtbf: float, repair: float, group: int, limit: float):
        super().__init__(limit)
        name = str(getattr(self, "spec", "")) or "failures"
        for option, value, good in (
            ("mtbf", mtbf, 0.0 < mtbf < inf),
            ("repair", repair, 0.0 <= repair < inf),
            ("group", group, group >= 1),
        ):
            if not good:
                raise SpecError(f"{name}, option {option}", "a finite number above 0 (repair: 0 or more)", value)
        self.mtbf_s = mtbf
        self.repair_s = repair
        self.group = group

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> float:
        """The time from one repair to the next failure, s."""

    def events(self, platform: Platform, rng: np.random.Generator) -> Iterator[Failure]:
        """A group is up for a time that is drawn, and down for ``repair_s``, in turn."""
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

    def __init__(self, mtbf: float = 86400.0, repair: float = 3600.0, group: int = 1, limit: float = inf):
        super().__init__(mtbf, repair, group, limit)

    def draw(self, rng: np.random.Generator) -> float:
        """Exponential, with mean ``mtbf_s``."""
        return float(rng.exponential(self.mtbf_s))


@failure_models.register("weibull")
class WeibullFailures(_Drawn):
    """Times between failures by Weibull's distribution: shape below 1, failures come in bursts; the rest as exponential."""

    def __init__(
        self, mtbf: float = 86400.0, shape: float = 0.7, repair: float = 3600.0, group: int = 1, limit: float = inf
    ):
        super().__init__(mtbf, repair, group, limit)
        if not 0.0 < shape < inf:
            raise SpecError("weibull, option shape", "a finite number above 0", shape)
        self.shape = shape
        self._scale = mtbf / gamma(1.0 + 1.0 / shape)

    def draw(self, rng: np.random.Generator) -> float:
        """Weibull, with mean ``mtbf_s``."""
        return float(self._scale * rng.weibull(self.shape))


@failure_models.register("trace")
class RecordedFailures(Failures):
    """Failures and repairs as a CSV file lists them: columns time (s), node (name or position) and event (fail, repair)."""

    def __init__(self, file: str, limit: float = inf, mtbf: float = inf):
        super().__init__(limit)
        self.file = file
        self.mtbf_s = mtbf

    def events(self, platform: Platform, rng: np.random.Generator) -> Iterator[Failure]:
        """As the file says; of one instant repairs of other nodes in its order."""
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
