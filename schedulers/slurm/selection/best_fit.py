"""Which nodes a job gets: best fit over runs of consecutive nodes, those of low weight first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cluster_sim.platform.node_choice import TAKEN, best_run, one_switch_or_all, under_few_switches
from cluster_sim.platform.switches import SwitchTree
from schedulers.slurm.job_request import Ask
from schedulers.slurm.selection.filling import empty_nodes
from schedulers.slurm.selection.node_sets import NodeSet, edges, members, runs, set_of, set_where
from schedulers.slurm.selection.nodes import Capacities, FreeCpus, NodeFacts

_MANY = 2**40


class ChosenNodes:
    """Nodes for a job (rising), CPUs and memory (MB) on each."""

    __slots__ = ("_cpus", "_memory", "_nodes", "cores", "mask")

    def __init__(self, nodes: tuple[int, ...], cpus: tuple[int, ...], memory: tuple[float, ...]):
        self._nodes: tuple[int, ...] | None = nodes
        self._cpus, self._memory = cpus, memory
        self.mask: NodeSet = set_of(nodes)
        self.cores: tuple[tuple[int, ...], ...] = ()  #: Which on each, where jobs of several tiers share them.

    @classmethod
    def alike(cls, mask: NodeSet, cpus: int, memory: float) -> ChosenNodes:
        """Return the same on every node of a set; the nodes are written out when somebody asks."""
        choice = cls((), (cpus,), (memory,))
        choice._nodes, choice.mask = None, mask
        return choice

    @property
    def nodes(self) -> tuple[int, ...]:
        """Return the nodes' positions in the platform."""
        if self._nodes is None:
            self._nodes = tuple(members(self.mask))
            self._cpus *= len(self._nodes)
            self._memory *= len(self._nodes)
        return self._nodes

    @property
    def cpus(self) -> tuple[int, ...]:
        """Return the CPUs on each of the nodes."""
        return self._cpus if self.nodes else ()

    @property
    def memory(self) -> tuple[float, ...]:
        """Return the memory on each of the nodes, MB."""
        return self._memory if self.nodes else ()


