"""A result's table where there is nothing to tell."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cluster_sim.workload.fields import RESULT_TABLES

_TYPES = {"str": object, "float": np.float64, "int": np.int64}


def no_rows(table: str) -> pd.DataFrame:
    """Make a table of ``RESULT_TABLES`` without rows, its columns in their types."""
    return pd.DataFrame({field.name: np.array([], _TYPES[field.kind]) for field in RESULT_TABLES[table]})
