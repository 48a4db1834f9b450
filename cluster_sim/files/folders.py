"""Folders of results: written to by one program at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cluster_sim.errors import FormatError, InputError

LOCK = ".lock"

_open_to_us: set[Path] = set()


@contextmanager
def held(folder: str | os.PathLike[str], what: str = "program", nested: bool = False) -> Iterator[None]:
    """Have a folder for this process alone; the system releases it when the process ends, however that happens.

    With ``nested``, functions that this process calls meanwhile may hold the folder as well: a command holds its folder
    from its first check to its last file. Raises InputError while another process has the folder, FormatError if it
    cannot be written to.
    """
    place = Path(folder).resolve()
    if place in _open_to_us:
        yield
        return
    with _locked(place, folder, what):
        if nested:
            _open_to_us.add(place)
        try:
            yield
        finally:
            _open_to_us.discard(place)


@contextmanager
def _locked(place: Path, folder: str | os.PathLike[str], what: str) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    path = place / LOCK
    while True:
        try:
            lock = path.open("ab")
        except OSError as error:
            raise FormatError(place, "a folder that can be written to", error.strerror or error) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise InputError(folder, f"a folder that no other {what} writes to") from None
        except OSError:  # a file system without locks
            break
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock.fileno()), path.stat()):
                break
        lock.close()  # the program that held the lock has just removed its file; any file there now is another one
    with lock:
        try:
            yield
        finally:
            # Removed while still locked: a program that has opened the file meanwhile will see that it is gone.
            with suppress(OSError):
                path.unlink()
