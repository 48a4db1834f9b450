"""Jobs that change while they run, at random: a scheduler that preempts, resumes and resizes them whenever it may.

What must hold of such a run is worked out from its tables alone, see :func:`check`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pandas as pd
import pytest

from cluster_sim import Result, Simulation, make_power_policy, make_scheduler
from cluster_sim.errors import InputError, ModelWarning
from cluster_sim.run.decisions import Decision, Preempt, Resize, Resume, Start, WakeAt
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from cluster_sim.workload.speedup import time_ratio
from schedulers import Scheduler, power_policies
from tests.support.contract import checks, full
from tests.support.contract.runs import Case, draw_case, draw_power, draw_reservations

CHAOS, WITH_MEMORY = "", "memory"
"""What a case calls the scheduler of this module."""
OTHERS = (
    *(
        "preemptive",
        "preemptive:mode=suspend",
        "preemptive:mode=cancel,grace=1",
        "preemptive-list",
        "preemptive-list:gpu-time",
        "las:1/3,promote=1",
        "las:2/6/7,service=gpu-time,promote=2",  # limits above restart times, else nobody gets on
        "moldable:memory=yes",
        "moldable:width=earliest",
    ),
    *("shrink-expand", "equipartition", "malleable", "malleable:size=average,promise=common-pool"),
    *(
        "easy:memory=yes",
        "easy:reservation=pinned",
        "easy:trials=2,trial_for=1",
        "easy:reservation=pinned,order=sjf,trials=1",
        "conservative:memory=yes",
        "conservative",
        "list:first/first,blocking=no",
    ),
)
MOST_CHANGES = 40
"""So often a scheduler changes running jobs at random, then no more: every run comes to its end."""


class Chaos(Scheduler):
    """Takes cores from jobs, gives them back elsewhere and changes their number, as its random numbers say."""

    chooses_cores = True
    at_boundaries = True

    def __init__(self, memory: bool = False):
        self.memory = memory

    def begin(self, view: View) -> None:
        """A run begins, with the same random numbers as any other of its seed."""
        self.random = Random(view.planning.seed)
        self.left = MOST_CHANGES

    def schedule(self, view: View) -> Iterator[Decision]:
        """Changes to what runs, then what waits, in any order."""
        for running in view.running:
            if self.left and view.running_by_index.get(running.job.index) is running and self.random.random() < 0.3:
                yield from self._change(view, running)
        waiting = [*view.pending, *(suspended.job for suspended in view.suspended)]
        self.random.shuffle(waiting)
        for job in waiting:
            if self.left and self.random.random() < 0.2:
                self.left -= 1
                continue  # not now
            yield from self._start(view, job)
        if self.left and (view.pending_count or view.suspended or view.running_count):
            yield WakeAt(view.now + self.random.choice([0.5, 1.0, 3.0]))

    def _change(self, view: View, running: Any) -> Iterator[Decision]:
        job, random = running.job, self.random
        self.left -= 1
        if view.planning.progress(running).can_resize and random.random() < 0.7:
            cores = random.randint(job.min_cores, job.max_cores)
            own = running.placement.cores
            placement = (
                view.planning.grown(running, cores, self.memory)
                if cores > own
                else view.planning.shrunk(running, cores)
            )
            if placement is not None and cores != own:
                yield Resize(job, placement)
            return
        mode = random.choice(["requeue", "requeue", "suspend", "suspend", "suspend", "cancel"])
        yield Preempt(job, mode, random.choice([0.0, 0.0, 0.5, 2.0]), "at random")

    def _start(self, view: View, job: Job) -> Iterator[Decision]:
        suspended = view.planning.suspended_by_index.get(job.index)
        often = not self.left or self.random.random() < 0.7  # at last always: perhaps nobody asks again
        if suspended is not None and view.planning.fits(job, suspended.placement) and often:
            yield Resume(job, suspended.placement)
            return
        cores = job.requested_cores
        if suspended is not None and not job.malleable:
            cores = suspended.placement.cores
        elif job.min_cores < job.max_cores:
            cores = self.random.randint(job.min_cores, job.max_cores)
        placement = view.place(job.on_cores(cores), memory=self.memory)
        if placement is None and cores != job.min_cores and (suspended is None or job.malleable):
            placement = view.place(job.on_cores(job.min_cores), memory=self.memory)
        if placement is not None:
            yield Start(job, placement) if suspended is None else Resume(job, placement)


def draw(random: Random) -> Case:
    """A plain case whose jobs can change, on nodes that may fail."""
    case = draw_case(random)
    count, requested = len(case.jobs["job_id"]), case.jobs["requested_cores"]

    def column(*values: Any) -> list[Any]:
        return [random.choice(values) for _ in range(count)]

    malleable = column(False, True, True)
    jobs = case.jobs | {
        "recorded_run_time": column(0.0, 1.0, 2.0, 4.5, 9.0),
        "operations": [math.nan] * count,
        "fixed_run_time": [random.random() < 0.5] * count,
        "requested_time": column(math.inf, math.inf, 0.0, 3.0, 10.0),
        "nodes": [0] * count,
        "ntasks_per_node": [0] * count,
        "priority": column(0.0, 1.0, 2.0),
        "queue": column(-1, 1, 3),
        "min_cores": [random.randint(1, cores) for cores in requested],
        "max_cores": [cores + random.randint(0, 3) for cores in requested],
        "malleable": malleable,
        "speedup": column("linear", "amdahl:0.25"),
        "parts": column("", "", "3", "1 2 1", "1 2@1 1@4"),
        "checkpoint_interval": column("", "", "1", "0.75", "2.5"),
        "checkpoint_time": column(0.0, 0.25, 1.0),
        "restart_time": column(0.0, 0.5),
        "reconfiguration_time": column(0.0, 0.25),
    }
    options = dict(case.options)
    if random.random() < 0.4:
        options["failures"] = random.choice(
            ["exponential:mtbf=20,repair=2,limit=3", "weibull:mtbf=40,repair=1,group=2,limit=2"]
        )
    options["suspended_time_counts"] = random.random() < 0.3
    options["quirks"] = ()
    power = random.choice([None, None, *(name for name in power_policies if name != "learned")])
    if power is not None:
        power = draw_power(random, case.platform, power)
    if power is not None and power.startswith("power-cap"):
        options.pop("failures", None)  # beside them a job that waits for ever is not seen to
    if random.random() < 0.25:
        options["reservations"] = draw_reservations(random, case.platform)
        jobs["reservation"] = column("", "", "r0", "r1")
    scheduler = random.choice([CHAOS, CHAOS, CHAOS, WITH_MEMORY, WITH_MEMORY, random.choice(OTHERS)])
    return replace(case, jobs=jobs, options=options, power=power, scheduler=scheduler)


def run(case: Case, scheduler: Scheduler | None = None) -> tuple[Simulation, Result]:
    """The run of a case under a scheduler, by default one that does what it likes."""
    if scheduler is None:
        own = case.scheduler in (CHAOS, WITH_MEMORY)
        scheduler = Chaos(case.scheduler == WITH_MEMORY) if own else make_scheduler(case.scheduler)
    policy = make_power_policy(case.power) if case.power else None
    simulation = Simulation(case.platform, case.workload, scheduler, policy, **case.options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ModelWarning)
        try:
            return simulation, simulation.run()
        except InputError as error:
            # Less than the machine draws at rest, or trials beside advance reservations.
            if str(error).startswith(("power cap:", "scheduler 'easy', option trials:")):
                raise full.NotACase(str(error)) from None
            raise


# ---------------------------------------------------------------------- what must hold


def judge(case: Case, thoroughly: bool) -> None:
    """Check the run of a case; ``thoroughly``: also that it can be repeated."""
    check(case)
    if thoroughly:
        check_repeatable(case)


def check(case: Case, scheduler: Scheduler | None = None) -> Result:
    """Make a run and check all that must hold of it. Raises AssertionError, or what the run itself raised."""
    simulation, result = run(case, scheduler)
    unfinished = result.jobs[result.jobs["state"] == "unfinished"]["job_id"].tolist()
    if unfinished and str(case.power).startswith("power-cap"):
        raise full.NotACase("for a job on several nodes it is only bounded whether it could ever run under a cap")
    assert not unfinished, f"jobs {unfinished} never end"
    checks.check_held_once(case.platform, result.holds.assign(job_id=result.holds["owner"]))
    checks.check_node_states(result)
    checks.check_energy_identities(result, simulation)
    check_attempts(result)
    check_cap(case, result)
    check_reservations(case, result)
    if simulation.scheduler is not None and simulation.scheduler.memory:
        check_memory(case, result)
    check_work(case, result)
    check_walltime(case, result)
    checks.check_all_is_free(simulation)
    return result


def check_attempts(result: Result) -> None:
    """One after the other, of which only the last can complete; what the summary says of them together."""
    attempts, jobs = result.attempts, result.jobs.set_index("job_id")
    assert attempts["work_done"].between(0.0, 1.0).all()
    assert (attempts["lost_core_s"] >= 0.0).all()
    for job_id, mine in attempts.groupby("job_id", sort=False):
        for before, after in pairwise(mine.itertuples()):
            assert before.end_time <= after.queue_time <= after.allocation_time
            assert before.outcome in ("preempted", "failed", "requeued")
        assert (jobs.loc[job_id, "state"] == "completed") == (mine.iloc[-1]["outcome"] == "completed")
    assert result.summary()["lost_core_s"] == pytest.approx(attempts["lost_core_s"].sum(), rel=1e-9)


def check_cap(case: Case, result: Result) -> None:
    """The machine never draws more than a power cap allows, however jobs grow."""
    name, _, options = str(case.power).partition(":")
    if name == "power-cap":
        assert result.power["watts"].max() <= float(options.partition(",")[0]) * (1.0 + 1e-6)


def check_reservations(case: Case, result: Result) -> None:
    """No job gets cores of nodes that are set aside for others, nor any before its own reservation begins."""
    names = case.platform.node_names()
    wanted = dict(zip(case.jobs["job_id"], case.jobs.get("reservation", [""] * len(names) * 100), strict=False))
    goes_on = {(row.owner, row.node, row.end) for row in result.holds.itertuples()}
    for window in case.options.get("reservations", ()):
        nodes = {names[node] for node in window.nodes}
        for hold in result.holds.itertuples():
            if (hold.owner, hold.node, hold.start) in goes_on:
                continue
            if wanted[hold.owner] == window.name:
                assert hold.node in nodes
                assert window.start <= hold.start < window.end, hold
            elif hold.node in nodes:
                assert not window.start <= hold.start < window.end, hold


def check_memory(case: Case, result: Result) -> None:
    """No node has more memory in use than there is, that of suspended jobs, which stays where they were, included."""
    asks = dict(zip(case.jobs["job_id"], case.jobs["memory"], strict=True))
    spans: dict[str, list[tuple[float, float, float]]] = {}
    for (owner, attempt), own in result.holds.groupby(["owner", "attempt"]):
        mine = result.attempts[(result.attempts["job_id"] == owner) & (result.attempts["attempt"] == attempt)]
        times = [*sorted(set(own["start"])), mine["end_time"].iloc[0]]
        for hold in own.itertuples():
            there = next(time for time in times if time >= hold.end or time == times[-1])
            memory = asks[owner] * (hold.last_core - hold.first_core + 1)
            is_last = not ((own["start"] < hold.end) & (own["end"] > hold.end)).any()
            is_last = is_last and not math.isnan(hold.used_from)  # not only kept for a part that never came
            spans.setdefault(hold.node, []).append((hold.start, there if is_last else hold.end, memory))
    checks.check_memory_in_use(case.platform, spans)


def pieces_of(result: Result) -> dict[tuple[str, int], list[tuple[float, float, int]]]:
    """(from, to, cores) of what the tasks of every attempt had, by (job, its number), in order of time."""
    loads = result.allocations
    cores = loads["last_core"] - loads["first_core"] + 1
    pieces: dict[tuple[str, int], list[tuple[float, float, int]]] = {}
    for attempt in result.attempts.itertuples():
        mine = (loads["job_id"] == attempt.job_id) & (loads["start"] >= attempt.start_time)
        mine &= loads["start"] < attempt.end_time
        times = sorted({*loads["start"][mine], *loads["end"][mine]})
        spans = [
            (one, two, int(cores[mine & (loads["start"] <= one) & (loads["end"] >= two)].sum()))
            for one, two in pairwise(times)
        ]
        pieces[attempt.job_id, attempt.attempt] = [span for span in spans if span[2]]
    return pieces


def check_work(case: Case, result: Result) -> None:
    """What each attempt has done follows from its cores and times: a completed job has done all its work.

    Where it can be worked out by hand: run times are fixed, so that neither clocks nor neighbours change them, and all
    nodes are on, so that tasks begin with the allocation.
    """
    sleepy = (result.node_states["state"].isin(["OFF", "SWITCHING_ON", "SWITCHING_OFF"])).any()
    if not all(case.jobs["fixed_run_time"]) or sleepy:
        return
    rows = {name: row for row, name in enumerate(case.jobs["job_id"])}
    pieces, stages = pieces_of(result), result.stages
    saved: dict[str, float] = {}
    for attempt in result.attempts.sort_values(["job_id", "attempt"]).itertuples():
        row, key = rows[attempt.job_id], (attempt.job_id, attempt.attempt)
        done = saved.get(attempt.job_id, 0.0)
        own = stages[(stages["job_id"] == key[0]) & (stages["attempt"] == key[1])]
        marks = sorted((stage.end, stage.start, stage.stage, stage.saved) for stage in own.itertuples())
        seconds = case.jobs["recorded_run_time"][row]
        for start, end, cores in pieces.get(key, []):
            whole = seconds * time_ratio(case.jobs["speedup"][row], case.jobs["requested_cores"][row], cores)
            at = start
            for stage_end, stage_start, stage, mark in marks:
                if (
                    stage_start >= start
                    and stage_end <= end
                    and not (stage_end == stage_start and stage != "checkpoint")
                ):
                    done += _part(stage_start - at, whole)
                    at = stage_end
                    if stage == "checkpoint" and mark > saved.get(key[0], 0.0) and mark == pytest.approx(done):
                        saved[key[0]] = mark
            done += _part(end - at, whole)
        if seconds > 0.0:
            assert attempt.work_done == pytest.approx(done, abs=1e-6), key
        if len(own):
            assert own["saved"].max() == pytest.approx(saved.get(key[0], 0.0), abs=1e-6), key


def _part(seconds: float, whole: float) -> float:
    return seconds / whole if whole else 0.0


def check_walltime(case: Case, result: Result) -> None:
    """Nobody has its cores for longer than it may, each second counted by the time that it has on that many cores."""
    if not case.options["enforce_walltime"]:
        assert "timeout" not in set(result.attempts["outcome"])
        return
    rows = {name: row for row, name in enumerate(case.jobs["job_id"])}
    pieces = pieces_of(result)
    booted = result.attempts.set_index(["job_id", "attempt"])["start_time"]
    for attempt in result.attempts.itertuples():
        row, key = rows[attempt.job_id], (attempt.job_id, attempt.attempt)
        asked = case.jobs["requested_time"][row]
        if asked == math.inf or asked == 0.0 or (result.node_states["state"] == "SWITCHING_ON").any():
            continue
        used = sum(
            (end - max(start, booted[key]))
            / (asked * time_ratio(case.jobs["speedup"][row], case.jobs["requested_cores"][row], cores))
            for start, end, cores in pieces.get(key, [])
        )
        if case.options["suspended_time_counts"]:
            spans = pieces.get(key, [])
            # It may have been suspended in the instant in which it began, and be over in that in which it was resumed.
            if not spans or spans[0][0] > booted[key]:
                spans = [(booted[key], booted[key], 0), *spans]
            if attempt.end_time > spans[-1][1]:
                spans = [*spans, (attempt.end_time, attempt.end_time, 0)]
            used += sum(after[0] - before[1] for before, after in pairwise(spans)) / asked
            if len(spans) > 1:
                continue  # it may have been out of time when it was resumed
        assert used <= 1.0 + 1e-9, key
        if attempt.outcome == "timeout":
            assert used == pytest.approx(1.0, abs=1e-9), key


def check_repeatable(case: Case) -> None:
    """The same seed leaves the same tables, to the last bit."""
    for name in ("jobs", "attempts", "holds", "power", "stages", "node_states"):
        one, two = (getattr(run(case)[1], name) for _ in range(2))
        pd.testing.assert_frame_equal(one, two, check_exact=True, obj=name)
