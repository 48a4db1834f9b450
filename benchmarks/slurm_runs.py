"""Recorded runs of the real Slurm, as inputs for ours: what each job asked for, and what became of it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from benchmarks.slurm_accounts import sacctmgr_output
from cluster_sim import Platform, Result, Simulation, Workload
from cluster_sim.errors import InputError
from cluster_sim.formats.slurm import conf_values as values
from cluster_sim.formats.slurm.sacctmgr import read_accounts
from cluster_sim.platform.accounts import Accounts
from cluster_sim.platform.slurm import SlurmMachine
from schedulers import Scheduler
from schedulers.slurm.scheduler import Slurm
from schedulers.slurm.settings import Settings

_DIRECT = {
    "nodelist": "required_nodes",
    "exclude": "excluded_nodes",
    "exclusive": "exclusive",
    "spread-job": "spread",
    "nice": "nice",
    "constraint": "features",
    "reservation": "reservation",
    "qos": "qos",
    "ntasks-per-node": "tasks_per_node",
    "cpus-per-task": "cpus_per_task",
    "ntasks": "tasks",
    "hold": "held",
    "no-requeue": "no_requeue",
}


@dataclass
class Recording:
    """One recorded run. ``asks`` are the requests of its jobs by id, as fields of Ask; ``jobs`` what became of them."""

    name: str
    conf: str
    platform: Platform
    asks: dict[str, dict[str, Any]]
    jobs: dict[str, dict[str, Any]]
    expected: Mapping[str, Any]
    plans: Mapping[str, Any]
    events: list[dict[str, Any]]
    accounts: Accounts | None = None
    nodes: dict[str, int] = field(default_factory=dict)  #: Positions of nodes by Slurm's names.

    @classmethod
    def read(cls, folder: Path) -> Recording:
        """The run in a folder."""
        platform = Platform.read(str(folder / "slurm.conf"))
        assert platform.slurm is not None
        nodes = {name: index for index, name in enumerate(platform.slurm.node_names)}
        content = {
            name: json.loads((folder / f"{name}.json").read_text()) for name in ("jobs", "expected", "plans", "events")
        }
        default = platform.slurm.partition()
        asks: dict[str, dict[str, Any]] = {}
        for job in content["jobs"]:
            for job_id, ask in _requests(job, nodes):
                ask.setdefault("partitions", ("" if default is None else default.name,))
                asks[job_id] = ask
        jobs = {job["id"]: job for job in content["expected"]["jobs"]}
        for job_id, job in jobs.items():
            if job_id in asks:
                asks[job_id]["kill_cleanups_s"] = tuple(_clean_ups(job, content["expected"].get("log", ())))
        conf = str(folder / "slurm.conf")
        return cls(
            folder.name,
            conf,
            platform,
            asks,
            jobs,
            content["expected"],
            content["plans"],
            content["events"],
            _accounts(folder),
            nodes,
        )

    @property
    def epoch(self) -> float:
        """What the clock shows at 0 s, modulo an hour."""
        return float(self.expected["epoch_mod_3600"])

    @property
    def submission(self) -> float:
        """How long after its whole second a job is there, s: shortly before the first sign of one in its second."""
        signs = [job["start_exact"] - job["submit"] for job in self.jobs.values() if job.get("start_exact")]
        for time, text in self.expected.get("log", ()):
            by = text.rpartition(" for job ")[2]
            if text.startswith("preempted job") and by in self.jobs:
                signs.append(time - self.jobs[by]["submit"])
        first = min((sign for sign in signs if 0.0 < sign < 1.0), default=0.0)
        return min(max(first - 0.03, SUBMISSION_S), LATEST_S)

    def workload(self) -> Workload:
        """The jobs that were submitted, with their recorded run times."""
        rows = []
        for job_id, ask in self.asks.items():
            job = self.jobs.get(job_id)
            if job is None:
                continue
            submit = float(ask["submitted"]) + self.submission
            rows.append((job_id, submit, self.cores(job, ask), self._limit(ask), self.run_time(job, ask)))
        columns = ["job_id", "submit_time", "requested_cores", "requested_time", "recorded_run_time"]
        table = pd.DataFrame(rows, columns=columns).sort_values("submit_time", kind="stable", ignore_index=True)
        table["user"] = [self.asks[job_id].get("user", "") for job_id in table["job_id"]]
        table["fixed_run_time"] = True
        return Workload(table)

    def _limit(self, ask: Mapping[str, Any]) -> float:
        return math.inf if math.isnan(ask["limit_s"]) else float(ask["limit_s"])

    def cores(self, job: Mapping[str, Any], ask: Mapping[str, Any]) -> int:
        """How many a job had; one on each node at least."""
        return max(int(job.get("cpus") or 1), int(ask.get("min_nodes") or 1))

    def run_time(self, job: Mapping[str, Any], ask: Mapping[str, Any]) -> float:
        """How long the payload ran, or, where it was stopped or never ran, would have run."""
        if (
            job.get("start_exact") is None
            or job.get("end_exact") is None
            or job["state"] not in ("COMPLETED", "FAILED")
            or job.get("suspensions")
        ):
            return float(ask["run"]) + 0.05
        return float(job["end_exact"]) - float(job["start_exact"])


def preemptions(job: Mapping[str, Any], log: Iterable[tuple[float, str]]) -> list[tuple[float, float]]:
    """When the job lost its nodes to others, each time, and these were clean (s; NaN: that is not recorded)."""
    found: list[tuple[float, float]] = []
    for time, text in log:
        if text.startswith(f"preempted job {job['id']} "):
            found.append((time, math.nan))
        elif text == f"Requeuing job {job['id']}" and found:
            found[-1] = found[-1][0], time
    free = job.get("nodes_free")
    if found and job["state"] == "PREEMPTED" and free is not None:
        found[-1] = found[-1][0], free
    return found


def _clean_ups(job: Mapping[str, Any], log: Iterable[tuple[float, str]]) -> list[float]:
    """How long it took, s, each time that the job was killed, until its nodes were clean."""
    found = preemptions(job, log)
    if found:
        return [free - end for end, free in found if free == free]
    free = job.get("nodes_free")
    if free is None or job.get("end") is None:
        return []
    ends = [attempt["end"] + SUBMISSION_S for attempt in job.get("attempts", ()) if attempt["end"] < free]
    return [max(free - (ends[-1] if ends else end_of(job)), 0.02)]


SUBMISSION_S, LATEST_S = 0.15, 0.3
"""How long after its whole second a job is there at the soonest, and at the latest."""


def _requests(job: Mapping[str, Any], nodes: Mapping[str, int]) -> Iterator[tuple[str, dict[str, Any]]]:
    options = job["options"]
    ask: dict[str, Any] = {"submitted": job["submit"], "run": job["run"], "user": job["user"], "tasks": 0}
    ask |= {"name": job["name"], "exit_code": job["exit"]}
    for option, name in _DIRECT.items():
        if option in options:
            ask[name] = options[option]
    for name in ("required_nodes", "excluded_nodes"):
        if name in ask:
            ask[name] = tuple(nodes[node] for node in values.host_list(ask[name]))
    least, _, most = str(options.get("nodes", "0")).partition("-")
    ask |= {"min_nodes": int(least), "max_nodes": int(most or 0)}
    ask["limit_s"] = _seconds(options["time"]) if "time" in options else math.nan
    if "time-min" in options:
        ask["time_min_s"] = _seconds(options["time-min"])
    if "partition" in options:
        ask["partitions"] = tuple(options["partition"].split(","))
    for option, name in (("mem", "memory_per_node"), ("mem-per-cpu", "memory_per_cpu")):
        if option in options:
            ask[name] = values.memory(options[option])[0]
    if "gres" in options:
        ((ask["gpu_type"], ask["gpus_per_node"]),) = values.gpus_by_type(options["gres"]).items()
    for option in ("gpus", "gpus-per-task"):
        if option in options:
            raise InputError(
                f"job {job['id']}, {option}", "GPUs of each node: others are not simulated", options[option]
            )
    if "licenses" in options:
        pairs = (part.split(":") for part in options["licenses"].split(","))
        ask["licences"] = {name: int(count) for name, count in pairs}
    if "begin-in" in options:
        ask["begin_time"] = float(job["submit"]) + options["begin-in"]
    if "switches" in options:
        most, _, wait = options["switches"].partition("@")
        ask |= {"switches": int(most), "switch_wait_s": _seconds(wait) if wait else math.inf}
    if "deadline" in options:
        ask["deadline_s"] = float(job["submit"]) + float(options["deadline"].removeprefix("now+"))
    if "dependency" in options:
        ask["dependency"] = _dependency(options["dependency"])
    if "array" not in options:
        yield job["id"], ask
        return
    limit = re.search("%([0-9]+)", options["array"])
    for tasks in values.array_tasks(options["array"]):
        for task in tasks:
            more = {"array": job["id"], "array_limit": int(limit[1]) if limit else 0}
            yield f"{job['id']}_{task}", ask | more


def _dependency(option: Mapping[str, Any]) -> str:
    """As sbatch has it."""
    parts = [[one] if isinstance(one, str) else [one[0], *map(str, one[1])] for one in option["list"]]
    return str(option["sep"]).join(":".join(part) for part in parts)


def _seconds(text: str) -> float:
    minutes, _, seconds = text.partition(":")
    return 60.0 * int(minutes) + int(seconds)


NOT_OF_ASK = ("submitted", "run")


def extras(asks: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The requests without what is no field of Ask."""
    return {job_id: {k: v for k, v in ask.items() if k not in NOT_OF_ASK} for job_id, ask in asks.items()}


