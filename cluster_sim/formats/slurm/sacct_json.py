"""What ``sacct --json`` prints, as the rows that ``sacct --parsable2`` would print.

Numbers are plain in Slurm 22.05, and ``{"set": true, "infinite": false, "number": 60}`` from 23.02 on; the state is a text in
the one and a list of texts in the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cluster_sim.errors import FormatError
from cluster_sim.formats.slurm.sacct_table import LeftOut, SacctTable, table_of

_PER_CPU = 2**63
"""Slurm's flag in an amount of memory that counts for each CPU."""


def is_sacct_json(document: object, path: str) -> bool:
    """Return whether a document is what ``sacct --json`` prints.

    Raises FormatError for what Slurm's other commands print.
    """
    if not isinstance(document, Mapping):
        return False
    jobs = document.get("jobs")
    first = jobs[0] if isinstance(jobs, list) and jobs else None
    if isinstance(first, Mapping) and isinstance(first.get("time"), Mapping) and "submission" in first["time"]:
        return True
    if isinstance(first, Mapping) and "job_state" in first:
        raise FormatError(path, "what sacct --json prints, of jobs that are over", "the JSON of squeue or scontrol")
    is_slurms = any(name in _mapping(document.get("meta")) for name in ("Slurm", "slurm", "plugin", "plugins"))
    if is_slurms and isinstance(jobs, list):
        raise FormatError(path, "at least one job", "sacct's JSON without jobs")
    if is_slurms:
        raise FormatError(path, "what sacct --json prints", "the JSON of another of Slurm's commands")
    return False


def table_of_document(document: Mapping[str, Any]) -> SacctTable:
    """Return the jobs and steps of what ``sacct --json`` printed; a job that cannot be read is left out."""
    rows: list[tuple[int, dict[str, str]]] = []
    left_out: list[LeftOut] = []
    for place, job in enumerate(document["jobs"], start=1):
        try:
            rows += [(place, row) for row in _rows_of(job)]
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
            left_out.append(LeftOut(place, "", "a job as sacct --json prints it", job))
    table = table_of(rows, "job")
    table.left_out = left_out
    return table


def _rows_of(job: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the row of a job, and one for each step that tells its memory."""
    time, state, required = job["time"], job["state"]["current"], _mapping(job.get("required"))
    tres, suspended_s = _mapping(job.get("tres")), _number(time.get("suspended"))
    row = {
        "JobID": _id_of(job),
        "JobName": _text(job.get("name")),
        "User": _text(job.get("user")) or _text(_mapping(job.get("association")).get("user")),
        "Group": _text(job.get("group")),
        "Account": _text(job.get("account")),
        "Partition": _text(job.get("partition")),
        "QOS": _text(job.get("qos")),
        "Submit": _moment(time.get("submission")),
        "Eligible": _moment(time.get("eligible")),
        "Start": _moment(time.get("start")),
        "End": _moment(time.get("end")),
        "ElapsedRaw": _number(time.get("elapsed")),
        "Suspended": f"0-00:00:{suspended_s}" if suspended_s else "",
        "TimelimitRaw": _number(time.get("limit")),
        "State": state if isinstance(state, str) else str(state[0]),
        "ReqCPUS": _number(required.get("CPUs")),
        "ReqMem": _memory(required),
        "ReqTRES": _tres(tres.get("requested")),
        "AllocTRES": _tres(tres.get("allocated")),
        "AllocNodes": _number(job.get("allocation_nodes")),
        "NodeList": _text(job.get("nodes")),
        "Constraints": _text(job.get("constraints")),
        "Licenses": _text(job.get("licenses")),
        "Priority": _number(job.get("priority")),
        "Restarts": _number(job.get("restart_cnt")),
        "SubmitLine": _text(job.get("submit_line")),
    }
    yield row
    for step in job.get("steps") or ():
        most = _mapping(_mapping(step.get("tres")).get("requested")).get("max") or ()
        used = [each["count"] for each in most if each.get("type") == "mem"]
        if used:
            yield {"JobID": f"{row['JobID']}.0", "MaxRSS": f"{max(used) / 1024:.0f}K"}


def _id_of(job: Mapping[str, Any]) -> str:
    array, het = _mapping(job.get("array")), _mapping(job.get("het"))
    number = _number(array.get("job_id"))
    if number not in ("", "0"):
        task, tasks = _number(array.get("task_id")), _text(array.get("task"))
        if task:
            return f"{number}_{task}"
        if tasks:
            return f"{number}_[{tasks.strip('[]')}]"
    number = _number(het.get("job_id"))
    if number not in ("", "0"):
        return f"{number}+{_number(het.get('job_offset')) or 0}"
    return _number(job["job_id"])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise TypeError(value)
    return value or ""


def _number(value: Any) -> str:
    """Return a number as sacct prints it; empty: not told."""
    if isinstance(value, Mapping):
        if value.get("infinite"):
            return "UNLIMITED"
        value = value["number"] if value.get("set") else None
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise TypeError(value)
    return str(int(value))


def _moment(value: Any) -> str:
    text = _number(value)
    return "" if text == "0" else text  # Slurm's own word for no time


def _memory(required: Mapping[str, Any]) -> str:
    """Return the memory that a job asks for: MB of each CPU or node."""
    for name, per in (("memory_per_cpu", "c"), ("memory_per_node", "n")):
        if text := _number(required.get(name)):
            return f"{text}M{per}"
    text = _number(required.get("memory"))
    if not text:
        return ""
    amount = int(text)
    return f"{amount - _PER_CPU}Mc" if amount >= _PER_CPU else f"{amount}Mn"


def _tres(listed: Any) -> str:
    parts = []
    for each in listed or ():
        name = "/".join(filter(None, (_text(each.get("type")), _text(each.get("name")))))
        parts.append(f"{name}={_number(each.get('count'))}{'M' if each.get('type') == 'mem' else ''}")
    return ",".join(parts)
