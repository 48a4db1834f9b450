"""Observations of JobNode by name.

An observation is made from a view and the allowed pairs, so an agent sees the same in an environment and as a
scheduler. To write one: a class with the methods of :class:`JobNodeObservation`, registered under a name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from typing_extensions import Doc

from cluster_sim.options import checked
from cluster_sim.platform.platform import Platform
from cluster_sim.registry import Registry
from cluster_sim.run.view import View
from learning.tasks.feature_table import FeatureTable, chosen, feature, part
from learning.tasks.job_node.actions import PairFinder
from learning.tasks.job_node.estimate import joules, known
from learning.tasks.job_node.features import Features, PairFeatures
from learning.tasks.job_node.pairs import PairOptions, Pairs


class JobNodeObservation(Protocol):
    """Protocol of JobNode's observations.

    An observation that can be made for several runs in one call also has ``observe_together``; see
    :class:`~learning.tasks.job_node.features.PairFeatures`.
    """

    merges_equal: bool  #: Whether equal pairs are offered once, unless the environment is told otherwise.

    def space(self, platform: Platform, options: PairOptions) -> dict[str, spaces.Space]:
        """Return the boxes of the observation, without the mask."""
        ...

    def begin(self, view: View, finder: PairFinder) -> None:
        """Begin a run."""
        ...

    def observe(self, view: View, pairs: Pairs) -> dict[str, npt.NDArray[np.float32]]:
        """Return the observation, without the mask."""
        ...


observations: Registry[JobNodeObservation] = Registry("observation", "cluster_sim.observations")


class PublishedOfJob(FeatureTable):
    """Features of a job in the papers."""

    wait_time = feature("job: time since its submission", "s")
    requested_time = feature("job; 0 if it requested none", "s")
    submit_time = feature("job", "s")
    requested_cores = feature("job", "cores")


class PublishedOfNode(FeatureTable):
    """Features of a node in the papers."""

    availability = feature("node: free cores over cores", "fraction")
    static_power = feature("node: its static watts, or its idle watts while it runs nothing", "W")
    dynamic_power = feature("node: dynamic watts of its busy cores", "W")
    clock_rate = feature("node: mean over its processors", "GHz")


class PublishedRow(FeatureTable):
    """The features of López, Stafford and Bosque (2025), Table 1; López (2023), Table 3.1, has all but the last.

    They keep their units, unless they are divided by the norm of all of them.
    """

    of_job = part(PublishedOfJob)
    of_node = part(PublishedOfNode)
    energy_estimate = feature("pair: :class:`~learning.tasks.job_node.estimate.EnergyEstimate`", "J")
    can_schedule = feature("pair: 1 (only in the journal version)", "0 or 1")


class _NodeColumns(FeatureTable):
    """Columns of nodes, which those of their pairs begin with from :attr:`PublishedRow.of_node` on."""

    shown = part(PublishedOfNode)
    slower = feature("least clock of all nodes over its own")
    share = feature("its static watts, shared by its jobs and one more", "W")
    of_a_core = feature("dynamic watts of a busy core", "W")


PUBLISHED = PublishedRow.names
"""Names of the features of the journal version."""
_THESIS = PUBLISHED[: PublishedRow.can_schedule]


Norm = Annotated[
    Literal["whole", "sum", "none"], Doc("observations are divided by their L2 norm, by their sum, or not at all")
]


class PublishedPairs:
    """Observation of the papers: one row of features per pair of job and node, zeros where the pair is not allowed.

    The features are those of :class:`PublishedRow`.

    The papers say "bounded between 0 and 1". Their program gets that by dividing the whole observation by its L2 norm
    (``norm=whole``), and did it by its sum at the time of the thesis (``norm=sum``). ``norm=none`` leaves the units.

    ``features`` names the columns wanted, joined by ``+``: López (2023), Table 4.11, is without static_power,
    dynamic_power and energy_estimate. Raises SpecError for others.
    """

    merges_equal = False

    def __init__(self, known: Sequence[str], features: str, norm: str, where: str):
        self.features = chosen(features, known, f"observation '{where}', option features")
        self.names = {"observation": self.features}
        columns = [PUBLISHED.index(name) for name in self.features]
        in_a_row = columns == list(range(len(columns)))
        self._columns: list[int] | slice = slice(len(columns)) if in_a_row else columns  # a slice is not copied
        self._norm = norm

    def space(self, platform: Platform, options: PairOptions) -> dict[str, spaces.Space]:
        """Return one box of shape (actions, features): [0, 1] if normalised."""
        rows = options.num_jobs * platform.node_count + options.wait
        high = np.inf if self._norm == "none" else 1.0
        return {"observation": spaces.Box(0.0, high, (rows, len(self.features)), np.float32)}

    def begin(self, view: View, finder: PairFinder) -> None:
        """Remember what nodes are like, on which nothing runs yet."""
        self._occupancy, self._estimate, figures = finder.occupancy, finder.estimate, finder.estimate.figures
        self._cores = view.platform.node_cores.astype(np.float64)
        self._of_node = of_node = np.empty((_NodeColumns.size, len(self._cores)))
        of_node[PublishedOfNode.clock_rate], of_node[PublishedOfNode.static_power] = figures.clock_ghz, figures.idle_w
        of_node[_NodeColumns.slower], of_node[_NodeColumns.of_a_core] = self._estimate.slower, figures.dynamic_w
        of_node[_NodeColumns.share] = figures.static_w
        self._noted = 0  # changes of the occupancy, of which the columns know

    def observe(self, view: View, pairs: Pairs) -> dict[str, npt.NDArray[np.float32]]:
        """Return rows by action; the row of waiting is zeros, as in the papers."""
        observation = np.zeros((len(pairs.mask), len(self.features)), np.float32)
        if not len(pairs):
            return {"observation": observation}
        rows = self._of_pairs(view, pairs)[self._columns]
        if self._norm == "sum":
            rows /= rows.sum() or 1.0
        elif self._norm == "whole":
            # All ten are summed pair by pair: another order would round differently.
            squares = np.square(rows).ravel("F" if len(rows) == PublishedRow.size else "C")
            norm = math.sqrt(np.add.reduce(squares))
            if norm > 0.0:
                rows /= norm
        observation[pairs.actions] = rows.T
        return {"observation": observation}

    def _of_pairs(self, view: View, pairs: Pairs) -> npt.NDArray[np.float64]:
        """Return all features of the allowed pairs, shape (features, pairs)."""
        of_job: npt.NDArray[np.float64] | None = pairs.asked.seen
        if of_job is None:
            of_job = pairs.asked.seen = np.empty((PublishedOfJob.size, len(pairs.jobs)))
            of_job[PublishedOfJob.requested_time] = known(pairs.times)
            of_job[PublishedOfJob.requested_cores] = pairs.cores
        of_job[PublishedOfJob.submit_time] = pairs.submitted
        np.subtract(view.now, pairs.submitted, out=of_job[PublishedOfJob.wait_time])
        first = PublishedOfJob.size
        rows = np.empty((first + _NodeColumns.size, len(pairs)))
        of_job.take(pairs.job_of, 1, rows[:first], "clip")
        of_node = self._nodes_now(view).take(pairs.node_of, 1, rows[first:], "clip")
        rows[PublishedRow.energy_estimate] = joules(
            rows[PublishedOfJob.requested_time],
            rows[PublishedOfJob.requested_cores],
            of_node[_NodeColumns.slower],
            of_node[_NodeColumns.share],
            of_node[_NodeColumns.of_a_core],
        )
        rows[PublishedRow.can_schedule] = 1.0
        return rows[: PublishedRow.size]

    def _nodes_now(self, view: View) -> npt.NDArray[np.float64]:
        """Bring the columns of the nodes up to date; what jobs decide, only where jobs have changed."""
        occupancy, figures, of_node = self._occupancy, self._estimate.figures, self._of_node
        occupancy.update(view)
        for node in occupancy.changes[self._noted :]:
            jobs, static = occupancy.job_count.item(node), figures.static_w.item(node)
            of_node[PublishedOfNode.static_power, node] = static if jobs else figures.idle_w.item(node)
            of_node[_NodeColumns.share, node] = static / (jobs + 1.0)
        self._noted = len(occupancy.changes)
        free = view.free_cores
        np.divide(free, self._cores, out=of_node[PublishedOfNode.availability])
        np.multiply(figures.dynamic_w, self._cores - free, out=of_node[PublishedOfNode.dynamic_power])
        return of_node


@observations.register("p2")
@checked
def p2(features: Features = "", norm: Norm = "whole") -> PublishedPairs:
    """The nine features of López (2023), Table 3.1."""
    return PublishedPairs(_THESIS, features, norm, "p2")


@observations.register("p3")
@checked
def p3(features: Features = "", norm: Norm = "whole") -> PublishedPairs:
    """The ten features of López, Stafford and Bosque (2025), Table 1."""
    return PublishedPairs(PUBLISHED, features, norm, "p3")


@observations.register("as-published")
@checked
def as_published(features: Features = "", norm: Norm = "whole") -> PublishedPairs:
    """Return the observation p2."""
    return PublishedPairs(_THESIS, features, norm, "as-published")


observations.register("default")(PairFeatures)
