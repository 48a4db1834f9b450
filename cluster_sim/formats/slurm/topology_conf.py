"""Slurm's topology.conf: the switches above the nodes of a slurm.conf."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from cluster_sim.errors import FormatError, InputError
from cluster_sim.formats.slurm.conf_lines import plain_lines_of
from cluster_sim.formats.slurm.conf_values import host_list
from cluster_sim.platform.switches import Switch, SwitchTree, switches_of
from cluster_sim.spelling import nearest

_KEYS = ("SwitchName", "Nodes", "Switches", "LinkSpeed")
_WHERE = "topology"


def switches_beside(conf: str, positions: Mapping[str, int], described: Collection[str]) -> tuple[Switch, ...]:
    """Return the switches of the topology.conf beside a slurm.conf; none if there is none, or if it is of blocks.

    ``positions`` are those of the platform's nodes by name; others of the ``described`` ones are left out, as the platform
    does. Raises FormatError naming file and line.
    """
    path = Path(conf).parent / "topology.conf"
    if not path.exists():
        return ()
    members: dict[str, list[str]] = {}
    places: dict[str, str] = {}
    for line in plain_lines_of(str(path)):
        if line.key in ("blockname", "blocksizes"):
            return ()
        for written in line.written.values():
            if written.lower() not in map(str.lower, _KEYS):
                raise FormatError(f"{line.place}, {written}", nearest(written, _KEYS), written)
        if line.key != "switchname":
            raise FormatError(line.place, "SwitchName=…", next(iter(line.written.values())))
        name = line.pairs["switchname"]
        if name in members:
            raise FormatError(f"{line.place}, SwitchName", "every switch once", f"{name} twice")
        listed = {key: line.pairs[key] for key in ("nodes", "switches") if line.pairs.get(key)}
        if len(listed) != 1:
            found = "both" if listed else "neither"
            raise FormatError(f"{line.place}, SwitchName={name}", "Nodes=… or Switches=…", found)
        (key, text), places[name] = listed.popitem(), line.place
        try:
            members[name] = host_list(text)
        except ValueError as error:
            raise FormatError(f"{line.place}, {line.written[key]}", str(error), text) from None
    left_out = {name: -1 for name in described if name not in positions}
    try:
        switches = tuple(
            Switch(each.name, tuple(node for node in each.nodes if node >= 0), each.switches)
            for each in switches_of(members, {**positions, **left_out}, _WHERE)
        )
        SwitchTree(switches, list(positions), _WHERE)
    except InputError as error:
        name = error.where.removeprefix(f"{_WHERE}, ")
        where = f"{places[name]}, SwitchName={name}" if name in places else str(path)
        raise FormatError(where, error.expected, error.found) from None
    return switches
