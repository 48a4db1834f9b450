"""Reading whole files, plain or gzipped, with errors that name the file."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any, NoReturn

from cluster_sim.errors import FormatError

_GZIP_MAGIC = b"\x1f\x8b"


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Contents of a file, decompressed if it is gzipped (told by its content, not by its name).

    Raises FormatError when it cannot be read, is empty, or is cut off or damaged inside.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise FormatError(path, "a file that can be read", getattr(error, "strerror", None) or str(error)) from None
    if data.startswith(_GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise FormatError(path, "a complete gzip file", str(error)) from None
    if not data.strip():
        raise FormatError(path, "some content", "an empty file")
    return data


def read_text(path: str | os.PathLike[str]) -> str:
    """Contents of a UTF-8 file, plain or gzipped. Raises FormatError naming the line of a byte that is not text."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(f"{path} line {line}", "text in UTF-8", data[error.start : error.start + 8]) from None
    if "\x00" in text:
        raise FormatError(f"{path} line {text.count(chr(10), 0, text.index(chr(0))) + 1}", "text", "binary data")
    return text


def parse_json(path: str | os.PathLike[str], text: str) -> Any:
    """The JSON document in ``text``. Raises FormatError naming line and column; NaN and Infinity are errors."""

    def refuse(constant: str) -> NoReturn:
        raise FormatError(path, "finite numbers", constant)

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        place = f"{path} line {error.lineno} column {error.colno}"
        raise FormatError(place, "valid JSON", error.msg) from None
    except RecursionError:
        raise FormatError(path, "JSON nested less deeply", "too many levels") from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise FormatError(path, "numbers of a sensible length", str(error)) from None
