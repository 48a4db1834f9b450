"""What sacct's column ``SubmitLine`` says of a job that no other column does: its array's throttle, and for whom it waits."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence

from cluster_sim.formats import slurm_values as values

_ARRAY = re.compile(r"(?:^|\s)(?:--array[=\s]\s*|-a\s*)([0-9][0-9,:%-]*)(?=\s|$)")
_DEPENDENCY = re.compile(
    r"(?:^|\s)(?:--depend(?:ency)?[=\s]\s*|-d\s*)((?:after|singleton|expand)[a-z0-9_:,?+]*)(?=\s|$)", re.IGNORECASE
)
_KINDS = {"afterok": "", "afterany": "any:"}


def array_limit(line: str) -> int:
    """How many tasks of the job's array may run at once; 0: all."""
    found = _ARRAY.search(line)
    try:
        return values.array_limit(found[1]) if found is not None else 0
    except ValueError:
        return 0


def awaited(line: str, ids: Container[str], tasks: Mapping[str, Sequence[str]]) -> tuple[str, bool]:
    """The jobs of a log that a job waits for, as the field ``after`` has them; and whether it waits for something else, too.

    ``tasks`` are those of each array. Jobs that the log does not have are left out: what became of them is not known.
    """
    found = _DEPENDENCY.search(line)
    if found is None:
        return "", False
    after: dict[str, None] = {}
    is_whole = "?" not in found[1]
    for part in found[1].lower().split(",") if is_whole else ():
        kind, *jobs = part.split(":")
        is_whole = is_whole and kind in _KINDS and not any("+" in job for job in jobs)
        if kind in _KINDS:
            names = [task for job in jobs for task in tasks.get(job, [job])]
            after |= {_KINDS[kind] + name: None for name in names if name in ids}
    return " ".join(after), not is_whole
