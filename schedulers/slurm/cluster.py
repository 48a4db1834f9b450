"""The state that Slurm's passes look at and change: nodes, partitions, who holds what, licences, advance reservations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from cluster_sim.formats.slurm import conf_values as values
from cluster_sim.machine.guest_requests import Departure
from cluster_sim.platform.platform import Platform
from schedulers.slurm.gang import SharedFree
from schedulers.slurm.job_request import Ask, QueuedJob
from schedulers.slurm.partitions import Queue
from schedulers.slurm.preemption import Preempted, Preemption
from schedulers.slurm.protocols import Accounting, BasicPriority
from schedulers.slurm.selection.best_fit import ChosenNodes, Shape, choose
from schedulers.slurm.selection.node_holder import GUESTS, NodeHolder, RunningByEnd
from schedulers.slurm.selection.node_sets import NodeSet, set_of
from schedulers.slurm.selection.nodes import FreeCpus, NodeFacts
from schedulers.slurm.settings import Settings


@dataclass(slots=True, eq=False)
class SlurmReservation:
    """An advance reservation: nodes that only its own jobs may use from ``start`` to ``end`` (s)."""

    name: str
    start: float
    end: float
    nodes: NodeSet
    users: frozenset[str] = frozenset()  #: Who may ask for it; empty: everybody.
    is_active: bool = False  #: Whether it is known to have begun.


class SlurmCluster:
    """Everything that is known of the machine at an instant. A pass asks it, and tells it whom it starts."""

    def __init__(
        self,
        facts: NodeFacts,
        queues: Iterable[Queue],
        settings: Settings,
        accounting: Accounting | None = None,
        epoch: float = 0.0,
    ):
        self.facts = facts
        self.settings = settings
        self.epoch = epoch  #: Time of the clock at 0 s of the run, s: roundings go by it.
        self.accounting: Accounting = BasicPriority() if accounting is None else accounting
        self.queues = {queue.name: queue for queue in queues}
        self.preemption: Preemption | None = None
        if settings.preempt is not None:
            quality = self.accounting.quality
            self.preemption = Preemption(settings.preempt, self.queues, quality, settings.whole_nodes)
        shared = self.preemption is not None and self.preemption.gang
        self.free: FreeCpus = (
            SharedFree(facts, self.preemption.levels) if self.preemption and shared else FreeCpus(facts)
        )
        self._unused = FreeCpus(facts)
        self.held: dict[int, NodeHolder] = {}
        self.running = RunningByEnd()  #: Jobs of ``held`` whose end has not come.
        self.ending: dict[int, NodeHolder] = {}  #: Jobs of ``held`` whose end has come.
        self.guests: list[NodeHolder] = []  #: What processes of a user's own hold beside the jobs.
        self.up: NodeSet = facts.all  #: Nodes that are neither down nor drained.
        self.all_licences = dict(settings.licences or {})
        self.licences = Counter(self.all_licences)  #: Licences that nobody holds.
        self.windows: list[SlurmReservation] = []
        self.array_tasks: Counter[str] = Counter()  #: Tasks of each array that run.
        self._split: dict[str, float] = {}  # when the last task of each array was started, s
        # By the job's key, then by what counts of the partition.
        self._shapes: dict[int, dict[tuple[bool, int, int], Shape]] = {}
        self._eligible: dict[int, NodeSet] = {}
        self._tested: set[int] = set()
        self.order_changed = False  #: Whether a test of a job has changed its priority.

    @classmethod
    def of(
        cls, platform: Platform, settings: Settings, accounting: Accounting | None = None, epoch: float = 0.0
    ) -> SlurmCluster:
        """Return the cluster of a platform that was read from a slurm.conf, with nothing running."""
        slurm = platform.slurm
        assert slurm is not None
        types = [platform.node_types[index] for index in platform.type_of_node]
        memory = [math.inf if kind.memory_gb is None else kind.memory_gb * 1024 for kind in types]
        gpus = []
        for gres in slurm.gres:
            counts = values.gpus_by_type(gres)  # of a node with several types none are given
            gpus.append(next(iter(counts.items())) if len(counts) == 1 else ("", 0))
        tags = [kind.tags for kind in types]
        tree, spreads = platform.switch_tree if settings.topology else None, settings.topology == "dragonfly"
        cpus = platform.node_cores.tolist()
        facts = NodeFacts(cpus, memory, slurm.weights, tags, gpus, slurm.threads, tree, spreads)
        return cls(facts, map(Queue.of, slurm.partitions), settings, accounting, epoch)

    @property
    def is_shared(self) -> bool:
        """Return whether jobs of several tiers may share cores, all but one of them suspended."""
        return isinstance(self.free, SharedFree)

    # ------------------------------------------------------------------ what a job asks for

    def entries(self, ask: Ask) -> list[QueuedJob]:
        """Return a job as it stands in the queue: once for each of its partitions that exists."""
        return [QueuedJob(ask, self.queues[name]) for name in ask.partitions if name in self.queues]

    def open_partitions(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of the partitions that take jobs now, the alternate of one that does not in its place; each once."""
        found: dict[str, None] = {}
        for name in names:
            passed = {name}
            while not self.queues[name].takes_jobs:
                name = self.queues[name].alternate
                if name not in self.queues or name in passed:
                    break
                passed.add(name)
            else:
                found[name] = None
        return tuple(found)

    def shape(self, entry: QueuedJob) -> Shape:
        """Return what a job asks of nodes in one of its partitions."""
        queue = entry.queue
        key = queue.exclusive, queue.min_nodes, queue.max_nodes
        shapes = self._shapes.setdefault(entry.ask.key, {})
        shape = shapes.get(key)
        if shape is None or shape.ask is not entry.ask:
            ask, settings = entry.ask, self.settings
            per_node, per_cpu = ask.memory_per_node, ask.memory_per_cpu
            if not per_node and not per_cpu:
                per_node, per_cpu = settings.def_memory_per_node, settings.def_memory_per_cpu
            if not settings.counts_memory:
                per_node = per_cpu = 0.0
            whole = settings.whole_nodes or queue.exclusive
            nodes = queue.min_nodes, queue.max_nodes
            shape = shapes[key] = Shape(ask, whole, per_node, per_cpu, nodes, tries_larger=not settings.whole_nodes)
        return shape

    def shape_at(self, entry: QueuedJob, now: float) -> Shape:
        """Return the same, under as few switches as the job still waits for."""
        shape = self.shape(entry)
        shape.most_leaves = entry.ask.switches if now < self.switches_until(entry.ask) else 0
        return shape

    def switches_until(self, ask: Ask) -> float:
        """Return until when a job waits for few switches, s; -inf: it does not."""
        if self.facts.tree is None or not ask.switches:
            return -math.inf
        wait = min(ask.switch_wait_s, self.settings.max_switch_wait)
        return math.floor(max(ask.submit_time, ask.begin_time)) + wait

    def nodes_for(self, ask: Ask) -> NodeSet:
        """Return the nodes that have its features and as many GPUs as it needs, and that it does not exclude."""
        nodes = self._eligible.get(ask.key)
        if nodes is None:
            nodes = self.facts.with_features(ask.features) & self.facts.with_gpus(ask.gpus_per_node, ask.gpu_type)
            nodes &= ~set_of(ask.excluded_nodes)
            self._eligible[ask.key] = nodes
        return nodes

    def forget(self, ask: Ask) -> None:
        """Forget what is known of a job whose request has changed, or that is over."""
        self._eligible.pop(ask.key, None)
        self._tested.discard(ask.key)
        self._shapes.pop(ask.key, None)

    def limit(self, entry: QueuedJob) -> float:
        """Return how long a job may run in a partition, s: whole minutes."""
        return entry.ask.limit_in(entry.queue)

    def shortest(self, entry: QueuedJob) -> float:
        """Return the least time with which a job may be started, s: ``--time-min``, or its limit."""
        limit, least = self.limit(entry), entry.ask.time_min_s
        return min(least, limit) if least else limit

    # ------------------------------------------------------------------ what is open to it

    @property
    def completing(self) -> NodeSet:
        """Return the nodes on which a job has ended and is not yet cleaned up."""
        mask = 0
        for held in self.ending.values():
            mask |= held.mask
        return mask

    @property
    def busy(self) -> NodeSet:
        """Return the nodes on which a job or a guest runs."""
        if not self.ending and not self.is_shared:
            return self.facts.all & ~self.free.empty
        mask = 0
        for held in (*self.running.jobs, *self.guests):
            mask |= held.mask
        return mask

    @property
    def leaving(self) -> RunningByEnd:
        """Return who gives nodes back, and when: running jobs, by their limits, and guests, when they said."""
        return RunningByEnd((*self.running.jobs, *self.guests)) if self.guests else self.running

    def open_nodes(self, ask: Ask, start: float, end: float) -> NodeSet:
        """Return the nodes that no advance reservation closes to the job from ``start`` to ``end`` (s).

        For a job of a reservation these are the reservation's.
        """
        nodes = self.facts.all
        own = 0
        for window in self.windows:
            if window.name == ask.reservation:
                own |= window.nodes if window.start <= start < window.end else 0
            elif window.start < end and start < window.end:
                nodes &= ~window.nodes
        return nodes & own if ask.reservation else nodes

    def open_now(self, ask: Ask, now: float, length: float) -> NodeSet:
        """Return the nodes that are open for a start now: Slurm's clock has whole seconds."""
        return self.open_nodes(ask, math.floor(now), math.floor(now) + length)

    def next_window(self, start: float) -> float:
        """Return when, at ``start`` or after, the next advance reservation ends, s; 0: none does."""
        return min((window.end for window in self.windows if window.end >= start), default=0.0)

    def window_over(self, start: float, end: float) -> float:
        """Return when the first of the advance reservations ends that overlap this time, s; inf: none does."""
        return min((each.end for each in self.windows if each.start < end and start < each.end), default=math.inf)

    @property
    def next_boundary(self) -> float:
        """Return when the next advance reservation begins or ends that has not been noticed to do so, s; inf: none."""
        return min((each.start if not each.is_active else each.end for each in self.windows), default=math.inf)

    def note_windows(self, now: float) -> bool:
        """Advance reservations begin and end; whether one has begun."""
        self.windows[:] = [window for window in self.windows if window.end > now]
        begun = [window for window in self.windows if window.start <= now and not window.is_active]
        for window in begun:
            window.is_active = True
        return bool(begun)

    def is_open(self, ask: Ask, now: float) -> bool:
        """Return whether the advance reservation that the job asks for has begun; True if it asks for none."""
        return not ask.reservation or any(
            window.name == ask.reservation and window.start <= now < window.end for window in self.windows
        )

    def why_not_admitted(self, ask: Ask) -> str:
        """Say why the job may not ask for its advance reservation, or for its nodes; empty: it may."""
        windows = [window for window in self.windows if window.name == ask.reservation]
        if self.facts.tree is not None and (ask.required_nodes or ask.spread):
            what = "certain nodes" if ask.required_nodes else "nodes all over the machine"
            return f"it asks for {what}, which is not simulated with TopologyPlugin=topology/tree"
        if ask.reservation and not windows:
            return f"there is no reservation '{ask.reservation}'"
        if any(window.users and ask.user not in window.users for window in windows):
            return f"its user may not use reservation '{ask.reservation}'"
        return ""

    def has_licences(self, ask: Ask) -> bool:
        """Return whether all its licences are free."""
        return all(self.licences[name] >= count for name, count in ask.licences.items())

    def is_throttled(self, ask: Ask) -> bool:
        """Return whether as many tasks of its array run as may."""
        return bool(ask.array_limit) and self.array_tasks[ask.array] >= ask.array_limit

    def could_ever(self, entry: QueuedJob) -> bool:
        """Return whether the partition has nodes for the job when nobody else is there."""
        shape = self.shape_at(entry, math.inf)
        return choose(shape, self._unused, entry.queue.nodes & self.nodes_for(entry.ask)) is not None

    def fits_elsewhere(self, entry: QueuedJob) -> bool:
        """Return whether the cluster has nodes for a job that its partition has not: the job may wait for a change."""
        return choose(self.shape_at(entry, math.inf), self._unused, self.nodes_for(entry.ask)) is not None

    def is_young(self, entry: QueuedJob, now: float) -> bool:
        """Return whether the job has waited too short, or is too low, to have nodes kept for it."""
        ask, settings = entry.ask, self.settings
        age = math.floor(now) - math.floor(max(ask.submit_time, ask.begin_time))
        return age < settings.bf_min_age_reserve or entry.priority < settings.bf_min_prio_reserve

    def choose(self, entry: QueuedJob, nodes: NodeSet, now: float, length: float) -> ChosenNodes | None:
        """Choose nodes of a set on which the job can start now, for so long (s); None if it cannot."""
        nodes = self._open_to(entry, nodes, now, length)
        if isinstance(self.free, SharedFree):
            choice = self.free.choices(self.shape(entry), nodes, entry.queue)
        else:
            choice = choose(self.shape_at(entry, math.floor(now)), self.free, nodes)
        self.note_test(entry, choice)
        return choice

    def _open_to(self, entry: QueuedJob, nodes: NodeSet, now: float, length: float) -> NodeSet:
        ask = entry.ask
        nodes &= entry.queue.nodes & self.nodes_for(ask)
        return nodes & self.open_now(ask, now, length) if self.windows or ask.reservation else nodes

    def candidates(self, entry: QueuedJob, now: float) -> list[NodeHolder]:
        """Return the running jobs from which a job may take nodes, the first to be taken first."""
        return [] if self.preemption is None else self.preemption.candidates(entry, self.held.values(), now)

    def preempt(self, entry: QueuedJob, nodes: NodeSet, now: float, length: float) -> Preempted | None:
        """Take nodes of a set for a job from others: those that are to go at once have ended. None if that is no use."""
        preemption, candidates = self.preemption, self.candidates(entry, now)
        if preemption is None or not candidates:
            return None
        nodes = self._open_to(entry, nodes, now, length)
        found = preemption.victims(self.shape(entry), self.free, nodes, candidates)
        if found is None:
            return None
        choice, victims = found
        if self.accounting.refusal_on(entry.ask, choice.nodes, sum(choice.cpus), now):
            return None
        for held in victims:
            self.running.remove(held)
        gone = preemption.stop(entry.ask.key, victims, now)
        for held in victims:
            self.running.add(held)
        if gone is None:
            return None
        for held in gone:
            self.end(held.ask.key)
        return Preempted(entry, gone)

    def is_tested(self, ask: Ask) -> bool:
        """Return whether the job has been tested before."""
        return ask.key in self._tested

    def note_test(self, entry: QueuedJob, choice: ChosenNodes | None) -> None:
        """Note that a job has been tested; the first test counts for its priority."""
        ask = entry.ask
        if ask.key in self._tested:
            return
        self._tested.add(ask.key)
        whole = self.shape(entry).whole
        cpus = ask.least_nodes * self.facts.most_cpus if whole else ask.cpus
        self.accounting.tested(ask, cpus if choice is None else sum(choice.cpus))
        self.order_changed = True

    # ------------------------------------------------------------------ changes

    def start(self, entry: QueuedJob, choice: ChosenNodes, limit: float, now: float) -> NodeHolder:
        """Start a job on its nodes, until its limit ends it."""
        ask = entry.ask
        end, partition = math.floor(now) + limit, entry.queue.name
        held = NodeHolder(
            ask, choice.nodes, choice.cpus, choice.memory, now, end, partition=partition, cores=choice.cores
        )
        if ask.array:
            held.made = self._split.get(ask.array, held.made)
            self._split[ask.array] = now
        self.hold(held)
        self.accounting.started(ask, entry.queue.name, choice.nodes, sum(choice.cpus), now)
        return held

    def hold(self, held: NodeHolder) -> None:
        """Hold the nodes of a job that runs."""
        ask = held.ask
        self.held[ask.key] = held
        self.running.add(held)
        self.free.take(held)
        self.licences.subtract(ask.licences)
        if ask.array:
            self.array_tasks[ask.array] += 1

    def note_guests(self, guests: Sequence[Departure], now: float, runs: Container[int]) -> None:
        """Note that these guests, and no others, hold cores.

        ``runs`` are the keys of the jobs that have cores, without suspended ones.
        """
        for held in self.guests:
            self.free.release(held)
        self.guests = []
        for number, guest in enumerate(guests, 1):
            cores: tuple[tuple[int, ...], ...] = ()
            if isinstance(self.free, SharedFree):
                running = [held for key, held in self.held.items() if key in runs]
                cores = (self.free.cores_of_guest(guest.node, guest.cores, [*running, *self.guests]),)
            held = NodeHolder(
                Ask(-number, guest.owner),
                (guest.node,),
                (guest.cores,),
                (0.0,),
                now,
                guest.expected_end,
                partition=GUESTS,
                cores=cores,
            )
            self.guests.append(held)
            self.free.take(held)

    def end_later(self, key: int, end: float) -> None:
        """Change when the limit of a running job ends it, s."""
        held = self.held[key]
        self.running.remove(held)
        held.end = end
        self.running.add(held)

    def end(self, key: int) -> None:
        """End a job; its nodes are not yet cleaned up."""
        held = self.ending[key] = self.held[key]
        held.ending = True
        self.running.remove(held)
        self.licences.update(held.ask.licences)
        if held.ask.array:
            self.array_tasks[held.ask.array] -= 1

    def clean_all_but_first(self, key: int) -> None:
        """Free the nodes of a killed job on which its script did not run."""
        held = self.held[key]
        self.free.release(held)
        first = replace(
            held, nodes=held.nodes[:1], cpus=held.cpus[:1], memory=held.memory[:1], cores=held.cores[:1], ending=True
        )
        self.held[key] = self.ending[key] = first
        self.free.take(first)

    def clean(self, key: int) -> None:
        """Free the nodes of a job that has ended."""
        del self.ending[key]
        self.free.release(self.held.pop(key))
