"""What a scheduler expects of the jobs that run: the work they have left on every processor, by what was requested."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import filterfalse
from typing import Literal, cast

from cluster_sim.models.prediction import Forecast, Group, Share, predict
from cluster_sim.models.processor_step import ProcessorModel
from cluster_sim.run.view import ClairvoyantView, View
from cluster_sim.workload.jobs import Job

SecondsOf = Callable[["Job", float], float]
"""Time, s, that a task of a job takes, uncontended, on a core of that rate (operations/s)."""

_SAME_S = 1e-9
ENDLESS_S = 1e12
"""Time, s, that a job without a request is expected to take: more than any asks for. ∞ s at 0 W would be no joules."""


def expected_seconds(requested_time: float, slower: float = 1.0) -> float:
    """Return what a job is expected to take, s. Its request is meant for cores that are ``slower`` times as fast."""
    return min(requested_time * slower, ENDLESS_S)


def seconds_of_work(view: View, reference: Literal["slowest", "fastest"], clairvoyant: bool) -> SecondsOf:
    """Return what tells a job's time: its request, meant for the platform's ``reference`` core, or its true work."""
    if clairvoyant:
        return cast(ClairvoyantView, view).run_time
    rates = [kind.ops_per_s for kind in view.platform.processor_types]
    meant_for = min(rates) if reference == "slowest" else max(rates)
    return lambda job, ops_per_s: expected_seconds(job.requested_time, meant_for / ops_per_s)


class _Tasks:
    """The tasks of a running job on a node: cores by processor."""

    __slots__ = ("cores", "ends", "job")

    def __init__(self, job: Job):
        self.job = job
        self.cores: dict[int, list[tuple[int, int]]] = {}  #: (processor, cores) by node.
        self.ends: dict[int, float] = {}  #: When the tasks on each node are expected to end, s on the run's clock.


class Expectations:
    """The scheduler's own account of the work in progress.

    A node's account is a forecast that was made when its jobs last changed. What its tasks have left now is read off it,
    so nothing is done for a node on which nothing happens. Reality corrects the account: a job that ends early is
    struck off, one that outlives its expected end is given ``overrun`` times its whole requested work more, again and
    again; one whose nodes boot is taken to begin now, until it does. Changed clocks count from when they change.
    """

    def __init__(self, view: View, seconds_of: SecondsOf, overrun: float):
        self._view = view
        self._seconds_of = seconds_of
        self._overrun = overrun
        platform = view.platform
        models = [view.machine.processor_models.of(kind) for kind in platform.processor_types]
        #: Model of each processor, as it is now.
        self.models = [models[number] for number in platform.type_of_processor.tolist()]
        self._clocks_seen = 0
        self._reclocked: set[int] = set()  # nodes that are no longer as their type says
        self._accounts: dict[int, tuple[float, Forecast]] = {}  # of nodes with jobs: when it was made, and the forecast
        self._running: dict[int, _Tasks] = {}
        self._spread: set[int] = set()  # running jobs with tasks on several nodes
        # When the last of each running job's tasks is expected to end, s on the run's clock.
        self._ends: dict[int, float] = {}
        self._version: object = None  # the machine when the account was last brought up to the present
        self._booting: set[int] = set()
        self._now = 0.0
        self._outlooks: dict[int, tuple[tuple[Share, ...], Forecast]] = {}

    # ------------------------------------------------------------------ keeping the account

    def update(self) -> None:
        """Bring the account up to the present: jobs that ended, began, or run for longer than expected."""
        view = self._view
        self._now = view.now
        self._outlooks.clear()
        changes = view.machine.clock_changes
        for changed, processor, kind in changes[self._clocks_seen :]:
            node = self._view.machine.node_of(processor)
            self._reclocked.add(node)
            before = self.models[processor]
            model = self.models[processor] = self._view.machine.processor_models.of(kind)
            if node in self._accounts:
                ratio = kind.ops_per_s / before.kind.ops_per_s
                time = max(changed, self._accounts[node][0])
                shares = self._shares_at(node, time)
                position = processor - self._view.machine.processors_of(node).start
                groups = [
                    group._replace(seconds=group.seconds / ratio, bandwidth=group.bandwidth * ratio)
                    for group in shares[position].groups
                ]
                shares[position] = Share(model, tuple(groups))
                self._replan(node, shares, time)
        self._clocks_seen = len(changes)
        present, running = view.running_by_index, self._running
        begun: list[int] = []
        if view.machine.version is not self._version or self._booting:
            self._version = view.machine.version
            begun = list(filterfalse(running.__contains__, present))
            if len(running) + len(begun) != len(present):
                for index in list(filterfalse(present.__contains__, running)):
                    self._strike(index)
            if self._booting:
                for index in sorted(self._booting):
                    self._strike(index)  # and enter it anew, from now
                begun = list(filterfalse(running.__contains__, present))
        late = self._now - _SAME_S * max(1.0, self._now)
        if self._ends and min(self._ends.values()) < late:
            # All in their order: what joins a node is planned with what has been extended before it.
            begun = list(present)
        for index in begun:
            if index not in running:
                self.enter(present[index].job)
            elif self._ends[index] < late:
                tasks = self._running[index]
                for node in tasks.cores:
                    shares = []
                    for share in self.shares_now(node):
                        more = self._overrun * self._seconds_of(tasks.job, share.model.kind.ops_per_s)
                        groups = [g._replace(seconds=more) if g.job == index else g for g in share.groups]
                        shares.append(share._replace(groups=tuple(groups)))
                    self._replan(node, shares)

    def enter(self, job: Job) -> None:
        """Enter a job that has been given cores."""
        tasks = _Tasks(job)
        for processor, cores in self._view.planning.held_cores(job):
            tasks.cores.setdefault(self._view.machine.node_of(processor), []).append((processor, cores))
        self._running[job.index] = tasks
        if len(tasks.cores) > 1:
            self._spread.add(job.index)
        if self._view.planning.running_job(job).start_time > self._now:
            self._booting.add(job.index)
        for node, pairs in tasks.cores.items():
            shares = self.shares_now(node)
            first = self._view.machine.processors_of(node).start
            for processor, cores in pairs:
                share = shares[processor - first]
                groups = (*share.groups, self.group(job, cores, share.model))
                shares[processor - first] = Share(share.model, groups)
            self._replan(node, shares)

    def group(self, job: Job, tasks: int, model: ProcessorModel) -> Group:
        """Return tasks of a job that begin on a processor."""
        seconds = self._seconds_of(job, model.kind.ops_per_s)
        return Group(job.index, tasks, seconds, job.mem_vol / seconds if seconds > 0.0 else 0.0)

    def _strike(self, index: int) -> None:
        self._booting.discard(index)
        self._spread.discard(index)
        del self._ends[index]
        for node in self._running.pop(index).cores:
            if len(self._accounts[node][1].ends) == 1:  # the node is empty now
                del self._accounts[node]
                self._outlooks.pop(node, None)
                continue
            shares = [
                Share(share.model, tuple([group for group in share.groups if group.job != index]))
                for share in self.shares_now(node)
            ]
            self._replan(node, shares)

    def shares_now(self, node: int) -> list[Share]:
        """Return the processors of the node with the work that their tasks have left now."""
        return self._shares_at(node, self._now)

    def _shares_at(self, node: int, time: float) -> list[Share]:
        account = self._accounts.get(node)
        if account is None:
            return [Share(self.models[processor]) for processor in self._view.machine.processors_of(node)]
        since, forecast = account
        return forecast.after(time - since)

    def _replan(self, node: int, shares: list[Share], time: float | None = None) -> None:
        time = self._now if time is None else time
        self._outlooks.pop(node, None)
        forecast = predict(shares)
        self._accounts[node] = time, forecast
        for job, end in forecast.ends.items():
            tasks = self._running[job]
            tasks.ends[node] = self._ends[job] = time + end
            if job in self._spread:  # its other nodes hold their cores for as long as the last of its tasks runs
                self._ends[job] = max(tasks.ends.values())
                for other in tasks.cores:
                    self._outlooks.pop(other, None)

    # ------------------------------------------------------------------ asking it

    def outlook(self, node: int) -> Forecast:
        """Return what happens on the node if no job joins."""
        return self._outlook(node)[1]

    def joined(self, node: int, job: Job, tasks: int) -> Forecast:
        """Return what happens on the node if so many tasks of the job begin now, on idle cores in processor order."""
        shares, outlook = self._outlook(node)
        changed: dict[int, Share] = {}
        for i, share in enumerate(shares):
            taken = min(tasks, share.free)
            if taken:
                changed[i] = Share(share.model, (*share.groups, self.group(job, taken, share.model)))
                tasks -= taken
        return self._with_elsewhere(node, outlook.instead(changed))

    def state(self, node: int) -> Hashable:
        """Return a value that is equal for nodes on which the same would happen to the same job, within one pass."""
        if node in self._reclocked:
            return -1, node
        kind = int(self._view.platform.type_of_node[node])
        if node not in self._accounts:
            return kind
        shares, forecast = self._outlook(node)
        groups = [share.groups for share in shares]
        # Jobs with tasks on several processors would have to be told apart too.
        if sum(map(len, groups)) > len(forecast.ends) or not self._spread.isdisjoint(forecast.ends):
            return -1, node
        return kind, *(tuple(group[1:] for group in there) for there in groups)

    def _outlook(self, node: int) -> tuple[tuple[Share, ...], Forecast]:
        found = self._outlooks.get(node)
        if found is None:
            shares = tuple(self.shares_now(node))
            account = self._accounts.get(node)
            known = account is not None and account[1].starts_from(shares)  # nothing has been done since it was made
            forecast = account[1] if account is not None and known else predict(shares)
            found = self._outlooks[node] = shares, self._with_elsewhere(node, forecast)
        return found

    def _with_elsewhere(self, node: int, forecast: Forecast) -> Forecast:
        if self._spread.isdisjoint(forecast.ends):
            return forecast
        later = {
            job: max(end for other, end in self._running[job].ends.items() if other != node) - self._now
            for job in self._spread.intersection(forecast.ends)
        }
        return forecast.held_until(later)
