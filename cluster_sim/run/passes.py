"""Who decides, and when: scheduling passes, one in an instant, and the power policy's turns before and after them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

from simpy.events import URGENT, Event, EventPriority

from cluster_sim.engine import REACT, RESERVE, SCHEDULE
from cluster_sim.errors import SimulationError, StallError, counted
from cluster_sim.platform.node_state import NodeState
from cluster_sim.run.decisions import PowerDecision

if TYPE_CHECKING:
    from cluster_sim.machine.machine import Machine
    from cluster_sim.machine.running import Running
    from cluster_sim.run.decision_log import KeptBack
    from cluster_sim.run.jobs.live_jobs import LiveJobs
    from cluster_sim.run.news import News
    from cluster_sim.workload.jobs import Job

MOST_PASSES_AT_ONE_TIME = 10_000
MOST_FRUITLESS_PASSES = 100_000
PASSES_IN_TRANSITION = 100
"""Passes that count as one while nodes are in their transitions, which end by themselves."""


class PowerTurns(Protocol):
    """What a power policy says of the turns that it wants, see :class:`~cluster_sim.run.policies.PowerPolicy`."""

    follows_submissions: bool
    follows_switching: bool
    reserves: bool


class BlocksQueue(Protocol):
    """A scheduler under which a job that waits for cores can have all behind it wait, too.

    It sets ``blocked_by`` in a pass: before that job no other starts, nor any that is submitted later. As long as it waits,
    and fewer cores are free than it requests, there is no pass for jobs that end or join the queue behind it, nor for nodes
    that are switched. ``refused_at`` is the machine's ``version`` when that job did not fit: then there is no such pass
    either until the version changes. It is None where another look at the same machine may find a place, as with nodes in
    random order.
    """

    blocked_by: Job | None
    refused_at: object


class _NeverBlocks:
    blocked_by: Job | None = None
    refused_at: object = None


class Passes:
    """Plans the turns of an instant: whatever happens asks for them, and there is one of each kind.

    ``scheduler`` and ``power`` decide in them, each in a process of its own; without a scheduler a program outside does.
    """

    def __init__(
        self,
        machine: Machine,
        live: LiveJobs[Any],
        news: News,
        scheduler: Any,
        power: object | None,
        traits: PowerTurns,
        kept_back: KeptBack,
        after_each_event: bool = False,
    ):
        self._machine = machine
        self._env = machine.env
        self._live = live
        self._news = news
        self._scheduler = scheduler
        self._power = power
        self._phase = URGENT if after_each_event else SCHEDULE  # of an instant, in which the scheduler decides
        # Whether the power policy is to be told of nodes that went OFF, or came on for the job that holds them.
        self._follows_switching = traits.follows_switching
        # Whether it is told of jobs that came or started, or only of those that ended.
        self._follows_submissions = power is not None and traits.follows_submissions
        self._reserves = traits.reserves  # whether the power policy decides before the pass, too
        self._is_to_reserve = self._is_to_react = False  # whether these turns of this instant are planned
        self._reserving = False  # whether the first is being taken
        self.power_decides = False  #: True if it is a turn of the power policy: what is decided now is its decision.
        self._planned_at, self._passes_now = -1.0, 0  # time of the last passes, and how many there were
        self._fruitless = 0  # passes in a row at which jobs waited, none ran and none had come
        self._came = 0  # jobs of which there was news at the last of them
        self._in_transition = 0  # of them, those since the last that was counted; nodes were underway meanwhile
        self._changes_seen = 0  # changes of nodes' states up to the last of them
        self.idle_wakes = 0  #: Of the scheduler since a job last started, in a row, while nothing else was to happen.
        self._wakes_to_come = 0  # of the scheduler
        self.coming = Event(self._env)  #: The event of the next scheduling pass.
        self.power_turn = Event(self._env)  #: The event of the power policy's next turn.
        hub = machine.hub
        hub.guest_left.append(self.request)
        self._kept_back = kept_back
        self._names_head = hasattr(type(scheduler), "blocked_by")
        skips = self._names_head and hasattr(scheduler, "refused_at") and not self._follows_submissions
        self._blocking: BlocksQueue = scheduler if skips else _NeverBlocks()
        hub.queued.append(self._job_came if skips else self.request)
        hub.vacated.append(self._job_left if skips else self.request)
        hub.nodes_changed.append(self._nodes_changed)
        if power is not None:
            self.request_policy()

    def due(self) -> Event:
        """Return the event of the next scheduling pass."""
        if self.coming.callbacks is None:  # it has been
            self.coming = Event(self._env)
        return self.coming

    def pass_is_over(self) -> None:
        """Clear the news that the scheduler has seen; the next pass is to come."""
        news = self._news
        if self._names_head and (head := self._scheduler.blocked_by) is not None:
            self._kept_back.blocks(self._env.now, head)
        self._came = 0
        if news.seen is None:
            list.clear(news.submitted)
            list.clear(news.ended)
            list.clear(news.resumed)
            list.clear(news.at_boundary)
        else:
            # What this pass's own decisions brought, it has not seen: the next pass does.
            told: tuple[list[Any], ...] = news.submitted, news.ended, news.resumed, news.at_boundary
            for items, count in zip(told, news.seen, strict=True):
                list.__delitem__(items, slice(count))
            news.seen = None
        if self.coming.callbacks is None:
            self.coming = Event(self._env)

    def power_due(self) -> Event:
        """Return the event of the power policy's next turn; its value says which: ``RESERVE`` or ``REACT``."""
        return self.power_turn

    def request(self, *heard: object) -> None:
        """Ask for one pass of each policy after all else of this instant: something they may answer to happened."""
        due = self.coming
        if due.callbacks is None:  # it is going on
            due = self.coming = Event(self._env)
        if not due.triggered:
            self._env.trigger(due, self._phase, SCHEDULE)
            if self._follows_submissions or self._news.vacated:
                self.request_policy()
        elif not self._follows_submissions and not self._is_to_react and self._news.vacated:
            self.request_policy()

    def _job_came(self, job: Job) -> None:
        """Ask for a pass, unless the job is behind one that blocks the queue."""
        head = self._blocking.blocked_by
        if head is None or job.index < head.index or job.submit_time < head.submit_time or not self._is_blocked(head):
            self.request()

    def _job_left(self, running: Running) -> None:
        """Ask for a pass, unless the cores that a job has given back are too few for one that blocks the queue."""
        head = self._blocking.blocked_by
        if head is None or not self._is_blocked(head):
            self.request()
        elif self._news.vacated:
            self.request_policy()

    def _is_blocked(self, head: Job) -> bool:
        """Return whether a job that waits still cannot start, and nobody but the scheduler waits for passes."""
        others = self.coming.callbacks
        if others is not None and len(others) > 1:
            return False
        cores = self._machine.cores
        lacks = head.requested_cores > cores.free_total or self._blocking.refused_at is cores.version
        return lacks and self._live.pending.get(head.index) is head

    def _nodes_changed(self, nodes: Sequence[int], state: NodeState) -> None:
        """Ask for the passes that nodes in another state give reason to."""
        if state is NodeState.SWITCHING_ON or state is NodeState.SWITCHING_OFF:
            return
        machine, cores = self._machine, self._machine.cores
        # A job that waits may fit now; a job's own nodes are news to none. But booting may have weighed on a power cap.
        waited_for = self._live.pending and (machine.budget.is_set or cores.have_free_cores(nodes))
        head = self._blocking.blocked_by
        if self._scheduler is None or (waited_for and (head is None or not self._is_blocked(head))):
            self.request()
        if self._follows_switching or (state is not NodeState.OFF and cores.have_free_cores(nodes)):
            self.request_policy()

    def request_policy(self) -> None:
        """Ask the power policy to reserve and react, with no pass between: the scheduler need not know."""
        if self._power is None:
            return
        before = self._reserves and not self._reserving  # what it offers just now is for the pass that follows
        if self._is_to_react and (self._is_to_reserve or not before):
            return
        # A power policy that switches nodes off and on again in no time would hold the clock for ever.
        now = self._env.now
        if now != self._planned_at:
            self._planned_at, self._passes_now = now, 0
        elif self._passes_now > MOST_PASSES_AT_ONE_TIME:
            policy = type(self._power).__name__
            raise SimulationError(f"{policy} switches nodes in circles: {self._passes_now} passes at {now:g} s")
        self._passes_now += 1
        live, came = self._live, len(self._news.submitted)
        if not live.pending or live.running or came > self._came:
            self._fruitless = self._in_transition = 0
            self._came = came
        else:
            self._guard_against_stalls()
        if before and not self._is_to_reserve:
            self._is_to_reserve = True
            self._env.at(now, RESERVE).callbacks.append(self._reserve)
        if not self._is_to_react:
            self._is_to_react = True
            self._env.at(now, REACT).callbacks.append(self._react)

    def _guard_against_stalls(self) -> None:
        """Raise StallError if the policy only asks to be woken again while jobs wait and nothing runs, without end."""
        nodes, changes = self._machine.nodes, len(self._machine.ledger.transitions)
        if nodes.transition_ends and changes == self._changes_seen and self._in_transition < PASSES_IN_TRANSITION:
            self._in_transition += 1
            return
        self._fruitless += 1
        self._in_transition, self._changes_seen = 0, changes
        if self._fruitless <= MOST_FRUITLESS_PASSES:
            return
        platform, policy = self._machine.platform, type(self._power).__name__
        failed = int((~(nodes.powered_on | nodes.powered_off)).sum())
        if nodes.withheld_count:
            why = f"{policy} withholds {nodes.withheld_count} nodes"
        elif nodes.transition_ends:
            node, end = max(nodes.transition_ends.items(), key=itemgetter(1))
            name, state = platform.node_name(node), nodes.state[node]
            why = f"{name} is {state} until {end:g} s, and {policy} asks again and again to be woken"
        elif failed:
            several, has = counted(platform.node_count, "node"), "has" if failed == 1 else "have"
            why = f"{failed} of {several} {has} failed, and {policy} asks again and again to be woken"
        else:
            scheduler = "the scheduler" if self._scheduler is None else type(self._scheduler).__name__
            why = f"{scheduler} starts no job, and {policy}, which withholds no node, asks again and again to be woken"
        raise StallError(
            f"{why}: {len(self._live.pending)} jobs wait and none runs, and so it was in all of "
            f"the last {MOST_FRUITLESS_PASSES:,} passes, up to {self._env.now:g} s"
        )

    def carry_out(self, decisions: Iterable[PowerDecision], apply: Callable[[PowerDecision], None]) -> None:
        """Carry out decisions from outside as the power policy's, before the scheduler's pass."""
        self.power_decides = self._reserving = True  # what is offered now is for the pass that follows
        try:
            for decision in decisions:
                apply(decision)
        finally:
            self.power_decides = self._reserving = False

    def _reserve(self, event: Event) -> None:
        """Let the power policy decide before the scheduler's pass."""
        self._is_to_reserve, self._reserving = False, True
        self._take_turn(RESERVE)
        self._reserving = False

    def _react(self, event: Event) -> None:
        """Let the power policy decide after the scheduler's pass."""
        self._is_to_react = False
        self._take_turn(REACT)
        list.clear(self._news.vacated)

    def _take_turn(self, turn: EventPriority) -> None:
        """Let the power policy's process go on, to where it waits for its next turn."""
        due, self.power_turn = self.power_turn, Event(self._env)
        self.power_decides = True
        self._env.deliver(due, turn)
        self.power_decides = False

    def wake_is_planned(self) -> None:
        """Note that the scheduler will be woken.

        Raises StallError if it only asks for that again and again, while nothing runs or is to happen.
        """
        self._wakes_to_come += 1
        if self._live.running or self._env.planned_later() > self._wakes_to_come:
            self.idle_wakes = 0
            return
        self.idle_wakes += 1
        if self.idle_wakes > MOST_FRUITLESS_PASSES:
            raise StallError(
                f"{type(self._scheduler).__name__} starts no job, and asks again and again to be woken: "
                f"{len(self._live.pending):,} jobs wait and none runs, nothing else is to happen, and so it was "
                f"the last {MOST_FRUITLESS_PASSES:,} times, up to {self._env.now:g} s"
            )

    def wake(self) -> None:
        """Ask for a pass: a time has come at which the scheduler wanted to be woken."""
        self._wakes_to_come -= 1
        self.request()
