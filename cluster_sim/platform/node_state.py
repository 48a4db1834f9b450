"""The states of a node."""

from __future__ import annotations

from enum import StrEnum


class NodeState(StrEnum):
    """What a node is doing. IDLE and COMPUTING are one state of the power machine, told apart by a count."""

    OFF = "OFF"
    SWITCHING_ON = "SWITCHING_ON"
    IDLE = "IDLE"
    COMPUTING = "COMPUTING"
    SWITCHING_OFF = "SWITCHING_OFF"
    FAILED = "FAILED"
