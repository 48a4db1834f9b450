"""Files that are whole or absent: written aside in the same folder, then moved into place."""

from __future__ import annotations

import gzip
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster_sim.errors import FormatError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to, which becomes ``path`` when the block ends well and vanishes when it does not.

    It lies in the folder of ``path`` and has the same suffixes, so that libraries which choose a format or a
    compression by name choose the same one. Raises FormatError when the place cannot be written.
    """
    target = Path(path)
    # Not tempfile.mkstemp: it makes files that only their owner can read, whatever the umask says.
    aside = target.with_name(f".{secrets.token_hex(6)}.{target.name}")
    try:
        yield aside
        os.replace(aside, target)
    except OSError as error:
        raise FormatError(target, "a file that can be written", error.strerror or error) from None
    finally:
        aside.unlink(missing_ok=True)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data`` to ``path`` in one move, compressed when the name ends in ``.gz``."""
    if str(path).endswith(".gz"):
        # No time stamp inside: the same workload is the same file.
        data = gzip.compress(data, compresslevel=6, mtime=0)
    with atomic_path(path) as aside:
        aside.write_bytes(data)
