"""TensorBoard's event files, written without TensorBoard: a log of numbers needs no 5 s import and no dependency.

A file is a sequence of records, each *length, checksum of the length, data, checksum of the data*, little-endian (the
TFRecord format). The data is a protocol buffer ``Event``; of its messages three fields are used::

    Event    wall_time: double = 1, step: int64 = 2, file_version: string = 3, summary: Summary = 5
    Summary  value: repeated Value = 1
    Value    tag: string = 1, simple_value: float = 2
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Mapping
from pathlib import Path

_POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), reflected
_MASK = 0xA282EAD8


def _table() -> tuple[int, ...]:
    entries = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        entries.append(byte)
    return tuple(entries)


_CRC = _table()


def crc32c(data: bytes) -> int:
    """The CRC-32C checksum.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


class EventFile:
    """One event file in a folder; every call of :meth:`add` appends one whole record and leaves a valid file."""

    def __init__(self, folder: str | Path):
        self.path = Path(folder) / f"events.out.tfevents.{time.time_ns() // 10**9}.{os.getpid()}.cluster-sim"
        self._append(_double(1, time.time()) + _bytes(3, b"brain.Event:2"))

    def add(self, step: int, numbers: Mapping[str, float]) -> None:
        """Log ``numbers`` by their tags at a step."""
        values = b"".join(_bytes(1, _bytes(1, tag.encode()) + _float(2, value)) for tag, value in numbers.items())
        self._append(_double(1, time.time()) + _varint(2 << 3) + _varint(step) + _bytes(5, values))

    def _append(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        record = length + struct.pack("<I", _masked(length)) + event + struct.pack("<I", _masked(event))
        with self.path.open("ab") as file:
            file.write(record)


def _masked(data: bytes) -> int:
    """The checksum as TFRecord stores it: rotated and shifted, lest data that holds checksums be checked by them."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _float(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)
