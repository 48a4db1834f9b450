"""Standard streams that never end a command: one that is closed, or full, takes nothing and says so at the end at most."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, TypeVar

T = TypeVar("T")


class Lasting:
    """A text stream to which writing never fails: once it has, the rest goes nowhere, and :attr:`error` has why.

    With ``tells_reader`` a reader that is gone (``| head``) is still told of, as BrokenPipeError.
    """

    def __init__(self, stream: TextIO, tells_reader: bool):
        self._stream = stream
        self._tells_reader = tells_reader
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, or drop it."""
        return self._try(lambda: self._stream.write(text), len(text))

    def flush(self) -> None:
        """Flush, or drop what is left."""
        self._try(self._stream.flush, None)

    def _try(self, do: Callable[[], T], otherwise: T) -> T:
        try:
            return do()
        except OSError as error:
            if self._tells_reader and error.errno == errno.EPIPE:
                raise
            self.error = self.error or error
            go_nowhere(self._stream)
            return otherwise


def go_nowhere(stream: Any) -> None:
    """Let what is left in the buffer of a stream go nowhere, or Python complains when it exits."""
    with suppress(OSError, ValueError):  # a stream that is no file has nothing to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def lasting_streams() -> Iterator[Lasting]:
    """Give a program its three streams, whatever it was started with; yield stdout.

    The descriptors of those that were closed go nowhere, so that no file of results gets their numbers.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    before = sys.stdout, sys.stderr
    for stream in before:
        # A terminal that knows no "−" or "ü" gets an escape; a result is not worth dying for its last letter.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    stdout = Lasting(sys.stdout, tells_reader=True)
    sys.stdout, sys.stderr = stdout, Lasting(sys.stderr, tells_reader=False)
    try:
        yield stdout
    finally:
        sys.stdout, sys.stderr = before
