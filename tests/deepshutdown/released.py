"""How the program behind the released figures decides, so far as it can be told from its results: for comparison only.

It differs from this project's `saf-easy` and `timeout:T` in six ways, each of which a run here can have or not:

1. a timeout of k counts the minute in which a node is first seen idle: it switches off after k - 1 minutes;
2. any free cores serve a job, idle ones first, then those of nodes that boot, are off, or are switching off (the job then
   waits until the node is off and has booted again); here a job that fits one node goes on one node, and a node in
   transition is taken by nobody;
3. in a minute, the scheduler sees the head of the queue and the nine smallest jobs behind it: no more than ten jobs start;
4. behind the head everything is in order of area: if the head starts, the smallest job is the next head;
5. what is backfilled must end before the head's promised start; cores that the head leaves over count for nothing;
6. which node is switched off is not the one that was idle for so long, but the first idle one.

Its scheduler and its policy share one book, in which cores are taken before the job can start on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from cluster_sim.machine.node import NodeState
from cluster_sim.machine.placement import Placement
from cluster_sim.run import View
from cluster_sim.run.decisions import Decision, PowerDecision, Start, SwitchOff, SwitchOn, WakeAt
from cluster_sim.workload import Job
from schedulers.policy.policy import PowerPolicy, Scheduler

MINUTE_S = 60.0
WINDOW = 10
PREFERENCE = {
    NodeState.IDLE: 0,
    NodeState.COMPUTING: 0,
    NodeState.SWITCHING_ON: 1,
    NodeState.OFF: 2,
    NodeState.SWITCHING_OFF: 3,
}


class Book:
    """Jobs that wait, jobs that have cores and wait for nodes, and what was decided in the last minute."""

    def __init__(self, view: View):
        self.view = view
        self.cores = view.platform.node_cores
        self.queue: list[Job] = []
        self.ready: list[tuple[Job, dict[int, int]]] = []
        self.withheld = 0  # nodes kept from the scheduler
        self.promised: dict[int, float] = {}  # s from now until a job should start, as last planned
        self.idle_minutes = np.zeros(len(self.cores))
        self.minute = {"policy": -1, "scheduler": -1}

    def is_new_minute(self, who: str) -> bool:
        """Whether this is the first pass of ``who`` at a full minute."""
        minute = round(self.view.now / MINUTE_S)
        if self.view.now != minute * MINUTE_S or self.minute[who] == minute:
            return False
        self.minute[who] = minute
        return True

    def window(self, queue: list[Job]) -> list[Job]:
        """The head of the queue, and the rest by area."""
        return queue[:1] + sorted(queue[1:], key=lambda job: job.requested_time * job.requested_cores)

    def is_ready(self, nodes: Iterable[int]) -> bool:
        """Whether all of these nodes are on."""
        return all(self.view.machine.node(node).is_ready for node in nodes)

    def free(self) -> np.ndarray:
        """Cores of each node that no job has taken, whatever the node's state."""
        free = self.cores.astype(int)
        taken = [running.placement.cores_by_node() for running in self.view.running]
        for cores_by_node in [*taken, *(cores for _, cores in self.ready)]:
            for node, cores in cores_by_node.items():
                free[node] -= cores
        return free

    def plan(self, queue: list[Job]) -> list[Job]:
        """Return the jobs to start, of those in the window; the first that cannot is promised a start."""
        if not queue:
            return []
        left = [
            running.start_time + running.job.requested_time - self.view.now
            for running in self.view.running
            for _ in range(running.job.requested_cores)
        ]
        left += [job.requested_time for job, _ in self.ready for _ in range(job.requested_cores)]
        agenda = sorted([0.0] * (int(self.cores.sum()) - len(left)) + [max(time, 0.0) for time in left])
        agenda = agenda[self.withheld * int(self.cores[0]) :]
        free, started = agenda.count(0.0), []
        for job in queue:
            if job.requested_cores > free:
                break
            started.append(job)
            free -= job.requested_cores
        new = [job.requested_time for job in started for _ in range(job.requested_cores)]
        agenda = sorted([0.0] * free + agenda[agenda.count(0.0) :] + new)
        self.promised |= {job.index: 0.0 for job in started}
        if len(started) == len(queue):
            return started
        head, rest = queue[len(started)], queue[len(started) + 1 :]
        shadow = math.ceil(([0.0, *agenda[: head.requested_cores]])[-1] / MINUTE_S) * MINUTE_S
        self.promised[head.index] = shadow
        for job in rest if shadow > 0 else []:
            if job.requested_cores <= free and job.requested_time <= shadow:
                started.append(job)
                self.promised[job.index] = 0.0
                free -= job.requested_cores
        return started

    def take(self, job: Job) -> None:
        """Cores for a job: free ones of nodes in order of preference."""
        free, wanted, taken = self.free(), job.requested_cores, {}
        for node in sorted(range(len(free)), key=lambda n: (PREFERENCE[self.view.machine.node(n).state], n)):
            cores = min(int(free[node]), wanted)
            if cores:
                taken[node] = cores
                wanted -= cores
        self.queue.remove(job)
        self.ready.append((job, taken))

    def start(self) -> Iterator[Start]:
        """Start the jobs whose nodes are all on."""
        for job, cores in list(self.ready):
            if self.is_ready(cores):
                self.ready.remove((job, cores))
                yield Start(job, Placement.on(cores))


