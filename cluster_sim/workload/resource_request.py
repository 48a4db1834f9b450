"""What a job asks for besides cores and memory: GPUs and other counted units of its nodes, and licences of the platform."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from cluster_sim.errors import InputError

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job

WHOLE = 1_000_000
"""Parts of a unit: a job can have a share of one that is a whole number of these."""

GPU = "gpu"
GPU_COLUMNS = ("gpus", "gpus_per_node", "gpus_per_task")
"""The three ways of asking for GPUs, of which a job takes one."""

RESOURCE_COLUMNS = (*GPU_COLUMNS, "gpu_type", "gpu_share", "resources", "licenses")
"""All columns of jobs about counted units and licences."""

_UNITS = re.compile(r"(?P<name>[^\W\d][\w.+-]*)(?:[:=](?P<count>[0-9]{1,9}))?")


class Per(Enum):
    """What a number of units is for."""

    NODE = "on each node"
    TASK = "for each task"
    JOB = "in all"


class Units(NamedTuple):
    """Units of one resource that a job asks for."""

    resource: str
    number: int
    per: Per

    def of_nodes(self, tasks: Sequence[int], nodes: int) -> list[int]:
        """Return how many of them go with the tasks on each node of a job that asks for so many ``nodes`` (0: any).

        Units in all go evenly over the nodes that the job asks for, the first ones getting one more; else in proportion to
        the tasks, node by node, so that they add up.
        """
        if self.per is Per.NODE:
            return [self.number] * len(tasks)
        if self.per is Per.TASK:
            return [self.number * number for number in tasks]
        if nodes:
            each, left = divmod(self.number, len(tasks))
            return [each + (place < left) for place in range(len(tasks))]
        total, reached = sum(tasks), [0]
        for number in tasks:
            reached.append(reached[-1] + number)
        return [self.number * after // total - self.number * before // total for before, after in pairwise(reached)]


class ResourceRequest(NamedTuple):
    """What one job asks for: units of its nodes, which share of each GPU, of which types, and licences."""

    units: tuple[Units, ...]
    share: int = WHOLE  #: Parts of each GPU, of WHOLE.
    gpu_types: tuple[str, ...] = ()  #: Any of these; empty: all.
    licences: tuple[tuple[str, int], ...] = ()


NOTHING = ResourceRequest(())


def resource_request(job: Job) -> ResourceRequest:
    """Return what a job asks for. Raises InputError for licences that cannot be read."""
    counts = (job.gpus, job.gpus_per_node, job.gpus_per_task)
    return _request(counts, job.gpu_share, job.gpu_type, job.resources, job.licenses)


def gpu_count(job: Job) -> int:
    """Return how many GPUs a job asks for; of ``gpus_per_node`` on any nodes those of one."""
    return job.gpus or job.gpus_per_task * job.requested_cores or job.gpus_per_node * max(job.nodes, 1)


@lru_cache(maxsize=1024)
def _request(
    counts: tuple[int, int, int], share: float, gpu_types: str, resources: str, licences: str
) -> ResourceRequest:
    units = [Units(GPU, count, per) for count, per in zip(counts, (Per.JOB, Per.NODE, Per.TASK), strict=True) if count]
    units += [Units(name, count, Per.NODE) for name, count in parse_units(resources).items() if count]
    types = tuple(filter(None, gpu_types.split("|")))
    wanted = tuple((name, count) for name, count in parse_units(licences, "licenses").items() if count)
    return ResourceRequest(tuple(units), max(round(share * WHOLE), 1), types, wanted)


def parse_units(text: str, where: str = "resources") -> dict[str, int]:
    """Read ``fpga:2;disk``: the number of each, 1 where none is given; ``,`` and ``=`` do for the signs between.

    Raises InputError for other text, and for GPUs, of which other columns say more.
    """
    counts: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.replace(";", ",").split(","))):
        match = _UNITS.fullmatch(part)
        if match is None:
            raise InputError(where, "names with counts, such as fpga:2;disk:1", text)
        if match["name"] == GPU:
            raise InputError(where, f"units other than GPUs, which {', '.join(GPU_COLUMNS)} ask for", text)
        counts[match["name"]] = counts.get(match["name"], 0) + int(match["count"] or 1)
    return counts
