"""Columns of several decisions as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    pass


def joined(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Join the columns, or tables of them, of each decision; those of a single decision are not copied."""
    return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=-1)


def stacked(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Stack columns of equal length of each decision as rows; those of a single decision are not copied."""
    return joined(columns).reshape(len(columns), -1)