def slurm_of(recording: Recording) -> SlurmMachine:
    """What the slurm.conf says."""
    assert recording.platform.slurm is not None
    return recording.platform.slurm


def end_of(job: Mapping[str, Any]) -> float:
    """When a job ended, s; inf: it did not."""
    exact = job.get("end_exact")
    end = job.get("end") if exact is None else exact
    return math.inf if end is None else float(end)


@dataclass
class Replay:
    """A whole run, simulated freely: of the jobs that both recordings share, how many have their nodes, and start in time.

    A job that was requeued has all its attempts where they were, and starts all of them in time.
    """

    name: str
    jobs: int
    nodes: int
    within: int
    largest: float  #: Deviation of a start, s.
    states: int  #: How many end as they did.


Start = tuple[float, set[int]]
"""When (s) and on which nodes an attempt of a job began."""

_ENDS = {
    "COMPLETED": ("completed",),
    "FAILED": ("completed",),
    "PREEMPTED": ("cancelled", "preempted"),
    "TIMEOUT": ("timeout", "completed"),
    "RUNNING": ("unfinished", "completed"),
    "PENDING": ("unfinished",),
    **dict.fromkeys(("CANCELLED", "DEADLINE", "REJECTED"), ("rejected",)),
}
"""A job that ends by itself past its limit, or after its grace, is TIMEOUT with exit code 0: it has done its work."""
_AFTER_S = 3.0
"""So much longer than the recording a run is simulated: jobs that end in its last second may come a little later."""


