"""The energy estimate of López (2023), Eq. 3.6, and the figures of nodes that it is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cluster_sim.models.processor_step import ProcessorModel
from cluster_sim.run.view import View

Floats = npt.NDArray[np.float64]


class NodeFigures:
    """Figures of nodes in López (2023), from the nodes' types, each of shape (nodes,)."""

    def __init__(self, view: View):
        models = view.machine.processor_models
        self._of_type = [[models.of(kind) for kind in node_type.processors] for node_type in view.platform.node_types]
        types = view.platform.node_types
        clocks = [[p.clock_ghz for p in node_type.processors] for node_type in types]
        self.clock_ghz = self._by_type(view, [sum(own) / len(own) for own in clocks])  #: Mean.
        self.idle_w = self._by_type(view, [sum(m.watts[0] for m in models) for models in self._of_type])
        parts = [[_parts(model) for model in models] for models in self._of_type]
        self.static_w = self._by_type(view, [sum(static for static, _ in pairs) for pairs in parts])
        cores = [[p.cores for p in t.processors] for t in types]
        self.dynamic_w = self._by_type(  #: Of one core, mean over the node's.
            view,
            [
                sum(count * own for count, (_, own) in zip(counts, pairs, strict=True)) / sum(counts)
                for counts, pairs in zip(cores, parts, strict=True)
            ],
        )

    @staticmethod
    def _by_type(view: View, figures: Sequence[float]) -> Floats:
        return np.array(figures, np.float64)[view.platform.type_of_node]


class EnergyEstimate:
    """López (2023), Eq. 3.6: requested time · f_min / f · (static / (j + 1) + n · dynamic), J.

    f is the node's mean clock and f_min the least of all nodes, j the jobs that run on it, n the job's tasks. static
    are the watts of its processors when they compute, and dynamic those of one busy core. A job that requested no time
    is estimated at 0 J: nothing is known of it.
    """

    def __init__(self, view: View):
        self._of = view.platform, view.machine.processor_models
        self.figures = figures = NodeFigures(view)
        self.slower = figures.clock_ghz.min() / figures.clock_ghz  #: f_min / f of each node.

    def is_of(self, view: View) -> bool:
        """Return whether this estimate is of the view's machine and models, and need not be made again."""
        platform, models = self._of
        return view.platform is platform and view.machine.processor_models is models

    def of(self, times: Floats, cores: Floats, job_count: Floats) -> Floats:
        """Return the estimate of every pair, J, shape (jobs, nodes), from requested times (s; inf: none) and cores.

        ``job_count`` are the jobs on each node.
        """
        share = self.figures.static_w / (job_count + 1.0)
        return joules(known(times)[:, None], cores[:, None], self.slower, share, self.figures.dynamic_w)


def joules(seconds: Floats, cores: Floats, slower: Floats, share: Floats, of_a_core: Floats) -> Floats:
    """Return the estimate of jobs that request these times (s; 0: none) and cores, J; ``share`` is static / (j + 1)."""
    estimate: Floats = seconds * slower * (share + cores * of_a_core)
    return estimate


def known(times: Floats) -> Floats:
    """Return requested times, s; 0 for jobs without one."""
    given = times < np.inf
    return times if given.all() else np.where(given, times, 0.0)


def _parts(model: ProcessorModel) -> tuple[float, float]:
    """Return (static, dynamic per core) W of the straight line through one and all busy cores."""
    watts, cores = model.watts, model.kind.cores
    dynamic = (watts[cores] - watts[1]) / (cores - 1) if cores > 1 else model.power.core_watts(model.kind, 1)
    return watts[1] - dynamic, dynamic
