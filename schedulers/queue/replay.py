"""A schedule played back: every job at its recorded time on its recorded cores."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from typing_extensions import Doc

from cluster_sim.errors import FormatError, InputError, ModelWarning, counted, warn_user
from cluster_sim.files.reading import read_text
from cluster_sim.machine.placement import Placement
from cluster_sim.options import checked
from cluster_sim.platform.platform import Platform
from cluster_sim.run.decisions import Decision, Reject, Start, WakeAt
from cluster_sim.run.view import View
from cluster_sim.spelling import UnknownKeys
from cluster_sim.workload.fields import LONGEST_S, RESULT_TABLES, names, whole_number
from schedulers.policy.policy import Scheduler, schedulers

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job

LATE_S = 1.0
"""Delay, s, beyond which a start later than recorded is worth a warning: the run is not the recorded one."""


class RecordedStart(NamedTuple):
    """Record of a job: when it starts (s; inf: never) and on which cores, as the file writes them."""

    start_time: float
    cores: str


@schedulers.register("replay")
class Replay(Scheduler):
    """Plays a recorded schedule back: replay:FILE, a jobs.csv of ours or Batsim's _jobs.csv.

    Batsim's resource i is core i of the platform. A job starts at its recorded time, or as soon after it as all its
    recorded nodes have the cores free: files hold rounded times, by which one job may end just after the next begins.
    So it is where nodes are switched off: a job has its recorded nodes booted at its recorded time, and waits while one
    is in a transition, withheld, failed or closed by an advance reservation.
    A job that the record does not have, or that never started there, is rejected. Of a node with several cores a job
    gets as many as recorded, lowest first. Raises FormatError for a file that is no such record. Within the run it
    raises FormatError for cores that the platform lacks, or that are not as many as the job asks for.
    """

    @checked
    def __init__(self, path: Annotated[str, Doc("the recorded schedule, a CSV file")]):
        self.path = path
        # Tables come with pandas, and schedulers are also imported where there are none.
        from cluster_sim.formats.batsim_results import parse_resources

        if "allocated_resources" in read_text(path).partition("\n")[0]:
            # By job id, and by `workload!id`, which is how Batsim names jobs of several workloads.
            from cluster_sim.formats.batsim_results import read_jobs

            table = read_jobs(path)
            # Versions of Batsim that list rejected jobs leave their start empty, or write -1.
            starts = table["starting_time"].where(table["starting_time"] >= 0, math.inf)
            entries = list(map(RecordedStart, starts.tolist(), table["allocated_resources"]))
            ids = table["job_id"].tolist()
            record = dict(zip(ids, entries, strict=True))
            if "workload_name" in table:
                for name, job, entry in zip(table["workload_name"], ids, entries, strict=True):
                    record.setdefault(f"{name}!{job}", entry)
            self._record, self._cores_of = record, parse_resources
        else:
            self._record, self._cores_of = _own_record(path), _own_cores

    def begin(self, view: View) -> None:
        """Begin a run in which nothing has started yet."""
        self._waiting: list[tuple[float, int, int, Job, Placement]] = []
        self._woken_for = math.inf
        self._warned = False

    def schedule(self, view: View) -> Iterable[Decision]:
        """Start what is due and fits; ask to be woken for the next start."""
        for job in filter(view.is_pending, view.submitted):  # one may have been cancelled at once
            entry = self._record.get(job.job_id)
            if entry is None or not math.isfinite(entry.start_time):
                yield Reject(job, f"{'not' if entry is None else 'never started'} in {self.path}")
            else:
                where = f"{self.path}, job {job.job_id}"
                cores = self._cores_of(entry.cores, view.platform, where)
                if len(cores) != job.requested_cores:
                    raise FormatError(where, f"{job.requested_cores} cores, as the workload says", len(cores))
                bounds = view.platform.first_core[view.platform.first_processor]
                nodes, counts = np.unique(np.searchsorted(bounds, cores, side="right") - 1, return_counts=True)
                eligible = view.machine.eligible(job)
                for node in () if eligible is None else nodes[~eligible[nodes]].tolist():
                    expected = "nodes that have the tags, and are in the advance reservation, that the job asks for"
                    raise FormatError(where, expected, view.platform.node_name(node))
                placement = Placement.on(dict(zip(nodes.tolist(), counts.tolist(), strict=True)))
                leaves, most = (
                    view.platform.switch_tree.leaves_of(nodes.tolist()),
                    view.machine.leaf_limit(job, view.now),
                )
                if most and len(leaves) > most and view.machine.switches_until(job) == math.inf:
                    raise FormatError(
                        where, f"nodes under at most {counted(most, 'leaf switch', 'es')}", ", ".join(leaves)
                    )
                # If jobs start together, the one that has the lower cores of a node comes first.
                heappush(self._waiting, (entry.start_time, int(cores[0]), job.index, job, placement))
        held_up = []
        while self._waiting and self._waiting[0][0] <= view.now:
            due = heappop(self._waiting)
            start_time, _, _, job, placement = due
            if not view.is_pending(job):
                continue
            open_now, node_cores = view.machine.open_at(job, view.now), view.platform.node_cores
            can_be_had = all(
                view.free_cores[node] >= (node_cores[node] if job.exclusive else cores)
                and (view.machine.is_on[node] or view.machine.is_off[node])
                and (open_now is None or open_now[node])
                for node, cores in placement.cores_by_node().items()
            )
            most = view.machine.leaf_limit(job, view.now)
            can_be_had = can_be_had and not 0 < most < len(view.platform.switch_tree.leaves_of(placement.nodes))
            if can_be_had and view.planning.allows(job, placement):
                self._warn_if_late(job, start_time, view.now, view.planning.boot_time(placement))
                yield Start(job, placement)
            else:
                held_up.append(due)
        for due in held_up:
            heappush(self._waiting, due)
        if self._waiting and view.now < self._waiting[0][0] != self._woken_for:
            self._woken_for = self._waiting[0][0]
            yield WakeAt(self._woken_for)

    def _warn_if_late(self, job: Job, recorded: float, now: float, boot_s: float) -> None:
        due, start = max(recorded, job.submit_time), now + boot_s
        if start - due > LATE_S and not self._warned:
            self._warned = True
            reason = "its cores were not free" if now - due > LATE_S else "its nodes have to be booted"
            text = f"job {job.job_id} starts at {start:g} s, not at the recorded {due:g} s: {reason}"
            warn_user(ModelWarning(f"{self.path}: {text}"))


def _own_record(path: str) -> dict[str, RecordedStart]:
    import pandas as pd

    from cluster_sim.files.csv import check_lengths
    from cluster_sim.records.job_labels import JOB_LABELS

    text = read_text(path)
    check_lengths(text, path)
    try:
        table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False, index_col=False)
    except ValueError as error:
        raise FormatError(path, "a CSV table", str(error)) from None
    keys = UnknownKeys(path)
    known = (*names(RESULT_TABLES["jobs"]), *JOB_LABELS, "allocation")
    keys.look(map(str, table.columns), known, "its header", takes_others=True)
    keys.tell()
    for name in ("job_id", "start_time", "allocation"):
        if name not in table:
            raise FormatError(path, f"a column '{name}', or Batsim's 'allocated_resources'", ", ".join(table.columns))
    record: dict[str, RecordedStart] = {}
    for job, start, cores in zip(table["job_id"], table["start_time"], table["allocation"], strict=True):
        try:
            begin = float(start) if start else math.inf
        except ValueError:
            raise FormatError(f"{path}, job {job}, start_time", "a number", start) from None
        if start and not 0.0 <= begin <= LONGEST_S:
            raise FormatError(f"{path}, job {job}, start_time", f"a time from 0 to {LONGEST_S:g} s, or nothing", start)
        if start and not cores:
            raise FormatError(f"{path}, job {job}, allocation", "the cores of a job that started", "nothing")
        if job in record:
            raise FormatError(f"{path}, job {job}, job_id", "every job once", "it twice")
        record[job] = RecordedStart(begin, cores)
    return record


def _own_cores(text: str, platform: Platform, where: str) -> np.ndarray:
    """Return the core numbers of ``cluster0.node1.processor0:0-3;…``."""
    numbers: list[np.ndarray] = []
    for part in filter(None, text.split(";")):
        place, _, cores = part.rpartition(":")
        name, _, processor = place.rpartition(".processor")
        first, _, last = cores.partition("-")
        numbers_in = [whole_number(text) for text in (processor, first, last or first)]
        if None in numbers_in:
            raise FormatError(f"{where}, allocation", "node.processor:first-last;…", part)
        try:
            node = platform.node_index(name)
        except InputError as error:
            raise FormatError(f"{where}, allocation", error.expected, name) from None
        unit = int(platform.first_processor[node]) + int(processor)
        if unit >= platform.first_processor[node + 1]:
            raise FormatError(f"{where}, allocation", "a processor that the node has", part)
        low, high = (int(platform.first_core[unit]) + int(number) for number in (first, last or first))
        if not low <= high < platform.first_core[unit + 1]:
            raise FormatError(f"{where}, allocation", "cores that the processor has", part)
        numbers.append(np.arange(low, high + 1))
    return np.unique(np.concatenate(numbers)) if numbers else np.array([], np.int64)
