"""Jobs of a test as rows: a story is easier to read job by job than column by column."""

from __future__ import annotations

from typing import Any

from cluster_sim import Workload

COLUMNS = ("submit_time", "requested_cores", "recorded_run_time", "requested_time")


def workload_of(*rows: tuple[Any, ...], **columns: Any) -> Workload:
    """Jobs as (submission s, cores, run time s), or with the requested time, s, as the fourth; further columns by name."""
    table = {name: list(values) for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=False)}
    return Workload(table | columns)
