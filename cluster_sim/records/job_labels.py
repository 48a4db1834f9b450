"""Whose jobs are: the columns of a workload that a jobs table has only where they say something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.workload.fields import UNKNOWN

if TYPE_CHECKING:
    import numpy.typing as npt

JOB_LABELS = ("group", "account", "queue", "partition", "qos")
"""Columns of the workload (``cluster_sim.workload.fields.JOB_FIELDS``) that follow ``user``, as text; empty: not known."""


def job_labels(columns: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[np.object_]]:
    """Return the columns in which some job has a value."""
    found = {}
    for name in JOB_LABELS:
        values = columns.get(name)
        if values is None or not len(values):
            continue
        unknown = (
            np.isin(values, (UNKNOWN,)) if values.dtype.kind in "if" else np.isin(values, ("", str(UNKNOWN), UNKNOWN))
        )
        if not unknown.all():
            known, code = np.unique(values.astype(str), return_inverse=True)
            found[name] = np.where(unknown, "", known.astype(object)[code])
    return found
