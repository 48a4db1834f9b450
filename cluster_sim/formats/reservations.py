"""Files of advance reservations, YAML or JSON; docs/guides/requests.md describes them.

::

    reservations:
      - {name: maintenance, start: 86400, end: 100800, nodes: all}
      - {name: course, start: 3600, end: 7200, nodes: [0-3, cluster0.node8]}
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from cluster_sim.errors import FormatError, InputError
from cluster_sim.files.documents import read_document
from cluster_sim.formats.native_platform import OwnKeys, validated
from cluster_sim.workload.advance_reservations import MOST, AdvanceReservation


class _Reservation(OwnKeys):
    name: str
    start: float
    end: float
    nodes: int | str | Annotated[list[int | str], Field(min_length=1)]


class _Document(OwnKeys):
    reservations: list[_Reservation] = Field(max_length=MOST)


def read_reservations(path: str) -> tuple[AdvanceReservation, ...]:
    """Read the advance reservations of a file. Raises FormatError naming file and key."""
    entries = validated(_Document, read_document(path), path).reservations
    try:
        return tuple(AdvanceReservation(entry.name, entry.start, entry.end, entry.nodes) for entry in entries)
    except InputError as error:
        raise FormatError(f"{path}: {error.where}", error.expected, error.found) from None
