"""The columns of sacct that are read, and what a cell of each may say.

The table serves three ends: it finds the rows that cannot be understood, it tells where a text ends that holds the
separator, and it says which columns of a file are not read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from cluster_sim.formats.slurm import conf_values as values
from cluster_sim.formats.slurm.sacct_clock import check_time

FREE_TEXT = frozenset(
    "jobname comment admincomment systemcomment submitline workdir extra reason constraints container wckey stdin stdout "
    "stderr".split()
)
"""Columns that users fill: sacct escapes neither its separator nor a line break in them."""

STATUS = {  # as SWF counts: 1 completed, 0 failed, 5 cancelled
    "COMPLETED": 1, "FAILED": 0, "TIMEOUT": 0, "NODE_FAIL": 0, "OUT_OF_MEMORY": 0, "BOOT_FAIL": 0, "DEADLINE": 0,
    "LAUNCH_FAILED": 0, "CANCELLED": 5, "PREEMPTED": 5, "REVOKED": 5,
}  # fmt: skip
"""SWF's status of a job by the state that says that it is over."""
NOT_OVER = frozenset(
    "PENDING RUNNING SUSPENDED COMPLETING CONFIGURING REQUEUED REQUEUE_HOLD REQUEUE_FED RESIZING RESV_DEL_HOLD "
    "SIGNALING SPECIAL_EXIT STAGE_OUT STOPPED".split()
)
_NOT_TOLD_MB = 2.0**43
"""8 EB: Slurm writes amounts that it does not know as numbers near 16 EB."""
_STATE = re.compile(r"(?:[A-Za-z_]+\+?(?: by .*)?)?")


def count(text: str) -> float:
    """Return a whole number; NaN where the cell is empty."""
    return values.count(text) if text else math.nan


def memory(text: str) -> tuple[float, str]:
    """Return MB and whose they are, as :func:`slurm_values.memory`; 0 for an amount that overflowed."""
    amount, per = values.memory(text)
    return (0.0, per) if amount >= _NOT_TOLD_MB else (amount, per)


def tres(text: str) -> dict[str, str]:
    """Return the parts of a list of trackable resources, in which all that is read is well-formed."""
    parts = values.tres(text)
    for name in ("cpu", "node"):
        values.count(parts.get(name, ""))
    memory(parts.get("mem", ""))
    values.gpus_of_tres(parts)
    return parts


def state(text: str) -> str:
    """Return a state in capitals, without who cancelled the job."""
    return text.partition(" ")[0].rstrip("+").upper()


def known_state(text: str) -> None:
    """Raise ValueError for a word that is no state of Slurm's, as a word of a job's name may stand where a state does."""
    if state(text) not in STATUS.keys() | NOT_OVER:
        raise ValueError("a state of Slurm's")


def _state(text: str) -> str:
    if _STATE.fullmatch(text) is None:
        raise ValueError("a state such as COMPLETED")
    return text


READ: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("jobid", "jobidraw"), values.job_id),
    **dict.fromkeys(("submit", "eligible", "start", "end"), check_time),
    **dict.fromkeys(("elapsed", "suspended", "timelimit", "timelimitraw", "totalcpu"), values.duration),
    **dict.fromkeys(
        ("elapsedraw", "ncpus", "alloccpus", "reqcpus", "nnodes", "allocnodes", "reqnodes", "priority", "restarts"),
        count,
    ),
    **dict.fromkeys(("reqmem", "maxrss"), memory),
    **dict.fromkeys(("reqtres", "alloctres"), tres),
    **dict.fromkeys(("reqgres", "allocgres"), values.gpus_of_gres),
    "state": _state,
    **dict.fromkeys(
        (
            "partition",
            "qos",
            "account",
            "user",
            "group",
            "jobname",
            "nodelist",
            "constraints",
            "licenses",
            "submitline",
        ),
        str,
    ),
}
"""Columns that are read, by the name in small letters, each with a parser that raises ValueError for a wrong cell."""
