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

_DOING = tuple(Doing)


class StageLog:
    """Columns of machine numbers: a run may have a million checkpoints."""

    def __init__(self) -> None:
        self._attempt, self._doing = array("q"), bytearray()
        self._start, self._end, self._saved = array("d"), array("d"), array("d")

    def note(self, attempt: int, doing: Doing, start: float, end: float, saved: float) -> None:
        """A stage of an attempt (by its number in the ledger) is over, done or not; checkpoints now hold ``saved``."""
        self._attempt.append(attempt)
        self._doing.append(_DOING.index(doing))
        self._start.append(start)
        self._end.append(end)
        self._saved.append(saved)

    def __len__(self) -> int:
        return len(self._doing)

    def table(self, rows: int, job: Ints, number: Ints, job_ids: npt.NDArray[np.object_]) -> pd.DataFrame:
        """The first ``rows`` rows; ``job`` and ``number`` (among its job's) are those of the attempts."""
        attempt = np.array(self._attempt[:rows], np.int64)
        doing = np.array([str(each) for each in _DOING], object)
        return pd.DataFrame(
            {
                "job_id": job_ids[job[attempt]],
                "attempt": number[attempt],
                "stage": doing[np.frombuffer(bytes(self._doing[:rows]), np.uint8)],
                "start": np.array(self._start[:rows], np.float64),
                "end": np.array(self._end[:rows], np.float64),
                "saved": np.array(self._saved[:rows], np.float64),
            }
        )
