"""Logs of other programs that are not read: each is told by its shape, and a line says what it is and what to give instead."""

from __future__ import annotations

import re

from cluster_sim.errors import FormatError

_OWN_COLUMNS = "the jobs as CSV with the columns of docs/reference/job-schema.md, or as SWF"
_SACCT = "what sacct --parsable2 or sacct --json prints, a row for each job that is over"
_SHAPES = (
    (r"\A(?:[#;].*\n)*#\s*JobID\s+SubmitTime\s+WaitTime\b", "GWF, the format of the Grid Workloads Archive", _OWN_COLUMNS),
    (r"\A(?:#.*\n)*\d+(?:[ \t]+-?[\d.]+){8}(?:[ \t]+\S+){20}[ \t]*$", "rows of 29 fields, as in GWF", _OWN_COLUMNS),
    (r"\AJobId=\d+", "what scontrol show job prints", _SACCT),
    (r"\A\s*JOBID\s+PARTITION\s+NAME\s+USER\b", "what squeue prints", _SACCT),
    (r"\A\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Za-z];", "accounting records of PBS or Torque", _OWN_COLUMNS),
    (r'\A"JOB_[A-Z]+" "', "accounting records of LSF (lsb.acct)", _OWN_COLUMNS),
    (r"\A(?:#.*\n)*[^\s{\[<\"#:]+(?::[^:\n]*){39,}$", "accounting records of Grid Engine", _OWN_COLUMNS),
)  # fmt: skip


def foreign(path: str, start: str) -> FormatError | None:
    """Return why a file is not read whose beginning has the shape of another program's log; None for any other file."""
    for pattern, what, instead in _SHAPES:
        if re.search(pattern, start.replace("\r", ""), re.MULTILINE):
            return FormatError(path, instead, what)
    return None
