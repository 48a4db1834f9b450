"""Network models: what it costs a job to communicate between its nodes. The default is none, and says so.

A job that declares a communication volume (``comm_vol``, MB per task) exchanges it when its tasks have ended, while it keeps
its cores; a job on one node communicates through memory, at no cost here.
"""

from __future__ import annotations

import sys
from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from annotated_types import Gt, Le, Unit
from simpy.events import Event
from typing_extensions import Doc

from cluster_sim.engine import Environment, PlannedEvent, latest
from cluster_sim.errors import InputError
from cluster_sim.options import checked
from cluster_sim.registry import Registry

if TYPE_CHECKING:
    import networkx as nx

    from cluster_sim.platform.platform import Platform

Link = tuple[str, str]


_TAKES_NO_TIME = "jobs communicate between nodes, which takes no time without a network model (--network-model shared)"


class RunNetwork(Protocol):
    """The network of one run."""

    def transfer(self, nodes: list[int], volume: float) -> Event | None:
        """Exchange ``volume`` MB from each of these nodes; return the event of its end, None if it takes no time."""
        ...

    def cancel(self, transfer: Event) -> float | None:
        """Give a transfer up; its event never happens.

        What each node had left to send, MB, which a job that was suspended sends when it goes on; None: it then sends once
        more what this transfer had to send, which is less than all if an earlier one was given up with a number.
        """
        ...


class NetworkModel(Protocol):
    """To write a model: ``on`` returns the network of a run; register a name for it."""

    def on(self, env: Environment, platform: Platform) -> RunNetwork:
        """Return the model on this platform."""
        ...


network_models: Registry[NetworkModel] = Registry("network model", "cluster_sim.network_models", needs=("on",))


@network_models.register("none")
class NoNetwork:
    """Communication takes no time; a caution of the result tells of jobs on several nodes that declare some."""

    def on(self, env: Environment, platform: Platform) -> RunNetwork:
        """Return a network that only notes that it was asked."""
        return _Ignored()


class _Ignored:
    def __init__(self) -> None:
        self.assumptions: list[str] = []

    def transfer(self, nodes: list[int], volume: float) -> Event | None:
        if not self.assumptions:
            self.assumptions.append(_TAKES_NO_TIME)
        return None

    def cancel(self, transfer: Event) -> None:
        """Do nothing: there is no transfer."""


@network_models.register("shared")
class SharedNetwork:
    """Links of the platform's tree shared max-min fairly among the jobs that communicate.

    Every node has a link of ``node_link`` MB/s to its cluster, every cluster one of ``cluster_link`` MB/s to the root (inf: no
    bound). All nodes of a job send at the same rate; it passes their node links and, when the job spans clusters, their
    cluster links once per node. An edge attribute ``bandwidth`` (MB/s) of ``platform.topology()`` comes first, if a
    graph with some is given. Latency is left out.
    """

    @checked
    def __init__(
        self,
        node_link: Annotated[float, Gt(0), Le(inf), Unit("MB/s"), Doc("link of a node to its cluster")] = 1250.0,
        cluster_link: Annotated[float, Gt(0), Unit("MB/s"), Doc("link of a cluster to the root")] = inf,
        graph: Annotated[Any, Doc("a topology with bandwidths, which only a script can give")] = None,
    ):
        for name, value in (("node_link", node_link), ("cluster_link", cluster_link)):
            _bandwidth(name, value)
        if isinstance(graph, str):
            raise InputError("network model 'shared', graph", "a networkx graph, which only a script can give", graph)
        self.node_link, self.cluster_link, self.graph = node_link, cluster_link, graph

    def on(self, env: Environment, platform: Platform) -> RunNetwork:
        """The links of this platform, idle."""
        graph = platform.topology("node") if self.graph is None else self.graph
        return _SharedLinks(env, platform, graph, self.node_link, self.cluster_link)


class Transfer(Event):
    """The data that one job exchanges between its nodes, as an event: it happens when all is sent."""

    def __init__(self, env: Environment, links: Counter[Link], volume: float):
        super().__init__(env)
        self.links = links  #: How many times the job's rate passes each link.
        self.remaining = volume  #: MB left to send from each node, at :attr:`since`.
        self.rate = 0.0  #: MB/s from each node.
        self.since = env.now


