"""The table of the clocks at which each processor ran, and when."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.platform.hardware import p_state_of
from cluster_sim.workload.fields import RESULT_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cluster_sim.platform.platform import Platform, ProcessorType

NO_P_STATE = -1
"""Number that stands for a clock, or watts, of none of the processor's p-states."""

Change = tuple[float, int, "ProcessorType"]
"""A time (s), a processor by its position in the platform, and its type from then on."""


def clock_table(platform: Platform, changes: Iterable[Change], horizon: float) -> pd.DataFrame:
    """Make a row for each interval of every processor that has p-states or changed its clock, up to ``horizon`` (s)."""
    kinds = platform.processor_types
    by_processor: dict[int, list[tuple[float, ProcessorType]]] = defaultdict(list)
    with_states = np.array([bool(kind.p_states) for kind in kinds])[platform.type_of_processor]
    changed = {processor for _, processor, _ in changes}
    for processor in sorted(changed.union(np.flatnonzero(with_states).tolist())):
        by_processor[processor].append((0.0, kinds[platform.type_of_processor[processor]]))
    for time, processor, kind in changes:
        by_processor[processor].append((time, kind))
    rows: list[tuple[Any, ...]] = []
    for processor, entries in by_processor.items():
        node = int(np.searchsorted(platform.first_processor, processor, "right")) - 1
        where = platform.node_name(node), f"processor{processor - int(platform.first_processor[node])}"
        ends = [time for time, _ in entries[1:]] + [horizon]
        for (start, kind), end in zip(entries, ends, strict=True):
            if end > start:
                number = p_state_of(kind, entries[0][1])
                clock = NO_P_STATE if number is None else number, kind.clock_ghz
                if rows and rows[-1][:4] == (*where, *clock):
                    start = rows.pop()[4]  # changed and changed back within an instant
                rows.append((*where, *clock, start, end))
    return as_clock_table(rows)


def as_clock_table(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    """Make the table from these rows; there may be none."""
    fields = RESULT_TABLES["p_states"]
    types = {"str": object, "float": np.float64, "int": np.int64}
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    return pd.DataFrame(
        {field.name: np.array(column, types[field.kind]) for field, column in zip(fields, columns, strict=True)}
    )