class ReleasedTimeout(PowerPolicy):
    """Each minute, before the scheduler: keep as many nodes from it as were idle for long enough, or are off."""

    def __init__(self, minutes: int):
        self.minutes = minutes

    def begin(self, view: View) -> None:
        """Open the book."""
        self.book = Book(view)

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """Switch idle nodes off, first ones first, until as many are off or on the way as are to be kept back."""
        book = self.book
        if not book.is_new_minute("policy"):
            return
        queue = book.window(book.queue + view.submitted)
        book.plan(queue[:WINDOW])
        states = [node.state for node in view.machine.nodes()]
        free = book.free()
        total = int(free.sum())
        size = self._size(states, total - self._wanted(queue, total))
        empty = np.flatnonzero(free == book.cores).tolist()
        size = min(size, len(empty))
        if queue and book.promised.get(queue[0].index) == 0.0:
            size = min(size, len(states) - math.ceil(queue[0].requested_cores / int(book.cores[0])))
        on = [node for node in empty if states[node] is NodeState.IDLE]
        book.withheld = max(size, 0)
        for node in on[: max(0, size - (len(empty) - len(on)))]:
            yield SwitchOff(node)

    def _wanted(self, queue: list[Job], free: int) -> int:
        """Return how many of the free cores the jobs of the queue will take."""
        left = free
        shadow = self.book.promised.get(queue[0].index, -1.0) if queue else -1.0
        for place, job in enumerate(queue):
            if place == 0 and (shadow == 0.0 or job.requested_cores <= left):
                shadow = -1.0
                left -= job.requested_cores
            elif place and job.requested_cores <= left and (shadow == -1.0 or job.requested_time <= shadow):
                left -= job.requested_cores
        return free - left

    def _size(self, states: list[NodeState], unwanted: int) -> int:
        """How many nodes to keep back, of the cores that nobody wants."""
        book, size = self.book, 0
        starting = {node for _, cores in book.ready if book.is_ready(cores) for node in cores}
        for node, state in enumerate(states):
            if unwanted >= book.cores[node]:
                idle = state is NodeState.IDLE and node not in starting
                book.idle_minutes[node] = book.idle_minutes[node] + 1 if idle else 0
                if book.idle_minutes[node] >= self.minutes or state in (NodeState.OFF, NodeState.SWITCHING_OFF):
                    size += 1
                    unwanted -= int(book.cores[node])
        return size

    def react(self, view: View) -> Iterable[PowerDecision]:
        """Boot what jobs wait for."""
        nodes = {node for _, cores in self.book.ready for node in cores}
        return [SwitchOn(node) for node in sorted(nodes) if view.machine.is_off[node]]


class ReleasedScheduler(Scheduler):
    """Once a minute; works on the book of its policy."""

    def __init__(self, policy: ReleasedTimeout):
        self.policy = policy

    def schedule(self, view: View) -> Iterable[Decision]:
        """Start what can be started; at a full minute, give cores to more jobs."""
        book = self.policy.book
        book.queue += view.submitted
        yield from book.start()
        if book.is_new_minute("scheduler"):
            for job in book.plan(book.window(book.queue)[:WINDOW]):
                book.take(job)
            yield from book.start()
            yield WakeAt(view.now + MINUTE_S)