def _bandwidth(what: str, value: object) -> float:
    """Return MB/s of a link, inf for no bound. Raises InputError for what is no number above 0."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = 0.0
    if not number >= sys.float_info.min:  # a share of less is 0
        raise InputError(f"network model 'shared', {what}", "MB/s above 0", value)
    return number


class _SharedLinks:
    """The running transfers and their rates; one next end is planned, superseded plans are ignored."""

    def __init__(self, env: Environment, platform: Platform, graph: nx.Graph, node_link: float, cluster_link: float):
        self._env = env
        self._platform = platform
        self._root = graph.graph["root"]
        self._bandwidth: dict[Link, float] = {}
        for one, other, attributes in graph.edges(data=True):
            parent, child = (one, other) if graph.nodes[other]["kind"] == "node" or one == self._root else (other, one)
            default = node_link if graph.nodes[child]["kind"] == "node" else cluster_link
            given = attributes.get("bandwidth", default)
            self._bandwidth[parent, child] = _bandwidth(f"bandwidth of the link {parent} - {child}", given)
        self._transfers: list[Transfer] = []
        self._plan: PlannedEvent | None = None

    def transfer(self, nodes: list[int], volume: float) -> Event | None:
        """Start a transfer; None for one of nothing."""
        if volume <= 0.0:
            return None
        names = [self._platform.node_name(node) for node in nodes]
        clusters = [name.rpartition(".node")[0] for name in names]
        links: Counter[Link] = Counter(zip(clusters, names, strict=True))
        if len(set(clusters)) > 1:
            links.update((self._root, cluster) for cluster in clusters)
        transfer = Transfer(self._env, links, volume)
        self._transfers.append(transfer)
        self._share()
        return transfer

    def cancel(self, transfer: Event) -> float | None:
        """Take a transfer out; what each node had left to send, MB."""
        if transfer not in self._transfers:
            return 0.0
        assert isinstance(transfer, Transfer)
        self._credit()
        self._transfers.remove(transfer)
        self._share()
        return transfer.remaining

    def _credit(self) -> None:
        """Credit every transfer with what it has sent by now."""
        now = self._env.now
        for transfer in self._transfers:
            if now > transfer.since:
                transfer.remaining = max(0.0, transfer.remaining - transfer.rate * (now - transfer.since))
                transfer.since = now

    def _share(self) -> None:
        """Credit progress, share the links anew, and plan the next end."""
        self._credit()
        now = self._env.now
        rates = max_min_rates([transfer.links for transfer in self._transfers], self._bandwidth)
        for transfer, rate in zip(self._transfers, rates, strict=True):
            transfer.rate = rate
        if self._plan is not None:
            self._plan.callbacks.clear()  # superseded
            self._plan = None
        end = min((now + t.remaining / t.rate for t in self._transfers), default=float("inf"))
        if end < float("inf"):
            self._plan = self._env.at(self._env.within(end))
            self._plan.callbacks.append(self._end)

    def _end(self, plan: Event) -> None:
        self._plan = None
        now = self._env.now
        ended = [t for t in self._transfers if t.since + t.remaining / t.rate <= latest(now)]
        self._transfers = [t for t in self._transfers if t not in ended]
        for transfer in ended:
            transfer.succeed()
        self._share()


def max_min_rates(demands: list[Counter[Link]], bandwidth: dict[Link, float]) -> list[float]:
    """Return max-min fair rates: raise all rates together until a link is full, fix those on it, and go on.

    ``demands``: how many times each flow's rate passes each link. A flow that no finite link bounds gets inf.
    """
    rates = [float("inf")] * len(demands)
    free = dict(bandwidth)
    growing = set(range(len(demands)))
    while growing:
        load: Counter[Link] = Counter()
        for flow in growing:
            load.update(demands[flow])
        link = min(load, key=lambda each: free[each] / load[each], default=None)
        if link is None or free[link] == float("inf"):
            break
        level = free[link] / load[link]
        for flow in sorted(growing):
            if link in demands[flow]:
                rates[flow] = level
                growing.discard(flow)
                for passed, times in demands[flow].items():
                    free[passed] = max(0.0, free[passed] - level * times)
    return rates
