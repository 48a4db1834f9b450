"""Reading whole files, plain or gzipped, with errors that name the file."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

from cluster_sim.errors import FormatError, InputError

MAX_UNPACKED_BYTES = 256 * 2**20
MAX_UNPACKED_RATIO = 100
"""A gzipped file may unpack to so many bytes, or to so many times its size, whichever is more. Logs shrink 5 to 30 times."""

STDIN = "-"
"""The name of standard input where a file is asked for; a file that is called so is ``./-``."""

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31  # what zlib calls a gzip header and trailer around the data
_NO_FILES = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def check_source(where: str, source: object) -> None:
    """Raise InputError unless it can name a file, or be a spec."""
    if not isinstance(source, str | os.PathLike):
        raise InputError(where, "a file or a spec", repr(source))


def read_bytes(path: str | os.PathLike[str], limit: int | None = None, expected: str = "some content") -> bytes:
    """Read a file, or standard input; unpack it if it is gzipped (told by its content, not by its name).

    ``limit`` is the most bytes that it may have, packed and unpacked. Raises FormatError for a file that cannot be read, or
    is no regular file: a pipe would be waited for without end. Raises it also for a file that is too long, empty
    (``expected`` says what was wanted), or damaged, or unpacks beyond MAX_UNPACKED_BYTES and MAX_UNPACKED_RATIO.
    """
    try:
        check_regular(path)
        if is_stdin(path):
            data = _standard_input(sys.stdin)
        else:
            with Path(path).open("rb") as file:
                data = file.read(-1 if limit is None else limit + 1)
    except FormatError:
        raise
    except (OSError, ValueError) as error:
        raise FormatError(path, "a readable file", getattr(error, "strerror", None) or str(error)) from None
    _check_length(data, path, limit)
    if data.startswith(_GZIP_MAGIC):
        data = _unpacked(data, path, limit)
        _check_length(data, path, limit)
    if not data.strip():
        raise FormatError(path, expected, "an empty file")
    return data


def sha256(path: str | os.PathLike[str]) -> str:
    """Return SHA-256, in hexadecimal digits, of a file's bytes as they are, packed or not, or of standard input."""
    if is_stdin(path):
        return hashlib.sha256(read_bytes(path)).hexdigest()
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_stdin(path: object) -> bool:
    """Return whether a name stands for standard input."""
    return path == STDIN


@lru_cache(maxsize=1)
def _standard_input(stream: TextIO) -> bytes:
    """Read standard input once: a reader looks at its beginning first, and a comparison reads its workload again."""
    return stream.buffer.read()


def absolute(folder: str | os.PathLike[str], name: str) -> str:
    """Return the absolute path of ``name`` in a folder; a name that no file can have stays as it is."""
    path = Path(folder) / name
    try:
        return str(path.resolve())
    except (OSError, ValueError, RuntimeError):
        return str(path)


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise FormatError for what is there and no regular file: a pipe would be waited for without end."""
    if not is_stdin(path) and os.path.exists(path) and not os.path.isfile(path):
        raise FormatError(path, "a readable file", instead_of_file(path))


def instead_of_file(path: str | os.PathLike[str]) -> str:
    """Say what stands in the place of a regular file."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return "no such file"
    return next((name for holds, name in _NO_FILES if holds(mode)), "no such file")


def _check_length(data: bytes, path: str | os.PathLike[str], limit: int | None) -> None:
    if limit is not None and len(data) > limit:
        raise FormatError(path, f"at most {limit} bytes", "more")


def _unpacked(packed: bytes, path: str | os.PathLike[str], limit: int | None) -> bytes:
    """Unpack all members of a gzip file, up to one byte more than it may have."""
    most = max(MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO * len(packed)) if limit is None else limit
    parts: list[bytes] = []
    left, rest = most + 1, packed
    while rest and left > 0:
        member = zlib.decompressobj(_GZIP_WINDOW)
        try:
            parts.append(member.decompress(rest, left))
        except zlib.error as error:
            raise FormatError(path, "a complete gzip file", str(error)) from None
        left -= len(parts[-1])
        if left > 0 and not member.eof:
            raise FormatError(path, "a complete gzip file", "a file that was cut off")
        rest = member.unused_data.lstrip(b"\0")  # a file may be padded with zeros
    if left <= 0 and limit is None:
        expected = f"at most {most:,} bytes when unpacked (unpack it yourself if it is right)"
        raise FormatError(path, expected, f"more, from {len(packed):,} bytes")
    return b"".join(parts)


def read_text(path: str | os.PathLike[str], limit: int | None = None, expected: str = "some content") -> str:
    """Read a UTF-8 file as :func:`read_bytes` does. Raises FormatError naming the line of what is no text."""
    data = read_bytes(path, limit, expected)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        is_text = b"\x00" not in data  # in another encoding, as names of people are in old files
        hint = " (iconv -f latin1 -t utf-8 makes it from Latin-1)" if is_text else ""
        raise FormatError(f"{path} line {line}", f"text in UTF-8{hint}", data[error.start : error.start + 8]) from None
    if "\x00" in text:
        raise FormatError(f"{path} line {text.count(chr(10), 0, text.index(chr(0))) + 1}", "text", "binary data")
    return text


def read_own_json(path: str | os.PathLike[str], expected: str) -> dict[str, Any]:
    """Read the object in a JSON file that this program left; ``expected`` says what it is. Raises FormatError."""
    if not os.path.exists(path):
        raise FormatError(path, expected, "no such file")
    data = read_bytes(path, expected="JSON")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(path, "JSON", str(error)) from None
    if not isinstance(content, dict):
        raise FormatError(path, "an object", type(content).__name__)
    return content
