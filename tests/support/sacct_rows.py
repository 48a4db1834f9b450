"""Logs of a few jobs as sacct prints them, on a cluster of one node of four CPUs."""

from __future__ import annotations

import datetime

CONF = "ClusterName=lab\nNodeName=n1 CPUs=4\nPartitionName=p Nodes=n1 Default=YES\nPartitionName=q Nodes=n1\n"
DAY = 86_400
HEAD = "JobID|User|Account|Partition|Submit|Eligible|Start|End|Elapsed|Timelimit|State|ReqCPUS|AllocCPUS"
BEGIN = datetime.datetime(2026, 3, 2)


def clock(seconds: float) -> str:
    """A time of the log."""
    return (BEGIN + datetime.timedelta(seconds=seconds)).isoformat()


def row(job: int, submit: float, start: float, run: int, cpus: int, user: str = "ann", partition: str = "p") -> str:
    """A job as sacct prints it; a start below 0 is not known."""
    times = f"{clock(start)}|{clock(start + run)}" if start >= 0 else "Unknown|Unknown"
    limit = f"{run // 60:02}:{run % 60:02}"
    return (
        f"{job}|{user}|phys|{partition}|{clock(submit)}|{clock(submit)}|{times}|{limit}|{limit}|COMPLETED|{cpus}|{cpus}"
    )


def weekly(weeks: int, start: float = 600.0) -> list[str]:
    """Each week ann's job of all CPUs, for 20 min, and a minute later bob's of one CPU in the other partition."""
    rows = []
    for week in range(weeks):
        at = 7 * DAY * week
        rows += [row(2 * week, at, at, 1_200, 4), row(2 * week + 1, at + 60, at + start, 600, 1, "bob", "q")]
    return rows
