"""Advance reservations: nodes set aside for a time, for the jobs that name the reservation, or for no job (maintenance).

They are agreed upon before the run and belong to the machine: every scheduler has to live with them. (The *reservation*
that a backfilling scheduler makes for a waiting job is another thing.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cluster_sim.errors import InputError
from cluster_sim.platform.hardware import check_name, check_number

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.platform.platform import Platform

ALL = "all"
MOST = 10_000
"""Advance reservations of a run, each of which keeps a list of all nodes."""
_INDICES = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")
_NAMES = re.compile(r"(.+\.node)([0-9]{1,9})-([0-9]{1,9})")
_EXAMPLES = "such as 3, 8-15, cluster0.node3, cluster0.node3-7 or all"


@dataclass(frozen=True, slots=True)
class AdvanceReservation:
    """Nodes that serve only the jobs that name this reservation, from ``start`` until before ``end`` (s of the run).

    A node is given by its index in the platform or its name, several of them as ``range(8, 16)``, ``"8-15"`` or
    ``"cluster0.node3-7"`` (both ends included), all of them as ``"all"``. A reservation that no job names is
    maintenance. Raises InputError for a name that cannot be printed, a time that is not finite, and an end that is not
    after the start.
    """

    name: str
    start: float
    end: float
    nodes: tuple[int | str, ...]

    def __init__(self, name: str, start: float, end: float, nodes: Iterable[int | str] | int | str):
        check_name("name of an advance reservation", name)
        for key, value in (("start", start), ("end", end)):
            check_number(f"advance reservation '{name}', {key}", value)
        if not end > start:
            raise InputError(f"advance reservation '{name}', end", f"a time after its start, {start:g} s", end)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "start", float(start))
        object.__setattr__(self, "end", float(end))
        object.__setattr__(self, "nodes", (nodes,) if isinstance(nodes, (int, str)) else tuple(nodes))

    def on(self, platform: Platform) -> Window:
        """Return the reservation with its nodes found in a platform.

        Raises InputError for a node that the platform lacks.
        """
        reserved = np.zeros(platform.node_count, bool)
        for entry in self.nodes:
            first, stop = self._range(entry, platform)
            if not 0 <= first < stop <= platform.node_count:
                raise self._refused(f"nodes from 0 to {platform.node_count - 1}", entry)
            reserved[first:stop] = True
        if not reserved.any():
            raise self._refused(f"at least one node, {_EXAMPLES}", None)
        reserved.setflags(write=False)
        return Window(self.name, self.start, self.end, reserved)

    def _range(self, entry: object, platform: Platform) -> tuple[int, int]:
        """Return the first node that an entry names, and the one after its last."""
        if isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
            return int(entry), int(entry) + 1
        if not isinstance(entry, str):
            raise self._refused(f"nodes {_EXAMPLES}", entry)
        if entry == ALL:
            return 0, platform.node_count
        if indices := _INDICES.fullmatch(entry):
            return int(indices[1]), int(indices[2]) + 1
        if entry.isdigit() and len(entry) < 10:
            return int(entry), int(entry) + 1
        names = _NAMES.fullmatch(entry)
        try:
            if names is None:
                first = last = platform.node_index(entry)
            else:
                first, last = (platform.node_index(names[1] + number) for number in names.groups()[1:])
        except InputError:
            raise self._refused(f"nodes {_EXAMPLES}", entry) from None
        return first, last + 1

    def _refused(self, expected: str, found: object) -> InputError:
        return InputError(f"advance reservation '{self.name}', nodes", expected, found)


class Window(NamedTuple):
    """An advance reservation on a platform: ``nodes`` (one entry per node) are closed to other jobs in [start, end), s."""

    name: str
    start: float
    end: float
    nodes: npt.NDArray[np.bool_]


def reservations_of(given: object) -> tuple[AdvanceReservation, ...]:
    """Return the advance reservations that are given. Raises InputError for anything else, and for too many."""
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise InputError("advance reservations", "a list of AdvanceReservation(name, start, end, nodes)", repr(given))
    reservations = tuple(given)
    if len(reservations) > MOST:
        raise InputError("advance reservations", f"at most {MOST:,}", f"{len(reservations):,}")
    for reservation in reservations:
        if not isinstance(reservation, AdvanceReservation):
            expected = "AdvanceReservation(name, start, end, nodes)"
            raise InputError("advance reservations", expected, repr(reservation))
    return reservations


def windows_on(platform: Platform, reservations: Iterable[AdvanceReservation]) -> tuple[Window, ...]:
    """Return advance reservations on a platform, by start.

    Raises InputError if two share a name, or a node at one time.
    """
    windows = sorted((reservation.on(platform) for reservation in reservations), key=lambda window: window.start)
    names: set[str] = set()
    until = np.full(platform.node_count, -np.inf)  # of each node the end of the last reservation,
    owner = np.zeros(platform.node_count, np.int64)  # and which it is
    for number, window in enumerate(windows):
        if window.name in names:
            raise InputError("advance reservations", "names that differ", f"'{window.name}' twice")
        names.add(window.name)
        both = window.nodes & (until > window.start)
        if both.any():
            node = int(both.argmax())
            other = windows[owner[node]]
            expected = f"{platform.node_name(node)} free of '{other.name}', which ends at {other.end:g} s"
            raise InputError(f"advance reservation '{window.name}', start", expected, window.start)
        until[window.nodes], owner[window.nodes] = window.end, number
    return tuple(windows)
