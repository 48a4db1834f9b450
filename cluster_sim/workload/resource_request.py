"""What a job asks for besides cores and memory: GPUs and other counted units of its nodes, and licences of the platform."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from cluster_sim.errors import InputError
from cluster_sim.platform.hardware import RESOURCE_NAME

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job

WHOLE = 1_000_000
"""Parts of a unit: a job can have a share of one that is a whole number of these."""

GPU = "gpu"
GPU_COLUMNS = ("gpus", "gpus_per_node", "gpus_per_task")
"""The three ways of asking for GPUs, of which a job takes one."""

RESOURCE_COLUMNS = (*GPU_COLUMNS, "gpu_type", "gpu_share", "resources", "licenses")
"""All columns of jobs about counted units and licences."""

_UNITS = re.compile(rf"(?P<name>{RESOURCE_NAME})(?:[:=](?P<count>[0-9]{{1,9}}))?")


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


def resource_request(job: Job, licences: bool) -> ResourceRequest:
    """Return what a job asks for; its ``licences`` only if they count."""
    counts = (job.gpus, job.gpus_per_node, job.gpus_per_task)
    return _request(counts, job.gpu_share, job.gpu_type, job.resources, job.licenses if licences else "")


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
    return ResourceRequest(tuple(units), max(round(share * WHOLE), 1), types, _licences(licences))


def _licences(text: str) -> tuple[tuple[str, int], ...]:
    """Read ``matlab:2,flex@server``. What is no name with a number is a name that no pool has."""
    counts: dict[str, int] = {}
    for part in _parts(text):
        name, _, number = part.replace("=", ":").rpartition(":")
        has_number = bool(name) and number.isascii() and number.isdigit() and len(number) <= 9
        counts_for = name if has_number else part
        counts[counts_for] = counts.get(counts_for, 0) + (int(number) if has_number else 1)
    return tuple((name, count) for name, count in counts.items() if count)


def _parts(text: str) -> list[str]:
    """Return the parts of a list in which ``;`` or ``,`` stand between."""
    return [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]


def parse_units(text: str) -> dict[str, int]:
    """Read ``fpga:2;disk``: the number of each, 1 where none is given; ``,`` and ``=`` do for the signs between.

    Raises InputError for other text, and for GPUs, of which other columns say more.
    """
    counts: dict[str, int] = {}
    for part in _parts(text):
        match = _UNITS.fullmatch(part)
        if match is None:
            raise InputError("resources", "names with counts, such as fpga:2;disk:1", text)
        if match["name"] == GPU:
            raise InputError("resources", f"units other than GPUs, which {', '.join(GPU_COLUMNS)} ask for", text)
        counts[match["name"]] = counts.get(match["name"], 0) + int(match["count"] or 1)
    return counts
