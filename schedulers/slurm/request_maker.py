"""Jobs of a workload as Slurm's requests."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from cluster_sim.errors import FormatError, InputError
from cluster_sim.files.reading import read_text
from cluster_sim.workload.jobs import Job
from schedulers.slurm.dependencies import Dependency
from schedulers.slurm.job_request import Ask
from schedulers.slurm.job_request_values import check, with_positions
from schedulers.slurm.settings import licences_of


class RequestMaker:
    """Makes the request of each job, from its fields and from what ``more`` says of it by its id.

    ``more`` has fields of :class:`~schedulers.slurm.job_request.Ask` that workloads do not have: nice values, ``--time-min``,
    lists of nodes, limits of arrays. It is a mapping, or the name of a JSON file. Raises FormatError or InputError for other
    fields, and for values that cannot be. Nodes are named as in the slurm.conf, ``"n[1-3,5]"`` or ``["n1", "n5"]``, or by
    their positions; ``node_names`` are the names of all.
    """

    def __init__(
        self, more: str | Mapping[str, Mapping[str, Any]], default_partition: str, node_names: Sequence[str] = ()
    ):
        self._default = default_partition
        if isinstance(more, str):
            where, more = more, _read(more) if more else {}
        else:
            where = "scheduler 'slurm', asks"
        positions = {name: position for position, name in enumerate(node_names)}
        self._more: dict[str, Mapping[str, Any]] = {}
        for job_id, said in more.items():
            given = with_positions(f"{where}, job {job_id}", said, positions)
            check(f"{where}, job {job_id}", given, len(node_names) or None)
            if dependency := given.get("dependency"):
                try:
                    Dependency.parse(dependency)
                except FormatError as error:
                    raise InputError(f"{where}, job {job_id}, dependency", error.expected, dependency) from None
            self._more[job_id] = given
        self.aliases: Mapping[str, Mapping[str, str]] = {}  #: Names that an anonymised workload has changed.
        #: Whether any job waits for others.
        self.has_dependencies = any(given.get("dependency") for given in self._more.values())

    def of(self, job: Job, now: float) -> Ask:
        """Return what a job asks for that is submitted now (s)."""
        partition = job.partition
        array, _, task = job.job_id.partition("_")
        array_of = array if array.isdigit() and task.isdigit() else ""
        ask = Ask(
            job.index,
            job.job_id,
            now,
            job.user.lower(),
            job.account.lower(),
            job.qos,
            tuple(partition.split(",")) if partition not in ("", "-1") else (self._default,),
            limit_s=job.requested_time if job.requested_time < math.inf else math.nan,
            min_nodes=job.nodes,
            tasks=job.requested_cores,
            cores=job.requested_cores,
            tasks_per_node=job.ntasks_per_node,
            memory_per_cpu=job.memory,
            gpus_per_node=job.gpus_per_node or job.gpus // max(job.nodes, 1),
            gpu_type=job.gpu_type,
            exclusive=job.exclusive,
            features="&".join(sorted(job.requires)),
            licences=licences_of(job.licenses),
            reservation=job.reservation,
            switches=job.switches,
            switch_wait_s=job.switch_wait,
            array=array_of,
            array_limit=job.array_limit,
            name=job.profile,
        )
        ask = self._with_more(ask)
        ask.max_nodes = min(ask.max_nodes, max(job.requested_cores, ask.min_nodes))  # a node has at least a core
        return ask

    def plain(self, key: int, job_id: str, submit_time: float) -> Ask:
        """Return the request of a job of which no more is known than what was said when this was made."""
        return self._with_more(Ask(key, job_id, submit_time))

    def _with_more(self, ask: Ask) -> Ask:
        for name, value in self._more.get(ask.job_id, {}).items():
            if name in ("user", "account"):
                value = self.aliases.get(name, {}).get(value.lower(), value.lower())
            elif name == "name":
                value = self.aliases.get("profile", {}).get(value, value)
            setattr(ask, name, tuple(value) if isinstance(value, list) else value)
        return ask


def why_no_gpus(job: Job, ask: Ask, shares_cores: bool, widest: int) -> str:
    """Say why a job cannot have the GPUs that it asks for, as far as they are simulated; empty: it can.

    ``widest`` is how many CPUs the widest node has: a job of more, on any number of nodes, says nothing of the GPUs on each.
    """
    if job.gpus_per_task:
        return f"it asks for {job.gpus_per_task} GPUs for each task: only GPUs on each node are simulated"
    if job.gpu_share < 1.0 and ask.gpus_per_node:
        return f"it asks for a share of {job.gpu_share:g} of a GPU: only whole ones are simulated"
    if job.resources:
        return f"it asks for {job.resources} on each node: of counted resources only GPUs are simulated"
    if ask.gpus_per_node and shares_cores:
        return f"it asks for {ask.gpus_per_node} GPUs on a node, which are not simulated where jobs share cores"
    if job.gpus and not job.nodes and job.requested_cores > widest:
        return f"it asks for {job.gpus} GPUs on any number of nodes: only as many on each are simulated"
    if job.gpus % max(job.nodes, 1):
        return f"it asks for {job.gpus} GPUs on {job.nodes} nodes: only as many on each are simulated"
    return ""


def _read(path: str) -> dict[str, dict[str, Any]]:
    text = read_text(path)
    try:
        found = json.loads(text)
    except RecursionError:
        raise FormatError(path, "JSON", "lists or objects within each other, too deep to read") from None
    except ValueError as error:
        raise FormatError(path, "JSON", str(error)) from None
    if not isinstance(found, dict) or not all(isinstance(given, dict) for given in found.values()):
        raise FormatError(path, "an object with an object for each job", type(found).__name__)
    return found
