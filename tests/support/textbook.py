"""Backfilling as the textbooks have it, on cores that are all alike: forty lines that share no code with ours.

Jobs are (submission, cores, requested time, run time) in order of submission; all events of an instant come before a pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Entry = tuple[float, int, float, float]
Key = Callable[[Entry, float], float]


def by_submission(job: Entry, now: float) -> float:
    """First come, first served."""
    return job[0]


def easy(
    cores: int,
    jobs: Sequence[Entry],
    order: Key = by_submission,
    backfill: Key | None = None,
    room: int = 0,
    room_for: float = 0.0,
) -> list[float]:
    """EASY: start of each job. The head of the queue gets a reservation; others may start that do not delay it.

    Who requests more than ``room_for`` has to leave ``room`` cores free when it starts, if anything runs.
    """
    start: dict[int, float] = {}
    now = -1.0
    while len(start) < len(jobs):
        ends = [start[i] + jobs[i][3] for i in start]
        now = min(t for t in [*ends, *(job[0] for job in jobs)] if t > now)
        while _one_more(cores, jobs, start, now, order, backfill, lambda i: room if jobs[i][2] > room_for else 0):
            pass
    return [start[i] for i in range(len(jobs))]


def _one_more(
    cores: int,
    jobs: Sequence[Entry],
    start: dict[int, float],
    now: float,
    order: Key,
    backfill: Key | None,
    beside: Callable[[int], int],
) -> bool:
    """Start the next job that may start, if there is one."""
    running = [i for i in start if start[i] + jobs[i][3] > now]
    free = cores - sum(jobs[i][1] for i in running)
    queue = sorted((i for i, job in enumerate(jobs) if i not in start and job[0] <= now), key=_ranked(jobs, order, now))
    if not queue:
        return False
    head = queue[0]
    if jobs[head][1] + (beside(head) if running else 0) <= free:
        start[head] = now
        return True
    at_shadow, needed = free, min(jobs[head][1] + beside(head), cores)
    for shadow in sorted({start[i] + jobs[i][2] for i in running}):
        at_shadow = free + sum(jobs[i][1] for i in running if start[i] + jobs[i][2] <= shadow)
        if at_shadow >= needed:
            break
    extra = at_shadow - needed
    for i in sorted(queue[1:], key=_ranked(jobs, backfill or order, now)):
        _, width, requested, _ = jobs[i]
        if width + beside(i) <= free and (now + requested <= shadow or width <= extra):
            start[i] = now
            return True
    return False


def _ranked(jobs: Sequence[Entry], order: Key, now: float) -> Callable[[int], tuple[float, int]]:
    return lambda i: (order(jobs[i], now), i)


def easy_on_trial(
    cores: int, jobs: Sequence[Entry], order: Key = by_submission, most: int = 1, trial_for: float = 120.0
) -> list[list[float]]:
    """EASY with trials: all starts of each job, the last of which ends it, for jobs that run no longer than they request.

    Who may not be backfilled runs on idle cores, ``most`` times at the most. Those on trial leave, the longest on trial first
    and none without need, as soon as the head fits with their cores; and when ``trial_for`` is over for others that are to be
    tried, or end before the head starts.
    """
    run = _OnTrial(cores, jobs, most, trial_for)
    now = -1.0
    while run.waiting or run.running or now < jobs[-1][0]:
        ends = [start + jobs[i][3] for i, start in run.running.items()]
        now = min(t for t in [*ends, *run.wakes, *(job[0] for job in jobs)] if t > now)
        run.come_to(now)
        while True:
            run.make_a_pass(_ranked(jobs, order, now))
            if not run.left:
                break
            run.waiting |= run.left  # from the next pass on
    return run.starts


class _OnTrial:
    def __init__(self, cores: int, jobs: Sequence[Entry], most: int, trial_for: float):
        self.cores, self.jobs, self.most, self.trial_for = cores, jobs, most, trial_for
        self.now = -1.0
        self.starts: list[list[float]] = [[] for _ in jobs]
        self.running: dict[int, float] = {}
        self.on_trial: list[int] = []
        self.waiting: set[int] = set()
        self.left: set[int] = set()
        self.tried = [0] * len(jobs)
        self.wakes: list[float] = []  # when a pass is to be made though nothing happens

    def come_to(self, now: float) -> None:
        self.now = now
        self.running = {i: start for i, start in self.running.items() if start + self.jobs[i][3] > now}
        self.on_trial = [i for i in self.on_trial if i in self.running]
        self.waiting |= {i for i, job in enumerate(self.jobs) if job[0] == now}

    def free(self, without: Sequence[int] = ()) -> int:
        return self.cores - sum(self.jobs[i][1] for i in self.running if i not in without)

    def start(self, i: int, instead_of: Sequence[int] = ()) -> None:
        leaving: list[int] = []
        for other in instead_of:
            leaving += [other] if self.free(leaving) < self.jobs[i][1] else []
        for other in leaving[::-1]:
            if self.free([one for one in leaving if one != other]) >= self.jobs[i][1]:
                leaving.remove(other)
        for other in leaving:
            del self.running[other]
            self.on_trial.remove(other)
        self.left |= set(leaving)
        self.waiting.remove(i)
        self.running[i] = self.now
        self.starts[i].append(self.now)

    def make_a_pass(self, rank: Callable[[int], tuple[float, int]]) -> None:
        now, jobs, self.left = self.now, self.jobs, set()
        queue = sorted(self.waiting, key=rank)
        while queue:
            if jobs[queue[0]][1] > self.free():  # who is on trial and goes before it keeps its cores
                self.on_trial = [i for i in self.on_trial if rank(i) > rank(queue[0])]
            if jobs[queue[0]][1] > self.free(self.on_trial):
                break
            self.start(queue.pop(0), list(self.on_trial))
            if self.left:
                return
        shadow, extra = math.inf, math.inf
        ordinary = [i for i in self.running if i not in self.on_trial]
        for end in sorted({self.running[i] + jobs[i][2] for i in ordinary}) if queue else ():
            over = [i for i in ordinary if self.running[i] + jobs[i][2] <= end]
            beside = self.free([*self.on_trial, *over]) - jobs[queue[0]][1]
            if beside >= 0:
                shadow, extra = end, beside
                break
        for i in list(self.on_trial):
            late = self.running[i] + jobs[i][2] > shadow
            if not late or jobs[i][1] <= extra:
                self.on_trial.remove(i)
                extra -= jobs[i][1] if late else 0
        for i in queue[1:]:
            late = now + jobs[i][2] > shadow
            if jobs[i][1] <= self.free() and (not late or jobs[i][1] <= extra):
                self.start(i)
                extra -= jobs[i][1] if late else 0
        all_free = self.free(self.on_trial)
        for i in [i for i in queue[1:] if i in self.waiting]:
            old = [
                one for one in self.on_trial if self.running[one] + self.trial_for <= now and self.running[one] < now
            ]
            in_time = now + jobs[i][2] <= shadow
            if not in_time and self.tried[i] == self.most:
                continue
            if jobs[i][1] <= self.free(old):
                self.start(i, old)
                if not in_time:
                    self.tried[i] += 1
                    self.on_trial.append(i)
            elif jobs[i][1] <= all_free:
                self.wakes += [end for one in self.on_trial if (end := self.running[one] + self.trial_for) > now][:1]


def easy_on_nodes(nodes: Sequence[int], jobs: Sequence[Entry]) -> list[float]:
    """EASY on nodes of so many cores: first fit, on one node where the widest has enough cores, else on several.

    A job that would still run when the head is promised its start has to leave it a place, any place; if the first fit
    does not, it may go where the head's own first fit leaves it room. Who was refused is asked again when a job has ended.
    """
    start: dict[int, float] = {}
    place: dict[int, list[int]] = {}
    refused: set[int] = set()
    now = -1.0

    def free(time: float, length: int) -> list[int]:
        """Cores of each node that nobody holds when jobs have ended whose run (3) or request (2) is over by ``time``."""
        held = [place[i] for i in start if start[i] + jobs[i][3] > now and start[i] + jobs[i][length] > time]
        return [cores - sum(cores_of[node] for cores_of in held) for node, cores in enumerate(nodes)]

    def choose(i: int, free_cores: list[int]) -> list[int] | None:
        return _fit_on_nodes(jobs[i][1], free_cores, max(nodes))

    while len(start) < len(jobs):
        ends = [start[i] + jobs[i][3] for i in start]
        now = min(t for t in [*ends, *(job[0] for job in jobs)] if t > now)
        if now in ends:
            refused.clear()
        head: int | None = None
        for i in (i for i, job in enumerate(jobs) if i not in start and job[0] <= now):
            chosen = choose(i, free(now, 3))
            if head is None and chosen is None:
                head = i
                requested = sorted({start[k] + jobs[k][2] for k in start if start[k] + jobs[k][3] > now})
                shadow = next(t for t in requested if choose(i, free(t, 2)))
            elif head is not None and chosen is not None and now + jobs[i][2] > shadow:
                later = free(shadow, 2)
                if not choose(head, _less(later, chosen)):
                    beside = _less(later, choose(head, later) or [])
                    chosen = choose(i, [min(pair) for pair in zip(free(now, 3), beside, strict=True)])
            if chosen is None:
                refused.add(i)
            elif i not in refused:
                start[i], place[i] = now, chosen
    return [start[i] for i in range(len(jobs))]


def _less(cores: list[int], taken: list[int]) -> list[int]:
    return [have - gone for have, gone in zip(cores, taken, strict=True)]


def _fit_on_nodes(width: int, free: list[int], widest: int) -> list[int] | None:
    """Cores that a job of that width gets on each node."""
    if width <= widest:
        node = next((node for node, cores in enumerate(free) if cores >= width), None)
        return None if node is None else [width * (node == other) for other in range(len(free))]
    taken = [min(cores, max(0, width - sum(free[:node]))) for node, cores in enumerate(free)]
    return taken if sum(taken) == width else None


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