class Shape:
    """Request of a job to nodes, worked out once for all the tests of a pass.

    ``whole_nodes``: nodes are given out whole, as select/linear and exclusive jobs have it. ``memory``, MB on a node and for
    each CPU, is 0 where it does not count. ``nodes`` are the least and the most that its partition gives a job; 0: any number.
    With ``tries_larger`` a search that fails is made again without the smallest nodes, as cons_tres does.
    """

    def __init__(
        self,
        ask: Ask,
        whole_nodes: bool,
        memory_per_node: float = 0.0,
        memory_per_cpu: float = 0.0,
        nodes: tuple[int, int] = (0, 0),
        tries_larger: bool = True,
    ):
        self.ask = ask
        self.whole = whole_nodes or ask.exclusive
        self.tries_larger = tries_larger
        self.memory_per_node = memory_per_node
        self.memory_per_cpu = 0.0 if memory_per_node else memory_per_cpu
        self.required = set_of(ask.required_nodes)
        self.min_nodes = ask.least_nodes
        self.most_nodes = ask.most_nodes
        if ask.spread:
            self.most_nodes = self.most_nodes or max(ask.tasks, 1)
        elif self.required and not ask.min_nodes:
            self.min_nodes = len(ask.required_nodes)
        fewest, most = nodes
        self.min_nodes = max(self.min_nodes, min(fewest, ask.cores or fewest))  # it has no more cores to spread
        #: Nodes without which one would have more than ``--ntasks-per-node``, wherever the job has whole nodes, too.
        tasks_need = -(-ask.tasks // ask.tasks_per_node) if ask.tasks_per_node else 0
        self.never = 0 < self.most_nodes < tasks_need  #: Whether it may not have as many.
        self.min_nodes = max(self.min_nodes, tasks_need)
        if self.most_nodes and most:
            self.most_nodes = min(self.most_nodes, most)
        #: Most nodes that its partition gives it, of which it does not want more than it needs; 0: any number.
        self.cap = 0 if self.most_nodes else most
        self.cpus = max(ask.cpus, self.min_nodes)
        self._most = max(self.most_nodes, self.min_nodes, len(ask.required_nodes))  # where it does not want any number
        self.per_task = ask.cpus_per_task
        self.per_node = ask.tasks_per_node * ask.cpus_per_task  # 0: any number
        #: CPUs on each node of a job that asks for nodes, not for a number of tasks; else 0.
        self.fixed = 0 if ask.tasks else self.per_node or self.per_task
        #: Cores that it needs in all, where what it asks for may be fewer; else 0.
        self.cores = 0 if self.cpus >= ask.cores else ask.cores
        self.least = self.per_node or self.per_task  # CPUs that a node must have free
        self._least_mb = self.memory_per_node or self.memory_per_cpu * self.least
        self.most_leaves = 0  #: Most leaf switches under which its nodes may hang now; 0: any number.
        self._fits: NodeSet | None = None

    def fitting(self, facts: NodeFacts) -> NodeSet:
        """Return the nodes that have what it needs on one."""
        if self._fits is None:
            self._fits = facts.at_least(self.least, self._least_mb)
        return self._fits

    def nodes_needed(self, facts: NodeFacts) -> int:
        """Return how many nodes it needs at least."""
        return max(self.min_nodes, -(-self.cpus // facts.most_cpus))

    def least_of_each(self, facts: NodeFacts) -> int:
        """Return the least CPUs on each node of a job of limited nodes, where all others have all that a node has."""
        return self.cpus - (self._most - 1) * facts.most_cpus

    def needs_empty(self, facts: NodeFacts) -> bool:
        """Return whether a job that does not ask for whole nodes fits on any empty ones, and on no others."""
        if self.required or self._least_mb or self.fixed or not self.most_nodes:
            return False
        return self.least_of_each(facts) >= facts.most_cpus == facts.cpus_of_each

    def fills_nodes(self, facts: NodeFacts) -> bool:
        """Return whether a job that does not ask for whole nodes gets all CPUs of all nodes that it may have."""
        each = facts.most_cpus
        if self.whole or self.ask.spread or len(facts.tiers) > 1 or not self.needs_empty(facts):
            return False
        return (
            self.cpus == self.most_nodes * each
            and self._most == self.most_nodes
            and not each % self.per_task
            and self.per_node in (0, each)
        )

    def usable(self, free: FreeCpus, within: NodeSet) -> NodeSet:
        """Return the nodes of a set on which the job could have at least what it needs on one."""
        if self.whole:
            return within & free.empty & self.fitting(free.facts)
        if self.ask.gpus_per_node:
            within &= free.with_gpus(self.ask.gpus_per_node)
        if self.memory_per_cpu and free.facts.threads is not None:  # memory for whole cores
            within &= set_where(self.capacities(free).of >= self.least)
        return within & free.at_least(self.least, self._least_mb)

    def may_fit(self, free: FreeCpus, within: NodeSet) -> bool:
        """Return whether there are enough nodes, and enough CPUs on all of them; the more is free, the sooner."""
        return self.is_enough(free, self.usable(free, within))

    def is_enough(self, free: FreeCpus, usable: NodeSet) -> bool:
        """Tell whether the usable nodes are enough."""
        facts, count = free.facts, usable.bit_count()
        if count < self.min_nodes or self.required & ~usable or self.never:
            return False
        if self.fixed and not self.whole:
            return True
        surely = facts.least_cpus if self.whole else self.least  # CPUs on each of them
        if self.most_nodes and not self.whole:
            least = self.least_of_each(facts)
            if least > self.least:
                usable &= free.at_least(least, self._least_mb)
                count = usable.bit_count()
                surely = surely if self.memory_per_cpu else least - least % self.per_task
        if count * facts.most_cpus < self.cpus:
            return False
        return count * surely >= self.cpus or self.capacities(free).total(usable) >= self.cpus

    def capacities(self, free: FreeCpus) -> Capacities:
        """Return the CPUs that the job could have on each node that is usable."""
        if self.whole:
            return free.facts.capacities
        if self.fixed:
            return free.capacities(self.memory_per_cpu, 1)
        return free.capacities(self.memory_per_cpu, self.per_task, self.per_node)


def choose(shape: Shape, free: FreeCpus, within: NodeSet) -> ChosenNodes | None:
    """Choose nodes of a set on which the job can start with what is free; None if it cannot."""
    return choose_of(shape, free, shape.usable(free, within))


def choose_of(shape: Shape, free: FreeCpus, usable: NodeSet) -> ChosenNodes | None:
    """Choose among nodes that are usable: for a job that wants whole nodes it does not matter what is free on others."""
    if not shape.is_enough(free, usable):
        return None
    choice = None
    if shape.whole and free.facts.cpus_of_each and not shape.required and not shape.ask.spread:
        choice = _whole_nodes(shape, free.facts, usable)
    elif shape.fills_nodes(free.facts):
        # This is what :class:`_Search` finds for a job that fills its nodes.
        cpus = free.facts.most_cpus
        sets, before = _ever_larger(shape, usable, free), shape.capacities(free).before
        taken = empty_nodes(sets, usable & free.at_least(cpus), shape.most_nodes, before, cpus)
        choice = ChosenNodes.alike(taken, cpus, 0.0) if taken else None
    else:
        for nodes in _ever_larger(shape, usable, free):
            search = _Search(shape, free)
            if search.over(nodes):
                choice = search.choice()
                break
    return None if choice is not None and shape.cores and sum(choice.cpus) < shape.cores else choice


def _whole_nodes(shape: Shape, facts: NodeFacts, usable: NodeSet) -> ChosenNodes | None:
    """Return whole nodes of a set, where all nodes of the machine are alike."""
    needed, each = shape.nodes_needed(facts), facts.cpus_of_each
    wanted = max(shape.most_nodes, shape.min_nodes) if shape.most_nodes else needed
    if wanted < needed or 0 < shape.cap < needed:
        return None
    if facts.tree is not None:
        return _by_switches(shape, facts.tree, facts, usable, needed, wanted)
    chosen = 0
    for tier in facts.tiers:
        some = list(runs(usable & tier))
        while some and wanted > 0:
            first, length = some.pop(_best_run(some, max(needed, 1)) if len(some) > 1 else 0)
            length = min(length, wanted)
            chosen |= ((1 << length) - 1) << first
            wanted -= length
            needed -= length
    if needed > 0:
        return None
    return ChosenNodes.alike(chosen, each, shape.memory_per_node or shape.memory_per_cpu * each)


def _by_switches(
    shape: Shape, tree: SwitchTree, facts: NodeFacts, usable: NodeSet, needed: int, wanted: int
) -> ChosenNodes | None:
    """Return whole nodes of a set by the switches above them: under few of these, or all over a dragonfly."""
    amounts = np.zeros(facts.count, np.int64)
    amounts[members(usable)] = 1
    ranks = (
        one_switch_or_all(tree, amounts, wanted) if facts.spreads else under_few_switches(tree, amounts, wanted, needed)
    )
    nodes = np.argsort(ranks, kind="stable")[: min(wanted, usable.bit_count())].tolist()
    if len(nodes) < needed or 0 < shape.most_leaves < len(tree.leaves_of(nodes)):
        return None
    each = facts.cpus_of_each
    return ChosenNodes.alike(set_of(nodes), each, shape.memory_per_node or shape.memory_per_cpu * each)


def _best_run(some: Sequence[tuple[int, int]], needed: int) -> int:
    """Return where the shortest run stands that is long enough, or if none is the longest; the first of equals.

    As :func:`~cluster_sim.platform.node_choice.best_run`: of the few runs of whole nodes plain Python finds it in two
    thirds of the time.
    """
    best, best_length = 0, -1
    for index, (_, length) in enumerate(some):
        if (length < best_length or best_length < needed) if length >= needed else best_length < length:
            best, best_length = index, length
    return best


def _ever_larger(shape: Shape, usable: NodeSet, free: FreeCpus) -> Iterator[NodeSet]:
    """Yield the nodes; for a job that may have few also without the smallest ones, which can lead astray."""
    yield usable
    if not shape.tries_larger or shape.fixed or not (shape.most_nodes or shape.cap) or shape.ask.spread:
        return
    others = usable & ~shape.required
    for larger in shape.capacities(free).ever_larger():
        if others & ~larger:
            others &= larger
            if not others:
                return
            yield others | shape.required


class _Search:
    """Search for nodes by taking them, with what the job still lacks."""

    def __init__(self, shape: Shape, free: FreeCpus):
        self._shape = shape
        self._facts = free.facts
        self._tiers = free.facts.tiers
        self._capacities = shape.capacities(free)
        self._nodes = max(shape.most_nodes, shape.min_nodes)  # as many as it would like
        self._most_cpus = free.facts.most_cpus
        self._spare = self._nodes - shape.min_nodes  # of them, those that it can do without
        self._least = shape.min_nodes  # those that have to follow
        self._cpus = shape.cpus
        self._cap = shape.cap or math.inf
        self.taken: dict[int, int] = {}  #: The CPUs that it may have at most on each of its nodes.

    def over(self, usable: NodeSet) -> bool:
        """Take nodes of a set; return whether they are enough."""
        if self._shape.ask.spread:
            nodes = members(usable)
            self._least = min(self._nodes, len(nodes))
            self._take(nodes[: max(self._nodes, 0)])
        else:
            self._take(members(self._shape.required))
            self._take_by_runs(usable & ~self._shape.required)
        return self._nodes - self._spare <= 0 and self._cpus <= 0

    def choice(self) -> ChosenNodes:
        """Return the nodes that were taken, with what the job gets on each."""
        shape, taken = self._shape, self.taken
        nodes = tuple(sorted(taken))
        if shape.whole:
            cpus = tuple(taken[node] for node in nodes)
        elif shape.fixed:
            cpus = (shape.fixed,) * len(nodes)
        else:
            most = [min(taken[node], shape.per_node or taken[node]) // shape.per_task for node in nodes]
            cpus = _dealt(shape.cpus // shape.per_task, most, shape.per_task)
        cpus = self._facts.in_whole_cores(nodes, cpus)
        if shape.memory_per_node:
            return ChosenNodes(nodes, cpus, (shape.memory_per_node,) * len(nodes))
        return ChosenNodes(nodes, cpus, tuple(shape.memory_per_cpu * count for count in cpus))

    def _take_by_runs(self, usable: NodeSet) -> None:
        before = self._capacities.before
        for tier in self._tiers:
            firsts, ends = edges(usable & tier)
            lengths, sizes = ends - firsts, before[ends] - before[firsts]
            for _ in range(len(firsts)):
                if self._shape.most_nodes:
                    is_over = self._nodes <= 0 or self._cpus > self._nodes * self._most_cpus
                else:
                    is_over = (self._nodes <= 0 and self._cpus <= 0) or len(self.taken) >= self._cap
                if is_over:
                    return
                best = best_run(sizes, (lengths >= max(self._nodes - self._spare, 0)) & (sizes >= self._cpus))
                # Take nodes of a run until there are enough; or the one with the fewest CPUs to spare that suffices alone.
                first = firsts.item(best)
                end = ends.item(best)
                if self._nodes <= 1:
                    cpus = self._capacities.of[first:end]
                    enough = cpus >= self._cpus
                    if enough.any():
                        first += int(np.where(enough, cpus, _MANY).argmin())
                        end = first + 1
                self._take(range(first, end), True)
                lengths[best] = sizes[best] = TAKEN

    def _take(self, nodes: Iterable[int], until_over: bool = False) -> None:
        shape, capacity = self._shape, self._capacities.of.item
        wanted, least, rest = self._nodes, self._least, self._cpus
        unit = shape.fixed or shape.per_task
        for node in nodes:
            if until_over and wanted <= 0 and (rest <= 0 or shape.most_nodes):
                break
            if len(self.taken) >= self._cap:
                break
            cpus = capacity(node)
            if not shape.whole:
                others = (least - 1) * unit if least > 1 else 0  # CPUs that are kept for nodes that have to follow
                if cpus > rest - others:
                    cpus = min(cpus, max(rest - others, unit))
            self.taken[node] = cpus
            wanted, least, rest = wanted - 1, least - 1, rest - cpus
            if until_over and rest > max(wanted, 0) * self._most_cpus and shape.most_nodes:
                break
        self._nodes, self._least, self._cpus = wanted, least, rest


def _dealt(tasks: int, most: Sequence[int], per_task: int) -> tuple[int, ...]:
    """Return the CPUs on each node when the tasks are dealt out in turn, no node getting more than its most."""
    if sum(most) <= tasks:
        return tuple(limit * per_task for limit in most)
    level, left, full = 0, tasks, sorted(most)
    for index, limit in enumerate(full):  # those that are full one after the other, the others all alike
        others = len(full) - index
        if (limit - level) * others > left:
            break
        left -= (limit - level) * others
        level = limit
    rounds, more = divmod(left, others)
    level += rounds
    got = []
    for limit in most:
        extra = limit > level and more > 0
        more -= extra
        got.append((min(limit, level) + extra) * per_task)
    return tuple(got)
