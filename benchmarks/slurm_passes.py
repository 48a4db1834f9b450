"""Recorded backfill passes of the real Slurm, computed anew from the recorded state of their instant."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from benchmarks.slurm_runs import Recording, end_of, extras, preemptions, slurm_of
from cluster_sim.errors import ModelWarning
from cluster_sim.formats.slurm import conf_values as values
from schedulers.slurm.administration import Administrator
from schedulers.slurm.backfill import BackfillPass, JobStarted, Planned
from schedulers.slurm.cluster import SlurmCluster
from schedulers.slurm.commands import read_commands
from schedulers.slurm.job_request import Ask, QueuedJob
from schedulers.slurm.protocols import Accounting, BasicPriority
from schedulers.slurm.queue import order
from schedulers.slurm.request_maker import RequestMaker
from schedulers.slurm.scheduler import REQUEUED_WAIT_S
from schedulers.slurm.selection.node_holder import NodeHolder
from schedulers.slurm.settings import Settings

KILL_CLEANUP_S = 3.71
"""How long nodes of a killed job are not clean where no recording tells; where one does, 3.68 to 3.72 s."""
COMMAND_S = 0.2
"""How long after its whole second a command is carried out."""


def state_at(
    recording: Recording, accounting: Accounting, plan: Mapping[str, Any]
) -> tuple[SlurmCluster, list[QueuedJob]]:
    """The cluster and the queue as they were at a recorded pass, which ``plan`` is.

    A job that ended less than 0.15 s before still holds its nodes, unless the pass gave them to another.
    """
    now = plan["t"]
    past = _Past(recording, accounting, now)
    cluster, asks = past.cluster, past.asks
    started = {job_id: values.host_list(nodes) for job_id, nodes in plan.get("started", ())}
    given = {node for nodes in started.values() for node in nodes}
    named = {job_id.partition("_")[0] for job_id, *_ in plan["plan"]} | {i.partition("_")[0] for i in started}
    waiting: list[Ask] = []
    for job_id, ask in asks.items():
        job = _then(recording.jobs[job_id], now, recording.expected.get("log", ()))
        start = job.get("start_exact")
        if start is not None and start < now and job_id not in started:
            if not _is_clean(job, now, given):
                cluster.hold(_held(recording, cluster, ask, job, now))
                if end_of(job) <= now:
                    cluster.end(ask.key)
                    if job.get("preempted"):
                        cluster.clean_all_but_first(ask.key)
        elif (start is None or start >= now or job_id in started) and not ask.held and cluster.is_open(ask, now):
            waits = ask.dependency or ask.begin_time > -math.inf or "attempts" in job
            known = job.get("eligible") if waits else recording.asks[job_id]["submitted"]
            gone = math.inf if start is not None or job.get("end") is None else float(job["end"])
            if known is None or gone <= now:
                continue
            if known + 0.3 <= now or (known <= now and job_id.partition("_")[0] in named):
                waiting.append(ask)
    return cluster, order(cluster, waiting)


class _Past:
    """What had been submitted by an instant, and what the administrator had done; it stands for the scheduler there."""

    def __init__(self, recording: Recording, accounting: Accounting, now: float):
        machine = slurm_of(recording)
        self.cluster = SlurmCluster.of(recording.platform, Settings.of(machine), accounting, recording.epoch)
        self.asks: dict[str, Ask] = {}
        self._waiting: dict[int, tuple[Any, Ask]] = {}
        self._view: Any = SimpleNamespace(now=0.0, is_pending=lambda job: True, running_by_index={})
        commands = read_commands([(event["t"], event["command"]) for event in recording.events if event["t"] <= now])
        self._administrator = Administrator(self, self._waiting, commands, machine.node_names)  # type: ignore[arg-type]
        requests = RequestMaker(extras(recording.asks), "")
        for key, (job_id, given) in enumerate(recording.asks.items()):
            job = recording.jobs.get(job_id)
            if job is not None and job["state"] != "REJECTED" and given["submitted"] <= now:
                self._pass_until(float(given["submitted"]), recording)
                ask = requests.plain(key, job_id, float(given["submitted"]))
                self.asks[job_id], self._waiting[key] = (
                    ask,
                    (SimpleNamespace(requested_cores=recording.cores(job, given)), ask),
                )
                accounting.submitted(ask, 0.0)
        self._pass_until(now, recording)
        self.cluster.up &= ~self._administrator.closed
        self.cluster.note_windows(now)

    def _pass_until(self, time: float, recording: Recording) -> None:
        for key, (_, ask) in list(self._waiting.items()):
            if (recording.jobs[ask.job_id].get("start_exact") or math.inf) < time:
                del self._waiting[key]
        self._view.now = time
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # commands on jobs that run change no pass
            list(self._administrator.act(self._view))

    def changed(self) -> None:
        """Tell nobody."""

    def keep(self, ask: Ask) -> None:
        """A job that is no longer held has a priority again."""
        if not ask.held:
            self.cluster.accounting.eligible(ask, 0.0)


def _then(job: Mapping[str, Any], now: float, log: Iterable[tuple[float, str]]) -> Mapping[str, Any]:
    """A recorded job as it was at an instant: of one that was run several times, the run that then had not ended."""
    eligible, lost = job.get("submit"), preemptions(job, log)
    for number, attempt in enumerate(job.get("attempts", ())[:-1]):
        end = attempt["end"] + COMMAND_S
        free = job.get("nodes_free", 0.0)
        clean = free if end < free < job["start"] else end
        if number < len(lost):
            end, clean = lost[number]
        if now < clean + COMMAND_S:
            one = {"eligible": eligible, "start_exact": attempt["start"], "end_exact": end, "nodes": attempt["nodes"]}
            return {"partition": job["partition"], "nodes_free": clean, "preempted": bool(lost), "attempts": (), **one}
        eligible = math.floor(clean if lost else attempt["end"]) + REQUEUED_WAIT_S
    if job["state"] == "PREEMPTED" and lost:
        end, clean = lost[-1]
        return {
            **job,
            "end_exact": end,
            "nodes_free": end + KILL_CLEANUP_S if clean != clean else clean,
            "preempted": True,
        }
    if (job.get("nodes_free") or math.inf) < (job.get("start_exact") or 0.0):  # that was after the run before
        return {name: value for name, value in job.items() if name != "nodes_free"}
    return job


def _is_clean(job: Mapping[str, Any], now: float, given: set[str]) -> bool:
    """Whether the nodes of a job that ran are free again."""
    if "nodes_free" in job:
        return bool(job["nodes_free"] <= now)
    cleanup = 0.15 if job.get("end_exact") is not None else 4.0
    return end_of(job) + cleanup <= now or (end_of(job) <= now and bool(given & set(job["nodes"])))


def _held(recording: Recording, cluster: SlurmCluster, ask: Ask, job: Mapping[str, Any], now: float) -> NodeHolder:
    entry = QueuedJob(ask, cluster.queues[job["partition"]])
    pieces = {recording.nodes[node]: piece for piece in job.get("allocation", ()) for node in piece["nodes"]}
    nodes = tuple(sorted(recording.nodes[node] for node in job["nodes"]))
    cores = [_cores(pieces[node]["cores"]) if node in pieces else () for node in nodes]
    shape = cluster.shape(entry)
    each = shape.fixed if shape.fixed and not shape.whole else 0
    cpus = tuple(len(own) or each or int(cluster.facts.cpus[node]) for node, own in zip(nodes, cores, strict=True))
    memory = tuple(float(pieces[node]["mem"]) if node in pieces else 0.0 for node in nodes)
    limit = job["limit_s"] if "limit_s" in job else cluster.limit(entry)
    start = job["start_exact"]
    held = NodeHolder(
        ask, nodes, cpus, memory, start, math.floor(start) + limit, partition=entry.queue.name, cores=tuple(cores)
    )
    array = [j.get("start_exact") for i, j in recording.jobs.items() if ask.array and i.partition("_")[0] == ask.array]
    held.made = max((time for time in array if time is not None and time < start), default=held.made)
    for time, what in job.get("suspensions", ()):
        if time <= now and what == "suspended":
            held.stopped = time
        elif time <= now:
            held.end += time - held.stopped
            held.stopped = math.nan
    return held


def _cores(text: str) -> tuple[int, ...]:
    return tuple(core for part in values.array_tasks(text) for core in part)


Decided = list[tuple[str, float, list[str]]]


def recorded_pass(plan: Mapping[str, Any]) -> tuple[Decided, Decided]:
    """Who started in a recorded pass, and who was planned: id (of the whole array), start (s), nodes."""
    started = [(_head(job_id), plan["t"], values.host_list(nodes)) for job_id, nodes in plan.get("started", ())]
    return started, [(_head(job_id), start, nodes) for job_id, start, nodes in plan["plan"]]


def computed_pass(recording: Recording, plan: Mapping[str, Any]) -> tuple[Decided, Decided]:
    """Compute the pass by our rules, from the recorded state of that instant."""
    cluster, queue = state_at(recording, BasicPriority(), plan)
    names = slurm_of(recording).node_names
    started: Decided = []
    planned: Decided = []
    for outcome in BackfillPass(cluster, queue, plan["t"]).decisions():
        if isinstance(outcome, (JobStarted, Planned)):
            where = [names[node] for node in outcome.choice.nodes]
            head = _head(outcome.entry.ask.job_id)
            if isinstance(outcome, JobStarted):
                started.append((head, plan["t"], where))
            else:
                planned.append((head, outcome.start, where))
    return started, planned


def _head(job_id: str) -> str:
    return job_id.partition("_")[0]


def passes_that_agree(recording: Recording) -> tuple[int, int]:
    """How many recorded backfill passes we compute exactly, and how many there are (but for those before the first job)."""
    plans = [plan for plan in recording.plans["plans"] if plan["t"] >= 0.0]
    return sum(computed_pass(recording, plan) == recorded_pass(plan) for plan in plans), len(plans)
