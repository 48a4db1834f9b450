"""Fragmentation of GPUs (Weng et al., "Beware of Fragmentation", USENIX ATC 2023): what is free and cannot be used.

A node's fragmentation is what the *typical jobs* of a workload could not use of its free GPUs, weighted by how often such
jobs come. A typical job that would not fit on the node loses all of them; one that fits loses the GPUs of which less is
left than it takes; one that needs no GPU loses all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cluster_sim.workload.resource_request import GPU, WHOLE

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.platform.platform import Platform

    Ints = npt.NDArray[np.integer]
    Floats = npt.NDArray[np.float64]

COVERED = 0.95
"""Share of the jobs that the typical ones stand for: the most frequent ones of these."""


class OnOneNode(NamedTuple):
    """What a job asks for on one node."""

    cores: int
    share: int  #: Parts of each GPU, of WHOLE; 0 without GPUs.
    gpus: int
    types: str  #: As in the job: several joined by ``|``; empty: any.


def asked_on_one_node(columns: Mapping[str, Any]) -> list[OnOneNode]:
    """Return what each job of a workload's columns asks for on one node; a job of several nodes asks for a part on each."""
    nodes = np.maximum(columns["nodes"], 1)
    cores = -(-columns["requested_cores"] // nodes)
    gpus = columns["gpus_per_node"] + columns["gpus_per_task"] * cores - (-columns["gpus"] // nodes)
    shares = np.where(gpus > 0, np.maximum(np.rint(columns["gpu_share"] * WHOLE), 1), 0).astype(np.int64)
    rows = zip(cores.tolist(), shares.tolist(), gpus.tolist(), columns["gpu_type"].tolist(), strict=True)
    return [OnOneNode(*row) for row in rows]


class TypicalJobs:
    """The most frequent requests of a workload, which are so many that they cover 95 % of its jobs, as arrays."""

    def __init__(self, columns: Mapping[str, Any]):
        counts = Counter(asked_on_one_node(columns))
        ranked = sorted(counts.items(), key=lambda entry: (entry[1], entry[0]), reverse=True)
        chosen, covered, total = [], 0, sum(counts.values())
        for asked, count in ranked:
            if covered >= COVERED * total:
                break
            chosen.append((asked, count))
            covered += count
        self.asked = [asked for asked, _ in chosen]
        # A quotient of shares of all jobs, as the paper's program has it: scores near a whole number depend on its last bit.
        self.weights: Floats = np.array([(count / total) / (covered / total) for _, count in chosen])
        self._cores = np.array([asked.cores for asked in self.asked], np.int64)
        self._shares = np.array([asked.share for asked in self.asked], np.int64)
        self._gpus = np.array([asked.gpus for asked in self.asked], np.int64)

    def accepted_on(self, platform: Platform) -> npt.NDArray[np.bool_]:
        """Return which of the requests take the GPUs of which node, shape (nodes, requests)."""
        kinds = [kind.resources[GPU].type if GPU in kind.resources else "" for kind in platform.node_types]
        taken = [[not asked.types or kind in asked.types.split("|") for asked in self.asked] for kind in kinds]
        return np.array(taken, bool)[platform.type_of_node]

    def fragmentation(self, cores: Ints, left: Ints, accepted: npt.NDArray[np.bool_]) -> Floats:
        """Return the fragmentation of nodes in thousandths of a GPU, shape (nodes,).

        ``cores`` are free, shape (nodes,), and of each GPU is ``left`` so much, parts of WHOLE, shape (nodes, GPUs);
        ``accepted`` says which requests take the GPUs of which node, shape (nodes, requests).
        """
        milli = left // (WHOLE // 1000)
        total = milli.sum(axis=1)
        enough = left[:, np.newaxis, :] >= self._shares[np.newaxis, :, np.newaxis]
        has_cores = cores[:, np.newaxis] >= self._cores
        has_gpus = enough.sum(axis=2) >= self._gpus
        too_small = (milli[:, np.newaxis, :] * ~enough).sum(axis=2)
        wants = self._gpus > 0
        lost = np.broadcast_to(total[:, np.newaxis], has_cores.shape)
        weighted, weighted_small = self.weights * lost, self.weights * too_small
        able = wants & accepted
        # Scores of nodes are cut to whole numbers, so that the order of the additions decides near one. Sums are apart: of
        # jobs that lack cores and GPUs, GPUs, cores; without GPUs that fit, that do not; of other types.
        sums = (
            np.where(able & ~has_cores & ~has_gpus, weighted, 0.0),
            np.where(
                able & has_gpus & has_cores, weighted_small, np.where(able & has_cores & ~has_gpus, weighted, 0.0)
            ),
            np.where(able & has_gpus & ~has_cores, weighted, 0.0),
            np.where(~wants & has_cores, weighted, 0.0),
            np.where(~wants & ~has_cores, weighted, 0.0),
            np.where(wants & ~accepted, weighted, 0.0),
        )
        # `cumsum` adds one after the other, where `sum` adds in pairs.
        found: Floats = np.zeros(len(cores))
        for each in sums:
            found = found + each.cumsum(axis=1)[:, -1]
        return found
