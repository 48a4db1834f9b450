"""The jobs of a run: those of its workload, and those that a process submits while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.errors import InputError
from cluster_sim.read_only import ReadOnlyDict
from cluster_sim.workload.job_table import checked_columns, label_names, read_only
from cluster_sim.workload.jobs import REQUEST_COLUMNS, Job

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.workload import Workload

WHERE = "simulation.submit"


class RunJobs:
    """Columns of jobs, by their index: the workload's own arrays until a job is added, from then on longer copies.

    ``requests`` are those that schedulers see. Both mappings stay the same objects, their arrays do not.
    """

    def __init__(self, workload: Workload):
        self.columns: dict[str, npt.NDArray[Any]] = dict(workload.columns)
        self.requests: ReadOnlyDict[npt.NDArray[Any]] = ReadOnlyDict(workload.request_columns)  #: Jobs refer to it.
        self.count = len(workload)  #: How many there are.
        self._room: dict[str, npt.NDArray[Any]] = {}  # the arrays, with space for more, once there are added jobs
        self._index_of: dict[str, int] = {}  # of the first so many jobs by their ids; made when asked for

    def __len__(self) -> int:
        return self.count

    def index(self, job: Job | str, where: str) -> int:
        """Return the index of a job that is given as an object or by its id. Raises InputError for an unknown id."""
        if not isinstance(job, str):
            return job.index
        known = self._index_of
        if len(known) < self.count:
            known.update(zip(self.columns["job_id"][len(known) :].tolist(), range(len(known), self.count), strict=True))
        if job not in known:
            raise InputError(where, "the id of a job of the workload", job)
        return known[job]

    def job(self, index: int) -> Job:
        """Return a job as schedulers see it."""
        hot = (self.requests[name][index] for name in REQUEST_COLUMNS[:4])
        job_id, submit_time, cores, requested_time = hot
        return Job(self.requests, index, str(job_id), float(submit_time), int(cores), float(requested_time))

    def add(self, fields: Mapping[str, Any], time: float) -> Job:
        """Add a job, submitted at ``time`` (s). Raises InputError for what the job schema does not allow."""
        if not isinstance(fields, Mapping):
            raise InputError(WHERE, "a job's fields and their values, as in a dict", fields)
        if fields.get("after"):
            expected = "no other jobs to wait for: submit it when they are over"
            raise InputError(f"{WHERE}, after", expected, fields["after"])
        row = {"job_id": str(self.count), **fields, "submit_time": time}
        entries = {
            name: np.array([value], dtype=object if isinstance(value, str) else None) for name, value in row.items()
        }
        columns = read_only(checked_columns(entries, WHERE))
        job_id = str(columns["job_id"][0])
        try:
            self.index(job_id, WHERE)
        except InputError:
            count = self.count
        else:
            raise InputError(f"{WHERE}, job_id", "an id that no other job of the run has", job_id)
        if not self._room or count == len(self._room["job_id"]):
            self._room = {
                name: np.concatenate(_alike(column, np.repeat(columns[name], count + 16)))
                for name, column in self.columns.items()
            }
        self.count = count + 1
        for name in self._room:
            column, added = _alike(self._room[name], columns[name])
            self._room[name] = column
            column[count] = added[0]
            shown, rows = self.requests.get(name), column[: self.count]
            rows.flags.writeable = False
            if shown is self.columns[name]:
                dict.__setitem__(self.requests, name, rows)
            elif shown is not None:  # submission times that are found while the run goes on
                dict.__setitem__(self.requests, name, np.append(shown, columns[name]))
            self.columns[name] = rows
        return self.job(self.count - 1)


def _alike(column: npt.NDArray[Any], added: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return both arrays as they are, or both as names if one holds names and the other numbers, as of partitions."""
    if (column.dtype == object) == (added.dtype == object):
        return column, added
    return label_names(column), label_names(added)
