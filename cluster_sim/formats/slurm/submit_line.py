"""What sacct's column ``SubmitLine`` says of a job that no other column does: its array's throttle, and for whom it waits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cluster_sim.formats.slurm import conf_values as values

_ARRAY = re.compile(r"(?:^|\s)(?:--array[=\s]\s*|-a\s*)([0-9][0-9,:%-]*)(?=\s|$)")
_DEPENDENCY = re.compile(
    r"(?:^|\s)(?:--depend(?:ency)?[=\s]\s*|-d\s*)((?:after|singleton|expand)[a-z0-9_:,?+]*)(?=\s|$)", re.IGNORECASE
)
_KINDS = {"afterok": "", "afterany": "any:"}


def array_limit(line: str) -> int:
    """Return how many tasks of the job's array may run at once; 0: all."""
    found = _ARRAY.search(line)
    try:
        return values.array_limit(found[1]) if found is not None else 0
    except ValueError:
        return 0


def awaited(line: str, job: str, order: Mapping[str, int], tasks: Mapping[str, Sequence[str]]) -> tuple[str, bool]:
    """Return the jobs that a job waits for, as the field ``after`` has them, and whether it waits for anything else.

    ``order`` has the place of each job of the log, by submission, ``tasks`` those of each array. Jobs that do not come before
    it are left out: of those that the log does not have it is not known what became of them, and ids come round again.
    """
    found = _DEPENDENCY.search(line)
    if found is None:
        return "", False
    after: dict[str, None] = {}
    own = order[job]
    is_whole = "?" not in found[1]
    for part in found[1].lower().split(",") if is_whole else ():
        kind, *jobs = part.split(":")
        is_whole = is_whole and kind in _KINDS and not any("+" in one for one in jobs)
        if kind in _KINDS:
            names = [task for one in jobs for task in tasks.get(one, [one])]
            after |= {_KINDS[kind] + name: None for name in names if order.get(name, own) < own}
    return " ".join(after), not is_whole