def replay(recording: Recording, scheduler: Scheduler) -> Replay:
    """Simulate a recorded run with its own run times, and compare every stable job."""
    until = float(recording.expected["recorded_until"]) + _AFTER_S
    result = Simulation(recording.platform, recording.workload(), scheduler, until=until).run()
    ours = _starts(recording, result)
    ends = dict(zip(result.jobs["job_id"], result.jobs["state"], strict=True))
    ends |= dict(zip(result.attempts["job_id"], result.attempts["outcome"], strict=True))
    interval = Settings.of(slurm_of(recording)).bf_interval
    known = set(result.jobs["job_id"])
    found = Replay(recording.name, 0, 0, 0, 0.0, 0)
    for job_id, job in recording.jobs.items():
        if not job.get("stable") or job_id not in known:
            continue
        found.jobs += 1
        found.states += ends.get(job_id) in _ENDS.get(job["state"], ())
        starts, recorded = ours.get(job_id, []), list(_recorded_starts(recording, job))
        if not recorded or not starts:
            found.nodes += recorded == starts
            found.within += recorded == starts
            continue
        same = [nodes for _, nodes in starts] == [nodes for _, nodes in recorded]
        allowed = 1.5 if job["started_by"] == "main" else 1.5 + interval
        late = [abs(start - real) for (start, _), (real, _) in zip(starts, recorded, strict=False)]
        found.nodes += same
        found.within += same and max(late) <= allowed
        found.largest = max(found.largest, *late)
    return found


def _starts(recording: Recording, result: Result) -> dict[str, list[Start]]:
    """The attempts of each simulated job that began."""
    begun = result.attempts[result.attempts["start_time"].notna()]
    starts: dict[str, list[Start]] = {}
    for job_id, start in zip(begun["job_id"], begun["start_time"], strict=True):
        starts.setdefault(job_id, []).append((start, set()))
    held = result.allocations
    for job_id, node, start in zip(held["job_id"], held["node"], held["start"], strict=True):
        attempt = [nodes for begin, nodes in starts[job_id] if begin <= start][-1]
        attempt.add(recording.platform.node_index(node))
    return starts


def _recorded_starts(recording: Recording, job: Mapping[str, Any]) -> Iterator[Start]:
    """Return the starts of a recorded job.

    All but the last are known in whole seconds, which is half a second early, more or less.
    """
    if job.get("start_exact") is None:
        return
    for attempt in job.get("attempts", ())[:-1]:
        yield attempt["start"] + 0.5, {recording.nodes[node] for node in attempt["nodes"]}
    yield job["start_exact"], {recording.nodes[node] for node in job["nodes"]}


def slurm_for(recording: Recording) -> Slurm:
    """The scheduler with the configuration, requests and phases of a recorded run."""
    start = float(recording.expected["controller_started"])
    later = MAIN_LATER_S if recording.accounts is not None else MAIN_S
    return Slurm(
        recording.conf,
        recording.accounts or "",
        extras(recording.asks),
        start,
        later,
        epoch=recording.epoch,
        commands=[(event["t"], event["command"]) for event in recording.events],
    )


MAIN_S = 0.03
"""How much later than the controller its main loop started, s: what its recorded passes have in common."""
MAIN_LATER_S = 0.36
"""The same of a controller that had to ask the accounting database first."""


def _accounts(folder: Path) -> Accounts | None:
    """The accounts of a run that has some."""
    path = folder / "accounts.json"
    if not path.exists():
        return None
    with TemporaryDirectory() as scratch:
        printed = Path(scratch) / "sacctmgr.txt"
        printed.write_text(sacctmgr_output(json.loads(path.read_text())))
        return read_accounts(str(printed))
