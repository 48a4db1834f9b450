"""Platforms from SimGrid's XML, as Batsim uses it: a host is a node, with as many cores as ``core`` says.

* **Resources.** A job of Batsim's gets whole hosts and computes on one core of each. So for a workload of Batsim's
  (:mod:`cluster_sim.run.hosts`) a host counts as one core, busy or not; for others each of its cores counts.
* **Clock.** A host computes in the p-state that the file starts it in; if it starts asleep, in its first computing
  p-state. Its computing p-states, in the file's order, become those of the processor; one without watts or speed does not.
* **Power.** ``idle:epsilon:full`` becomes static = epsilon, dynamic = (full − epsilon) / cores, min_power = idle /
  epsilon; exact at rest and from one busy core on. The linear model cannot express an epsilon below idle or above full:
  then a straight line from idle to full is taken, with a ModelWarning if the host has several cores.
* **Sleep.** ``sleep_pstates`` "a:b:c" is asleep : switching off : switching on. Batsim runs one operation in the
  transition's p-state, so that it lasts 1 / speed, at that p-state's full watts. Of several sleep states the first is
  taken. Without any, switching takes no time and a node that is off draws ``watt_off``.
* **Order.** Clusters and nodes stand in Batsim's order, so that its resource i is core i of the platform, as counted
  for its workloads.
* **Nodes of several hosts.** Where each core is a host, ``cores_per_node`` makes nodes of that many cores; by default
  the zone's property ``cores_per_node`` does. Watts add up.
* **Left out** are master hosts, storage hosts and excluded ones (``Host.kind.left_out`` says why), and with
  ``max_hosts`` all but the first hosts, as Batsim's ``--mmax`` has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from cluster_sim.errors import FormatError, InputError, ModelWarning, SpecError, warn_user
from cluster_sim.formats.simgrid_hosts import Host, HostKind, Zone, read_hosts
from cluster_sim.platform.hardware import (
    MAX_CORES,
    Cluster,
    NodeGroup,
    NodeType,
    PowerTransitions,
    ProcessorType,
    PState,
)
from cluster_sim.platform.platform import Platform
from cluster_sim.workload.job_table import TIME_UNITS


def read_simgrid(
    path: str | Path,
    *,
    time_unit: str = "seconds",
    cores_per_node: int | None = None,
    max_hosts: int | None = None,
) -> Platform:
    """Read a SimGrid platform, gzipped or not.

    ``time_unit`` is what its speeds and transitions count: "minutes" makes ``1f`` one operation per minute.
    ``cores_per_node`` groups hosts to nodes; None takes the file's word, 1 keeps each host by itself. ``max_hosts``
    is the number of hosts to use; None uses all.
    Raises FormatError naming file and host, SpecError for bad options.
    """
    if time_unit not in TIME_UNITS:
        raise SpecError(f"{path}, time_unit", f"one of {', '.join(TIME_UNITS)}", time_unit)
    for option, value in (("cores_per_node", cores_per_node), ("max_hosts", max_hosts)):
        if value is not None and not 1 <= value <= MAX_CORES:
            raise SpecError(f"{path}, {option}", f"a whole number from 1 to {MAX_CORES}", value)
    hosts = [host for host in read_hosts(path) if not host.kind.left_out][:max_hosts]
    if not hosts:
        raise FormatError(path, "at least one host that jobs can run on", "none")
    reader = _Reader(str(path), TIME_UNITS[time_unit], cores_per_node)
    name = Path(path).name.removesuffix(".gz").removesuffix(".xml")
    is_plain_name = name.strip() and name.isprintable() and len(name) <= 100
    try:
        return Platform(tuple(reader.clusters(hosts)), name if is_plain_name else "platform")
    except FormatError:
        raise
    except InputError as error:
        raise FormatError(f"{path}: {error.where}", error.expected, error.found) from None


class _Reader:
    """Maker of node types from host kinds, each once, named after the first host of the kind."""

    def __init__(self, path: str, unit_s: float, cores_per_node: int | None):
        self._path = path
        self._unit_s = unit_s
        self._cores_per_node = cores_per_node
        self._types: dict[tuple[HostKind, int], NodeType] = {}
        self._warned = False

    def clusters(self, all_hosts: Iterable[Host]) -> Iterable[Cluster]:
        """Yield a cluster for each zone, in the order of the zones' first hosts."""
        by_zone: dict[Zone, list[Host]] = {}
        for host in all_hosts:
            by_zone.setdefault(host.zone, []).append(host)
        ids: set[str] = set()
        for zone, members in by_zone.items():
            groups: list[NodeGroup] = []
            for kind, neighbours in groupby(members, key=lambda host: host.kind):
                hosts = list(neighbours)
                hosts_per_node = self._hosts_per_node(kind, hosts, zone)
                if (kind, hosts_per_node) not in self._types:
                    where = f"{self._path}: host '{hosts[0].name}'"
                    self._types[kind, hosts_per_node] = self._node_type(hosts[0].name, kind, hosts_per_node, where)
                groups.append(NodeGroup(self._types[kind, hosts_per_node], len(hosts) // hosts_per_node))
            # The zone's id without what a cluster's id may not contain; a number tells equal ones apart.
            plain = re.sub(r"[\s,;:\"'\\/]|\.(?=node[0-9]*$)", "_", zone.id)
            cluster_id, number = plain, 2
            while cluster_id in ids:
                cluster_id = f"{plain}_{number}"
                number += 1
            ids.add(cluster_id)
            yield Cluster(cluster_id, tuple(groups))

    def _hosts_per_node(self, kind: HostKind, hosts: list[Host], zone: Zone) -> int:
        """Return how many of these neighbours make a node. Raises FormatError if they do not make whole nodes."""
        wanted = self._cores_per_node
        if wanted is None:
            text = zone.properties.get("cores_per_node", "1").strip()
            if not re.fullmatch(r"[1-9][0-9]{0,8}", text):
                raise FormatError(f"{self._path}: zone '{zone.id}', cores_per_node", "a whole number >= 1", text)
            wanted = int(text)
        hosts_per_node, rest = divmod(max(wanted, kind.cores), kind.cores)
        if rest or len(hosts) % hosts_per_node:
            where = f"{self._path}: zone '{zone.id}', hosts from '{hosts[0].name}' on"
            expected = f"hosts of {kind.cores} cores that make whole nodes of {wanted} cores (cores_per_node)"
            raise FormatError(where, expected, f"{len(hosts)} hosts")
        return hosts_per_node

    def _node_type(self, name: str, kind: HostKind, hosts: int, where: str) -> NodeType:
        asleep = {states.asleep for states in kind.sleep}
        computing = kind.computing_pstates
        if not computing:
            raise FormatError(f"{where}, sleep_pstates", "a p-state left to compute in", "none")
        if kind.initial not in computing and kind.initial not in asleep:
            raise FormatError(f"{where}, pstate", "a p-state to compute or to sleep in", kind.initial)
        pstate = kind.initial if kind.initial in computing else computing[0]
        if kind.speeds[pstate] <= 0:
            raise FormatError(f"{where}, speed", f"more than 0 in p-state {pstate}, in which it computes", "0")
        power = self._power(kind, pstate, hosts, where)
        clock_ghz = kind.speeds[pstate] / self._unit_s / 1e9
        usable = [p for p in computing if kind.speeds[p] > 0 and (not kind.watts or p < len(kind.watts))]
        states = [
            PState(kind.speeds[p] / self._unit_s / 1e9, self._power(kind, p, hosts, where))
            for p in usable
            if len(computing) > 1
        ]
        processor = ProcessorType(name, kind.cores * hosts, clock_ghz, power=power, p_states=tuple(states))
        return NodeType(
            name,
            (processor,),
            transitions=self._transitions(kind, hosts, where),
            initially_off=kind.initial in asleep,
            hosts=hosts if kind.cores > 1 else 0,
        )

    def _power(self, kind: HostKind, pstate: int, hosts: int, where: str) -> dict[str, float]:
        if not kind.watts:
            return {}
        idle, epsilon, full = kind.watts[_stated_pstate(kind, pstate, where)]
        if full < idle:
            raise FormatError(f"{where}, watt_per_state", f"at least the idle {idle:g} W when busy", full)
        if not idle <= epsilon <= full or kind.cores == 1:
            if kind.cores > 1 and not self._warned:
                self._warned = True
                text = f"{epsilon:g} W with hardly a load, {idle:g} W idle: power is taken to rise straight from idle"
                warn_user(ModelWarning(f"{where}, watt_per_state: {text}"))
            epsilon = idle
        return {
            "static_w": epsilon * hosts,
            "dynamic_w": (full - epsilon) / kind.cores,
            "min_power": idle / epsilon if epsilon else 0.0,
        }

    def _transitions(self, kind: HostKind, hosts: int, where: str) -> PowerTransitions:
        if not kind.sleep:
            return PowerTransitions(off_w=(kind.watt_off or 0.0) * hosts)
        asleep, off, on = kind.sleep[0]
        seconds = {}
        for pstate in (off, on):
            if kind.speeds[pstate] <= 0:
                raise FormatError(f"{where}, speed", f"more than 0 in p-state {pstate}, a transition", "0")
            seconds[pstate] = self._unit_s / kind.speeds[pstate]
        if not kind.watts:
            return PowerTransitions(switch_on_s=seconds[on], switch_off_s=seconds[off])
        watts = {p: kind.watts[_stated_pstate(kind, p, where)] for p in (asleep, off, on)}
        return PowerTransitions(
            off_w=watts[asleep].idle * hosts,
            switch_on_s=seconds[on],
            switch_on_w=watts[on].full * hosts,
            switch_off_s=seconds[off],
            switch_off_w=watts[off].full * hosts,
        )


def _stated_pstate(kind: HostKind, pstate: int, where: str) -> int:
    if pstate >= len(kind.watts):
        raise FormatError(f"{where}, watt_per_state", f"watts for p-state {pstate}", f"{len(kind.watts)} p-states")
    return pstate
