"""Backfilling as the textbooks have it, on cores that are all alike: forty lines that share no code with ours.

Jobs are (submission, cores, requested time, run time) in order of submission; all events of an instant come before a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Entry = tuple[float, int, float, float]
Key = Callable[[Entry, float], float]


def by_submission(job: Entry, now: float) -> float:
    """First come, first served."""
    return job[0]


def easy(cores: int, jobs: Sequence[Entry], order: Key = by_submission, backfill: Key | None = None) -> list[float]:
    """EASY: start of each job. The head of the queue gets a reservation; others may start that do not delay it."""
    start: dict[int, float] = {}
    now = -1.0
    while len(start) < len(jobs):
        ends = [start[i] + jobs[i][3] for i in start]
        now = min(t for t in [*ends, *(job[0] for job in jobs)] if t > now)
        while _one_more(cores, jobs, start, now, order, backfill):
            pass
    return [start[i] for i in range(len(jobs))]


def _one_more(
    cores: int, jobs: Sequence[Entry], start: dict[int, float], now: float, order: Key, backfill: Key | None
) -> bool:
    """Start the next job that may start, if there is one."""
    running = [i for i in start if start[i] + jobs[i][3] > now]
    free = cores - sum(jobs[i][1] for i in running)
    queue = sorted((i for i, job in enumerate(jobs) if i not in start and job[0] <= now), key=_ranked(jobs, order, now))
    if not queue:
        return False
    head = queue[0]
    if jobs[head][1] <= free:
        start[head] = now
        return True
    at_shadow = free
    for shadow in sorted({start[i] + jobs[i][2] for i in running}):
        at_shadow = free + sum(jobs[i][1] for i in running if start[i] + jobs[i][2] <= shadow)
        if at_shadow >= jobs[head][1]:
            break
    extra = at_shadow - jobs[head][1]
    for i in sorted(queue[1:], key=_ranked(jobs, backfill or order, now)):
        _, width, requested, _ = jobs[i]
        if width <= free and (now + requested <= shadow or width <= extra):
            start[i] = now
            return True
    return False


def _ranked(jobs: Sequence[Entry], order: Key, now: float) -> Callable[[int], tuple[float, int]]:
    return lambda i: (order(jobs[i], now), i)


def conservative(cores: int, jobs: Sequence[Entry]) -> list[float]:
    """Conservative, of jobs that run as long as they request: each gets the earliest start that moves nobody before it."""
    placed: list[tuple[float, float, int]] = []
    for submitted, width, length, _ in jobs:
        for begin in sorted({submitted} | {end for _, end, _ in placed if end > submitted}):
            changes = [begin, *(b for b, _, _ in placed if begin < b < begin + length)]
            if all(width + sum(w for b, e, w in placed if b <= at < e) <= cores for at in changes):
                break
        placed.append((begin, begin + length, width))
    return [begin for begin, _, _ in placed]


def replanned(hosts: int, jobs: Sequence[Entry]) -> list[tuple[float, list[int]]]:
    """Start and hosts of each job under Batsim's conservative backfilling, of jobs that run no longer than they request.

    When a job ends, each queued job in turn leaves the plan and joins it again at its first fit: the earliest time at which
    enough hosts are free as long as it requests, and of these the lowest. Otherwise only new jobs join.
    """
    plan: dict[int, tuple[float, float, list[int]]] = {}
    begun: dict[int, tuple[float, list[int]]] = {}
    running: set[int] = set()
    now = -1.0
    while len(begun) < len(jobs) or running:
        ends = [begun[i][0] + jobs[i][3] for i in running]
        starts = [plan[i][0] for i in plan if i not in begun]
        now = min(t for t in [*ends, *starts, *(job[0] for job in jobs)] if t > now)
        ended = {i for i in running if begun[i][0] + jobs[i][3] <= now}
        running -= ended
        for i in ended:
            del plan[i]
        for i in [i for i, job in enumerate(jobs) if job[0] <= now and i not in begun]:
            if ended or i not in plan:
                plan.pop(i, None)
                plan[i] = _first_fit(hosts, plan, jobs[i], now)
        for i in [i for i in plan if i not in begun and plan[i][0] <= now]:
            begun[i] = now, plan[i][2]
            running.add(i)
    return [begun[i] for i in range(len(jobs))]


def _first_fit(
    hosts: int, plan: dict[int, tuple[float, float, list[int]]], job: Entry, now: float
) -> tuple[float, float, list[int]]:
    _, width, length, _ = job
    for begin in sorted({now, *(end for _, end, _ in plan.values() if end > now)}):
        taken = {host for b, e, held in plan.values() if b < begin + length and e > begin for host in held}
        free = [host for host in range(hosts) if host not in taken]
        if len(free) >= width:
            break
    return begin, begin + length, free[:width]
