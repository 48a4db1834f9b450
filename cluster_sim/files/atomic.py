"""Files that are whole or absent: written aside in the same folder, then moved into place."""

from __future__ import annotations

import gzip
import os
import secrets
from collections.abc import Callable, Container, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cluster_sim.errors import FormatError

_TOKEN_DIGITS = 12


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path to write to, which becomes ``path`` if the block ends well and vanishes if it does not.

    It lies in the folder of ``path`` and has the same suffixes, so that libraries which choose a format or a
    compression by name choose the same one. Raises FormatError when the place cannot be written.
    """
    target = Path(path)
    # Not tempfile.mkstemp: it makes files that only their owner can read, whatever the umask says.
    aside = target.with_name(f".{secrets.token_hex(_TOKEN_DIGITS // 2)}.{target.name}")
    try:
        yield aside
        os.replace(aside, target)
    except OSError as error:
        raise FormatError(target, "a file that can be written", error.strerror or error) from None
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def atomic_files(seal: str | os.PathLike[str]) -> Iterator[Callable[[str | os.PathLike[str]], Path]]:
    """Write files that belong together: none is replaced before all are written.

    The block gets a function that gives a path to write to for each of them, ``seal`` among them. When it ends well, an older
    ``seal`` goes, then the others take their places, then ``seal`` does: so where it is, all are its own, whenever the
    program is killed. When it ends otherwise, everything is as it was. Raises FormatError as :func:`atomic_path` does.
    """
    with ExitStack() as stack:  # which ends what it entered in reverse order
        asides = {Path(seal): stack.enter_context(atomic_path(seal))}

        def aside(path: str | os.PathLike[str]) -> Path:
            if Path(path) not in asides:
                asides[Path(path)] = stack.enter_context(atomic_path(path))
            return asides[Path(path)]

        yield aside
        Path(seal).unlink(missing_ok=True)


def remove_leftovers(folder: Path, names: Container[str]) -> None:
    """Remove what killed programs had begun to write under these names. No other program may be writing them now."""
    for aside in folder.glob(f".{'?' * _TOKEN_DIGITS}.*"):
        if aside.name[_TOKEN_DIGITS + 2 :] in names:
            aside.unlink(missing_ok=True)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data`` to ``path`` in one move, compressed when the name ends in ``.gz``."""
    if str(path).endswith(".gz"):
        # No time stamp inside: the same workload is the same file.
        data = gzip.compress(data, compresslevel=6, mtime=0)
    with atomic_path(path) as aside:
        aside.write_bytes(data)
