"""What jobs did on their cores beside their work: checkpoints, restarts and changes of their cores, when they were over."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cluster_sim.machine.course import Doing

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.core_ranges import Ints

_CODES = {doing: code for code, doing in enumerate(Doing)}
_COLUMNS = 5


class StageLog:
    """Rows of machine numbers: a run may have a million checkpoints."""

    def __init__(self) -> None:
        self._numbers = array("d")

    def note(self, attempt: int, doing: Doing, start: float, end: float, saved: float) -> None:
        """Enter that a stage of an attempt (by its number in the ledger) is over; checkpoints now hold ``saved``."""
        self._numbers.extend((attempt, _CODES[doing], start, end, saved))

    def __len__(self) -> int:
        return len(self._numbers) // _COLUMNS

    def table(self, rows: int, job: Ints, number: Ints, job_ids: npt.NDArray[np.object_]) -> pd.DataFrame:
        """Return the first ``rows`` rows; ``job`` and ``number`` (among its job's) are those of the attempts."""
        numbers = np.array(self._numbers[: rows * _COLUMNS], np.float64).reshape(-1, _COLUMNS)
        attempt, doing = numbers[:, :2].T.astype(np.int64)
        names = np.array([str(each) for each in Doing], object)
        return pd.DataFrame(
            {
                "job_id": job_ids[job[attempt]],
                "attempt": number[attempt],
                "stage": names[doing],
                "start": numbers[:, 2],
                "end": numbers[:, 3],
                "saved": numbers[:, 4],
            }
        )
