"""The administrator of a simulated Slurm: plays commands on nodes, partitions, jobs and reservations when their time comes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from cluster_sim.errors import InputError, ModelWarning, warn_user
from cluster_sim.formats.slurm import conf_values as values
from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.platform.accounts import Accounts
from cluster_sim.platform.slurm import SlurmMachine
from cluster_sim.run.decisions import Decision, Preempt, Reject
from cluster_sim.run.view import View
from schedulers.slurm.cluster import SlurmCluster, SlurmReservation
from schedulers.slurm.commands import Command
from schedulers.slurm.job_request import Ask
from schedulers.slurm.running_jobs import lives_on
from schedulers.slurm.selection.node_holder import NodeHolder
from schedulers.slurm.selection.node_sets import NodeSet, set_of
from schedulers.slurm.settings import refuse_slices

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job

_OF_PARTITION = {
    "state": "state",
    "maxtime": "max_time",
    "defaulttime": "default_time",
    "minnodes": "min_nodes",
    "maxnodes": "max_nodes",
    "prioritytier": "tier",
}
_OF_JOB = {"nice": "nice", "timelimit": "limit_s", "qos": "qos", "dependency": "dependency"}

NODE_FAIL = Reason(ReasonKind.NODE_FAIL)
"""Reason of a job that has lost its nodes because they were down."""
ANSWER_S = 1.0
"""Time, s, after which a resumed node has answered, and gets jobs."""


class Administered(Protocol):
    """The scheduler, as far as an administrator changes it."""

    cluster: SlurmCluster

    def changed(self) -> None:
        """Note that nodes, partitions or jobs are others than before."""
        ...

    def keep(self, ask: Ask) -> None:
        """Keep a job out of the queue as long as it has to wait for something else."""
        ...


class Administrator:
    """Obeys commands in a run of a scheduler; it remembers which nodes it has closed, and what it changed of jobs."""

    def __init__(
        self,
        slurm: Administered,
        waiting: Mapping[int, tuple[Job, Ask]],
        commands: Sequence[Command],
        node_names: Sequence[str],
    ):
        self._slurm = slurm
        self._waiting = waiting
        self._left: list[Command] = []
        for command in commands:
            resumes = command.options.get("state") in ("RESUME", "UNDRAIN")
            self._left.append(replace(command, time=command.time + ANSWER_S) if resumes else command)
        self._left.sort(key=lambda command: command.time)
        self._position = {name: index for index, name in enumerate(node_names)}
        self.closed: NodeSet = 0  #: Nodes that are down or drained.
        self._changed: dict[int, dict[str, Any]] = {}  # of each job: fields of its request
        self.aliases: Mapping[str, str] = {}  #: Changed names of users in an anonymised workload.

    @property
    def next_time(self) -> float:
        """Return when the next command comes, s; inf: none does."""
        return self._left[0].time if self._left else math.inf

    def act(self, view: View) -> Iterator[Decision]:
        """Obey the commands whose time has come."""
        while self.next_time <= view.now:
            command = self._left.pop(0)
            kind = command.action.rpartition(" ")[2]
            if kind == "node":
                nodes, state = self._nodes(command), command.options.get("state", "")
                if state in ("RESUME", "UNDRAIN"):
                    self.closed &= ~nodes
                elif state:
                    self.closed |= nodes
                if state == "DOWN":
                    for held in self._running(view):
                        if held.mask & nodes:
                            mode = "cancel" if held.ask.no_requeue else "requeue"
                            yield Preempt(_job_of(held, view), mode, because=NODE_FAIL)
            elif kind == "partition":
                for name in command.names:
                    queue = self._slurm.cluster.queues[name]
                    for key, value in command.options.items():
                        setattr(queue, _OF_PARTITION[key], value)
            elif kind == "reservation":
                windows, (name,) = self._slurm.cluster.windows, command.names
                others = [window for window in windows if window.name != name]
                if command.action == "delete reservation" and len(others) == len(windows):
                    _warn(command, f"no reservation {name}")
                windows[:] = others
                if command.action == "create reservation":
                    options = command.options
                    users = frozenset(self.aliases.get(user.lower(), user.lower()) for user in options.get("users", ()))
                    windows.append(
                        SlurmReservation(name, options["starttime"], options["endtime"], self._nodes(command), users)
                    )
            else:
                names = set(command.names)
                waiting = [
                    pair for pair in self._waiting.values() if _is_named(pair[1], names) and view.is_pending(pair[0])
                ]
                running = [held for held in self._running(view) if _is_named(held.ask, names)]
                if not waiting and not running:
                    _warn(command, f"no job {', '.join(command.names)} waits or runs")
                for job, ask in waiting:
                    if command.action == "cancel":
                        yield Reject(job, "cancelled")
                    elif command.action != "requeue":
                        self._change(command, job, ask)
                for held in running:
                    if command.action in ("cancel", "requeue"):
                        because = "cancelled by scancel" if command.action == "cancel" else "requeued by scontrol"
                        yield Preempt(_job_of(held, view), command.action, because=because)
                    elif "timelimit" in command.options:
                        end = math.floor(held.start) + command.options["timelimit"]
                        self._slurm.cluster.end_later(held.ask.key, end)
            if command.action != "cancel":
                self._slurm.changed()

    def amend(self, ask: Ask) -> None:
        """Give a job that waits again what was changed of it."""
        for name, value in self._changed.get(ask.key, {}).items():
            setattr(ask, name, value)

    # ------------------------------------------------------------------ nodes, partitions, reservations

    def _nodes(self, command: Command) -> NodeSet:
        return set_of([self._position[name] for name in _node_names(command, tuple(self._position))])

    # ------------------------------------------------------------------ jobs

    def _running(self, view: View) -> list[NodeHolder]:
        """Return the jobs that hold nodes and have not ended: they run, or are suspended."""
        return [held for held in self._slurm.cluster.held.values() if not held.ending and lives_on(held, view)]

    def _change(self, command: Command, job: Job, ask: Ask) -> None:
        """Hold or release a job, or change its request."""
        slurm, options = self._slurm, command.options
        accounting = slurm.cluster.accounting
        fields = {_OF_JOB[key]: value for key, value in options.items() if key in _OF_JOB}
        if command.action in ("hold", "release") or "priority" in options:
            fields["held"] = command.action == "hold" or options.get("priority") == 0
        least, most = options.get("numnodes", (0, 0))
        if least > job.requested_cores:
            text = f"job {job.job_id} has {job.requested_cores} cores: its nodes stay as they are"
            warn_user(ModelWarning(f"scheduler 'slurm', commands, {command.time:g} s, NumNodes: {text}"))
        elif "numnodes" in options:
            fields["min_nodes"], fields["max_nodes"] = least, min(most, job.requested_cores)
        if "partition" in options:
            fields["partitions"] = tuple(options["partition"].split(","))
        self._changed.setdefault(ask.key, {}).update(fields)
        self.amend(ask)
        slurm.cluster.forget(ask)
        accounting.changed(ask, command.time)
        if ask.held or options.get("dependency"):
            accounting.held(ask)
        # Last: who is held, or waits for others again, loses the priority that was set before.
        if options.get("priority"):
            accounting.set_priority(ask, options["priority"])
        slurm.keep(ask)


def _job_of(held: NodeHolder, view: View) -> Job:
    """Return a job that runs or is suspended."""
    running = view.running_by_index.get(held.ask.key)
    return view.planning.suspended_by_index[held.ask.key].job if running is None else running.job


def check_names(commands: Iterable[Command], machine: SlurmMachine) -> None:
    """Raise InputError, which names the line, for nodes and partitions that there are not."""
    nodes, partitions = frozenset(machine.node_names), frozenset(each.name for each in machine.partitions)
    for command in commands:
        if command.action in ("update node", "create reservation"):
            _check(command, _node_names(command, machine.node_names), nodes)
        elif command.action == "update partition":
            _check(command, command.names, partitions)
        elif "partition" in command.options:
            _check(command, command.options["partition"].split(","), partitions)


def check_tiers(commands: Iterable[Command], machine: SlurmMachine) -> None:
    """Raise InputError, which names the line, for tiers by which jobs would take turns on their cores."""
    partitions = {each.name: each for each in machine.partitions}
    for command in commands:
        if command.action == "update partition" and "prioritytier" in command.options:
            for name in command.names:
                partitions[name] = replace(partitions[name], priority_tier=command.options["prioritytier"])
            refuse_slices(partitions.values(), command.where)


def check_qualities(commands: Iterable[Command], accounts: Accounts) -> None:
    """Raise InputError, which names the line, for qualities of service that there are not."""
    for command in commands:
        if command.options.get("qos"):
            _check(command, [command.options["qos"].lower()], accounts.qos_by_name)


def _check(command: Command, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise InputError(command.where, f"one of {', '.join(sorted(known)[:20])}", name)


def _node_names(command: Command, every: Sequence[str]) -> Sequence[str]:
    """Return the names of nodes of a command; ``ALL`` are all of them."""
    names = values.host_list(command.options["nodes"]) if "nodes" in command.options else command.names
    return every if [name.upper() for name in names] == ["ALL"] else names


def _warn(command: Command, what: str) -> None:
    text = f"scheduler 'slurm', commands, {command.time:g} s: {what}: nothing is done"
    warn_user(ModelWarning(text))


def _is_named(ask: Ask, names: set[str]) -> bool:
    return ask.job_id in names or (bool(ask.array) and ask.array in names)
