"""A figure as few bytes: its arrays column by column in the form that deflates best, beside the rest as JSON.

A payload is a line of JSON, a newline, and bytes. In the JSON each array is an object with one of the keys below.
``payload.js`` turns it back into the same numbers, in the same type of array.

===========  =======================================================================================================
key          stands for
===========  =======================================================================================================
``$ints``    whole numbers, or decimals of ``places`` places: differences to the one before, folded to be positive
``$bytes``   any numbers: the bytes of their type, each exclusive-or that of the number before
``$strung``  outlines of rectangles, strung together: two columns of edges, in one of two orders of corners
``$rows``    a table of rows, from columns: of numbers; of texts that are whole numbers (``$text``), times of a run as
             :func:`cluster_sim.amounts.moments` writes them (``$moment``, ``rest`` by place), or few (``$of``)
===========  =======================================================================================================

The page reads what stands under the key ``lazily`` row by row, when it needs it. It unpacks a value under ``later``
when that is first asked for.

``at`` is where the array begins among the bytes: ``count`` numbers of ``wide`` bytes stand there by planes, all their
lowest bytes first. Equal arrays stand there once.
"""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.io.json import to_json_plotly

_MOST_PLACES = 6
_TOO_GREAT = 2.0**51  # twice the difference of two such numbers is still whole in JavaScript
_WHOLE = re.compile(r"(?:0|[1-9][0-9]{0,8})\Z")
_MOMENT = re.compile(r"(?:[1-9][0-9]{0,2}(?:,[0-9]{3}){0,2} d )?(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\Z")
_IN_SECONDS = np.array([86_400.0, 3_600.0, 60.0, 1.0])
_ORDERS = {"abbaa": (0, 1, 1, 0, 0), "aabba": (0, 0, 1, 1, 0)}
"""Orders of a rectangle's two edges at its corners and again at the first, on x and on y."""


def payload(figure: go.Figure | dict[str, Any]) -> bytes:
    """Return what the page unpacks into ``figure``'s data and layout; the figure may be a dict."""
    store = _Store()
    rest = to_json_plotly(_walked(figure.to_dict() if isinstance(figure, go.Figure) else figure, store))
    return str(rest).encode("utf-8") + b"\n" + bytes(store.data)


class _Store:
    """Store of bytes, equal ones once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._places: dict[bytes, int] = {}

    def put(self, planes: np.ndarray) -> dict[str, int]:
        """Keep ``planes``, shape (numbers, bytes of each), and say where."""
        raw = np.ascontiguousarray(planes.T).tobytes()
        if raw not in self._places:
            self._places[raw] = len(self.data)
            self.data += raw
        return {"at": self._places[raw], "count": planes.shape[0], "wide": planes.shape[1]}


def _walked(value: Any, store: _Store) -> Any:
    if isinstance(value, dict):
        # Arrays of three dimensions stay in Plotly's own form, which it reads too; no chart here has any.
        if "bdata" in value and "dtype" in value and value.get("shape", "").count(",") < 2:
            array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]))
            return _numbers(array, store) | ({"shape": value["shape"]} if "shape" in value else {})
        return {key: _walked(item, store) for key, item in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.ndim == 1:
        # Plotly leaves these arrays as they are. Pages know no whole numbers of eight bytes.
        narrow = value.dtype.kind != "f" and value.dtype.itemsize == 8
        return _numbers(value.astype(np.int32) if narrow else value, store)
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 2:
        return {"$rows": [_column(value[:, place].tolist(), store) for place in range(value.shape[1])]}
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1:
        return _column(value.tolist(), store)
    if isinstance(value, list | tuple):
        return [_walked(item, store) for item in value]
    return value


def _numbers(array: np.ndarray, store: _Store) -> dict[str, Any]:
    """Return an array of numbers as an object; its type is that of the array that the page makes."""
    kind = f"{array.dtype.kind}{array.dtype.itemsize}"
    edges = _edges(array)
    if edges is not None:
        order, one, other = edges
        return {"$strung": order, "type": kind, "a": _numbers(one, store), "b": _numbers(other, store)}
    integers = _whole(array)
    if integers is not None:
        # Differences as planes of as few bytes as they need: 0, -1, 1, -2, … become 0, 1, 2, 3, …
        steps = np.diff(integers[0], prepend=0)
        folded = (steps << 1) ^ (steps >> 63)
        wide = max(1, (int(folded.max(initial=0)).bit_length() + 7) // 8)
        planes = folded.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :wide]
        return {"$ints": kind, "places": integers[1], **store.put(planes)}
    planes = np.ascontiguousarray(array).view(np.uint8).reshape(len(array), array.dtype.itemsize).copy()
    planes[1:] ^= planes[:-1].copy()
    return {"$bytes": kind, **store.put(planes)}


def _edges(array: np.ndarray) -> tuple[str, np.ndarray, np.ndarray] | None:
    """Return order and columns of the two edges of an outline as ``drawing`` strings them; None for another array."""
    if array.dtype.kind != "f" or len(array) == 0 or len(array) % 6:
        return None
    count = len(array) // 6
    five, back = array[: 5 * count].reshape(-1, 5), array[5 * count :]
    a, b = five[:, 0], five[:, 2]
    for order, corners in _ORDERS.items():
        if np.array_equal(five, np.column_stack([(a, b)[which] for which in corners])) and np.array_equal(
            back, a[::-1]
        ):
            return order, a, b
    return None


def _whole(array: np.ndarray) -> tuple[np.ndarray, int] | None:
    """Return whole numbers that are the array when divided by ten to so many places, and the places, or None."""
    values = array.astype(np.float64)
    if not np.isfinite(values).all():
        return None
    for places in range(_MOST_PLACES + 1 if array.dtype.kind == "f" else 1):
        scaled = np.rint(values * 10.0**places)
        if np.abs(scaled).max(initial=0.0) >= _TOO_GREAT:
            return None
        if np.array_equal((scaled / 10.0**places).astype(array.dtype), array):
            return scaled.astype(np.int64), places
    return None


def _column(values: list[Any], store: _Store) -> Any:
    """Return a column of a table: an object as above, or the bare list if nothing is gained."""
    if all(type(value) in (int, float) for value in values):
        packed = _numbers(np.array(values, dtype=np.float64), store)
        return packed if "$ints" in packed else values
    if not all(type(value) is str for value in values):
        return values
    if all(map(_WHOLE.match, values)):
        return {"$text": _numbers(np.array(values, dtype=np.float64), store)}
    distinct = {text: code for code, text in enumerate(dict.fromkeys(values))}
    if 2 * len(distinct) <= len(values):
        codes = np.array([distinct[text] for text in values], dtype=np.int32)
        return {"$of": list(distinct), "code": _numbers(codes, store)}
    # Most texts may be times of a run: these are kept as whole seconds.
    rest = {place: text for place, text in enumerate(values) if not _MOMENT.match(text)}
    if 2 * len(rest) > len(values):
        return values
    whole = (("0 d 00:00:00" if place in rest else text) for place, text in enumerate(values))
    parts = " ".join(text if "d" in text else f"0 d {text}" for text in whole)
    counts = np.array(parts.replace(",", "").replace(" d ", " ").replace(":", " ").split(" "), dtype=np.float64)
    return {"$moment": _numbers(counts.reshape(-1, 4) @ _IN_SECONDS, store), "rest": rest}
