"""What an agent of JobNode sees: observations by name.

An observation is made from a view and the pairs that are allowed, so an agent sees the same in an environment and as a
scheduler. To write one: a class with the methods of :class:`JobNodeObservation`, registered under a name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from gymnasium import spaces

from cluster_sim.errors import SpecError
from cluster_sim.registry import Registry
from learning.estimate import known

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.platform import Platform
    from cluster_sim.view import View
    from learning.pairs import PairFinder, PairOptions, Pairs


class JobNodeObservation(Protocol):
    """What JobNode asks of an observation."""

    merges_equal: bool  #: Whether equal pairs are offered once, unless the environment is told otherwise.

    def space(self, platform: Platform, options: PairOptions) -> dict[str, spaces.Space]:
        """The boxes that the observation consists of, without the mask."""
        ...

    def begin(self, view: View, finder: PairFinder) -> None:
        """A run begins."""
        ...

    def observe(self, view: View, pairs: Pairs) -> dict[str, npt.NDArray[np.float32]]:
        """The observation, without the mask."""
        ...


observations: Registry[JobNodeObservation] = Registry("observation", "cluster_sim.observations")

PUBLISHED = (
    "wait_time",
    "requested_time",
    "submit_time",
    "requested_cores",
    "availability",
    "static_power",
    "dynamic_power",
    "clock_rate",
    "energy_estimate",
    "can_schedule",
)
"""The features of López, Stafford and Bosque (2025), Table 1; López (2023), Table 3.1, has all but the last."""


class PublishedPairs:
    """The papers' observation: one row of features per pair of job and node, zeros where the pair is not allowed.

    ==================  =====================================================================  ==========
    feature             of                                                                     unit
    ==================  =====================================================================  ==========
    wait_time           job: time since its submission                                         s
    requested_time      job (0 if it requested none)                                           s
    submit_time         job                                                                    s
    requested_cores     job                                                                    cores
    availability        node: free cores over cores                                            fraction
    static_power        node: its static watts, or its idle watts while it runs nothing        W
    dynamic_power       node: dynamic watts of its busy cores                                  W
    clock_rate          node: mean over its processors                                         GHz
    energy_estimate     pair: :class:`~learning.estimate.EnergyEstimate`                       J
    can_schedule        pair: 1 (only in the journal version)                                  0 or 1
    ==================  =====================================================================  ==========

    The papers say "bounded between 0 and 1"; their program gets that by dividing the whole observation by its L2 norm,
    which ``norm=whole`` does. ``norm=none`` leaves the units. ``features`` names the columns wanted, joined by ``+``:
    López (2023), Table 4.11, is without static_power, dynamic_power and energy_estimate. Raises SpecError for others.
    """

    merges_equal = False

    def __init__(self, known: Sequence[str], features: str, norm: str, where: str):
        if norm not in ("whole", "none"):
            raise SpecError(f"observation '{where}', option norm", "whole or none", norm)
        self.features = chosen(features, known, f"observation '{where}', option features")
        self._columns = [PUBLISHED.index(name) for name in self.features]
        self._normalised = norm == "whole"

    def space(self, platform: Platform, options: PairOptions) -> dict[str, spaces.Space]:
        """One box of shape (actions, features): [0, 1] if normalised."""
        rows = options.num_jobs * platform.node_count + options.wait
        high = 1.0 if self._normalised else np.inf
        return {"observation": spaces.Box(0.0, high, (rows, len(self.features)), np.float32)}

    def begin(self, view: View, finder: PairFinder) -> None:
        """Remember what nodes are like."""
        self._finder = finder
        self._estimate = finder.estimate
        self._cores = view.platform.node_cores.astype(np.float64)

    def observe(self, view: View, pairs: Pairs) -> dict[str, npt.NDArray[np.float32]]:
        """Rows by action; that of waiting is zeros, as in the papers."""
        observation = np.zeros((len(pairs.mask), len(self._columns)), np.float32)
        if not len(pairs):
            return {"observation": observation}
        self._finder.occupancy.update(view)
        rows = self._of_pairs(view, pairs)[self._columns].T
        if self._normalised:
            if len(self._columns) == len(PUBLISHED):
                rows = np.ascontiguousarray(rows)  # summed pair by pair: another order would round differently
            norm = math.sqrt(np.square(rows).sum())
            rows = rows / norm if norm > 0.0 else rows
        observation[pairs.actions] = rows
        return {"observation": observation}

    def _of_pairs(self, view: View, pairs: Pairs) -> npt.NDArray[np.float64]:
        """All features of the allowed pairs, shape (features, pairs)."""
        figures, job_count = self._estimate.figures, self._finder.occupancy.job_count
        seconds, free = known(pairs.times), view.free_cores
        of_job = np.array((view.now - pairs.submitted, seconds, pairs.submitted, pairs.cores))
        static = np.where(job_count > 0, figures.static_w, figures.idle_w)
        dynamic = figures.dynamic_w * (self._cores - free)
        of_node = np.array((free / self._cores, static, dynamic, figures.clock_ghz))
        features = np.empty((len(PUBLISHED), len(pairs)))
        features[:4] = of_job.take(pairs.job_of, axis=1)
        features[4:8] = of_node.take(pairs.node_of, axis=1)
        features[8] = self._estimate.joules(seconds, pairs.cores, job_count).take(pairs.actions)
        features[9] = 1.0
        return features


def chosen(features: str, known: Sequence[str], where: str) -> tuple[str, ...]:
    """The names in ``a+b+c``, in the order of ``known``; all of them for an empty text. Raises SpecError for others."""
    wanted = [name.strip() for name in features.split("+")] if features else list(known)
    for name in wanted:
        if name not in known:
            raise SpecError(where, f"names among {', '.join(known)}, joined by +", name)
    return tuple(name for name in known if name in wanted)


@observations.register("p2")
def p2(features: str = "", norm: str = "whole") -> PublishedPairs:
    """The nine features of López (2023), Table 3.1."""
    return PublishedPairs(PUBLISHED[:9], features, norm, "p2")


@observations.register("p3")
def p3(features: str = "", norm: str = "whole") -> PublishedPairs:
    """The ten features of López, Stafford and Bosque (2025), Table 1."""
    return PublishedPairs(PUBLISHED, features, norm, "p3")


@observations.register("as-published")
def as_published(features: str = "", norm: str = "whole") -> PublishedPairs:
    """The same as p2."""
    return PublishedPairs(PUBLISHED[:9], features, norm, "as-published")


# The default observation registers itself on import. It imports this module, so it comes when that is complete.
import learning.features  # noqa: E402, F401
