"""Reads what a page holds of its figures: written from the format's description, apart from the code that writes it."""

from __future__ import annotations

import base64
import json
import re
import zlib
from itertools import accumulate
from typing import Any

import numpy as np


def figures_in(page: str) -> list[dict[str, Any]]:
    """Data and layout of each figure of a page, its arrays as numpy arrays."""
    found = re.findall(r'clusterSim\.figure\("([A-Za-z0-9+/=]*)"\)', page)
    return [read(zlib.decompress(base64.b64decode(text))) for text in found]


def read(payload: bytes) -> dict[str, Any]:
    """A figure from its payload."""
    text, _, data = payload.partition(b"\n")
    figure: dict[str, Any] = json.loads(text, object_hook=lambda value: _whole(value, data))
    return figure


def _whole(value: dict[str, Any], data: bytes) -> Any:
    if "$ints" in value:
        folded = (int.from_bytes(each, "little") for each in _numbers(value, data))
        steps = (-(each + 1) // 2 if each % 2 else each // 2 for each in folded)
        return _shaped([total / 10 ** value["places"] for total in accumulate(steps)], value["$ints"], value)
    if "$bytes" in value:
        last, raw = bytes(value["wide"]), b""
        for each in _numbers(value, data):
            last = bytes(a ^ b for a, b in zip(each, last, strict=True))
            raw += last
        return _shaped(np.frombuffer(raw, value["$bytes"]), value["$bytes"], value)
    if "$strung" in value:
        around = [place for one in zip(*(value[edge] for edge in value["$strung"]), strict=True) for place in one]
        return np.array([*around, *reversed(value["a"])], value["type"])
    if "$text" in value:
        return [str(int(number)) for number in value["$text"]]
    if "$moment" in value:
        texts = []
        for seconds in map(int, value["$moment"]):
            days, clock = seconds // 86_400, f"{seconds // 3_600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
            texts.append(f"{days:,} d {clock}" if days else clock)
        return [value["rest"].get(str(place), text) for place, text in enumerate(texts)]
    if "$of" in value:
        return [value["$of"][int(code)] for code in value["code"]]
    if "$rows" in value:
        return [list(row) for row in zip(*value["$rows"], strict=True)]
    return value


def _numbers(value: dict[str, Any], data: bytes) -> list[bytes]:
    """The bytes of each number, which lie plane by plane."""
    count = value["count"]
    planes = [data[value["at"] + plane * count :][:count] for plane in range(value["wide"])]
    return [bytes(each) for each in zip(*planes, strict=True)]


def _shaped(numbers: Any, kind: str, value: dict[str, Any]) -> np.ndarray:
    array = np.array(numbers, dtype=kind)
    return array.reshape([int(size) for size in value["shape"].split(",")]) if "shape" in value else array
