"""Published logs of clusters with GPUs, told by their columns: Helios, PM100, Eagle, Philly, and Tiresias's lists of jobs.

| log | file | source of the columns |
|---|---|---|
| Helios | ``cluster_log.csv`` | README of S-Lab-System-Group/HeliosData (Hu et al., SC 2021) |
| PM100 | ``job_table.parquet`` | documentation/job_features.md of francescoantici/PM100-data (Antici et al., SC-W 2023) |
| Eagle | CSV or Parquet | sample of NREL/eagle-jobs (Menear et al., PEARC 2023) |
| Philly | ``cluster_job_log``, JSON | README of msr-fiddle/philly-traces (Jeon et al., ATC 2019) |
| Tiresias | CSV | lists of jobs of SymbioticLab/Tiresias (Gu et al., NSDI 2019) |

The first job is submitted at 0 s. Clocks without a zone are read as if they had none: an hour that they skip counts.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cluster_sim.errors import FormatError, ModelWarning, counted, warn_user
from cluster_sim.extras import needed
from cluster_sim.files.documents import parse_json
from cluster_sim.files.reading import read_bytes, read_text
from cluster_sim.formats.slurm.sacct_columns import STATUS
from cluster_sim.workload.fields import UNKNOWN
from cluster_sim.workload.job_table import Columns, shift
from cluster_sim.workload.workload import Workload

CLOCK, SECONDS, MINUTES, COUNT = "a date and time", "seconds", "minutes", "a whole number"
_SCALES = {SECONDS: 1.0, MINUTES: 60.0, COUNT: 1.0}
_OUTCOMES = {"PASS": 1, "KILLED": 5, **STATUS}
_NOTHING = ("", "none", "nan", "nat", "null", "unlimited", "infinite", "inf")


class GpuLog(NamedTuple):
    """Columns of a published log: the job schema's field, and what each is a number of; texts as they are."""

    name: str
    numbers: Mapping[str, tuple[str, str]]
    texts: Mapping[str, str]
    start: str = ""  #: When the job started, from which its wait follows.
    state: str = ""

    @property
    def columns(self) -> set[str]:
        """Return all columns that are read."""
        return {*self.numbers, *self.texts, self.start, self.state} - {""}


_PM100_TEXTS = {"job_id": "job_id", "user_id": "user", "group_id": "group", "partition": "partition", "qos": "qos"}


def _pm100(cores: str) -> GpuLog:
    numbers = {
        "submit_time": ("submit_time", CLOCK),
        "run_time": ("recorded_run_time", SECONDS),
        "time_limit": ("requested_time", MINUTES),
        cores: ("requested_cores", COUNT),
        "num_nodes_req": ("nodes", COUNT),
        "num_gpus_req": ("gpus", COUNT),
    }
    return GpuLog("PM100", numbers, _PM100_TEXTS, "start_time", "job_state")


TIRESIAS = GpuLog(
    "Tiresias",
    {
        "submit_time": ("submit_time", SECONDS),
        "duration": ("recorded_run_time", SECONDS),
        "num_gpu": ("gpus", COUNT),
    },
    {"job_id": "job_id", "model_name": "profile"},
)
PHILLY = GpuLog(
    "Philly",
    {
        "submitted_time": ("submit_time", CLOCK),
        "run_time": ("recorded_run_time", SECONDS),
        "gpus": ("gpus", COUNT),
        "machines": ("nodes", COUNT),
    },
    {"jobid": "job_id", "user": "user", "vc": "partition"},
    "start_time",
    "status",
)
LOGS = (
    GpuLog(
        "Helios",
        {
            "submit_time": ("submit_time", CLOCK),
            "duration": ("recorded_run_time", SECONDS),
            "cpu_num": ("requested_cores", COUNT),
            "node_num": ("nodes", COUNT),
            "gpu_num": ("gpus", COUNT),
        },
        {"job_id": "job_id", "user": "user", "vc": "partition"},
        "start_time",
        "state",
    ),
    GpuLog(
        "Eagle",
        {
            "submit_time": ("submit_time", CLOCK),
            "run_time": ("recorded_run_time", SECONDS),
            "wallclock_req": ("requested_time", SECONDS),
            "processors_req": ("requested_cores", COUNT),
            "nodes_req": ("nodes", COUNT),
            "gpus_req": ("gpus", COUNT),
        },
        {name: name for name in ("job_id", "user", "account", "partition", "qos")},
        "start_time",
        "state",
    ),
    _pm100("num_cores_req"),
    _pm100("num_cpus_req"),
    TIRESIAS,
)


def log_of(columns: Iterable[str]) -> GpuLog | None:
    """Return the log that has these columns; None: they are none's."""
    there = set(columns)
    return next((log for log in LOGS if log.numbers.keys() | {"job_id"} <= there), None)


def is_gpu_log(path: str, beginning: bytes) -> bool:
    """Return whether a file is one of these logs, by its beginning or, if it is Parquet, by its columns."""
    if beginning.startswith(b"PAR1"):
        with needed(path, "pyarrow"):
            import pyarrow
        try:
            return log_of(_parquet_columns(read_bytes(path))) is not None
        except pyarrow.ArrowException:
            return False
    if beginning.lstrip().startswith(b"["):
        return all(key in beginning for key in (b'"jobid"', b'"attempts"'))
    header = beginning.partition(b"\n")[0].decode(errors="replace")
    return log_of(name.strip() for name in header.split(",")) is not None


def read(path: str) -> Workload:
    """Read a log, gzipped or not. Warns (ModelWarning) in one line of jobs left out, and of what is assumed or not read.

    Raises FormatError naming the row and the column of a value that cannot be read.
    """
    log, table, unread, what = _table(path)
    unread = [name for name in unread if name != "end_time"]

    def place(row: int) -> str:
        return f"{path} {what} {row + (2 if what == 'line' else 1):,}"

    columns = {field: _numbers(table[name], kind, place) for name, (field, kind) in log.numbers.items()}
    run, parts = columns["recorded_run_time"], []
    if "requested_cores" not in columns:
        columns["requested_cores"] = np.maximum(np.nan_to_num(columns["gpus"]), 1)
        parts.append("assumed: a core beside each GPU")
    kept = np.ones(len(table), bool)
    left_out = []
    for name, missing in {
        "without a submission": np.isnan(columns["submit_time"]),
        "without a run time": np.isnan(run),
        "without cores": ~(columns["requested_cores"] > 0),
    }.items():
        if (missing & kept).any():
            left_out.append(f"{int((missing & kept).sum()):,} {name}")
        kept &= ~missing
    if not kept.any():
        raise FormatError(path, "at least one job that can be simulated", f"{counted(len(table), 'job')}")
    limit = columns.get("requested_time", np.full(len(table), math.nan))
    cores = columns["requested_cores"]
    columns["requested_time"] = np.where(limit > 0, limit, run)
    columns["gpus"] = np.nan_to_num(columns["gpus"])
    nodes = np.nan_to_num(columns.get("nodes", np.zeros(len(table))))
    columns["nodes"] = np.where(
        nodes > 1, np.minimum(nodes, cores), 0
    )  # one is what is written of jobs that do not care
    chosen: Columns = {field: values[kept] for field, values in columns.items()}
    chosen["requested_time_assumed"] = ~(limit > 0)[kept]
    chosen["requested_cores_assumed"] = np.full(int(kept.sum()), log in (TIRESIAS, PHILLY))
    if log.start and log.start in table:
        wait = _numbers(table[log.start], CLOCK, place) - columns["submit_time"]
        chosen["recorded_wait_time"] = np.where(wait >= 0, wait, UNKNOWN)[kept]
    if log.state and log.state in table:
        states = table[log.state].str.upper().map(lambda state: _OUTCOMES.get(state.partition(" ")[0], UNKNOWN))
        chosen["status"] = states.to_numpy()[kept]
    for name, field in log.texts.items():
        if name in table:
            chosen[field] = table[name].to_numpy(dtype=object)[kept]
    parts += [f"{len(table) - int(kept.sum()):,} of {len(table):,} jobs left out: {', '.join(left_out)}"] * bool(
        left_out
    )
    parts += [f"not read: {', '.join(unread)}"] * bool(unread)
    if parts:
        warn_user(ModelWarning(f"{path}, log of {log.name}: {'; '.join(parts)}"))
    shift(chosen, float(chosen["submit_time"].min()))
    rows = np.flatnonzero(kept)
    name = PurePath(path.removesuffix(".gz")).stem
    return Workload(chosen, name=name, locate=lambda row: place(int(rows[row])))


def _table(path: str) -> tuple[GpuLog, pd.DataFrame, list[str], str]:
    """Return which log a file is, the columns that are read as texts, the names of the others, and what a row is called."""
    content = read_bytes(path).lstrip(b"\xef\xbb\xbf \t\r\n")
    if content.startswith(b"["):
        return PHILLY, _philly(path), [], "job"
    try:
        if content.startswith(b"PAR1"):
            names = _parquet_columns(content)
            log = _log(path, names)
            frame = pd.read_parquet(io.BytesIO(content), columns=[name for name in names if name in log.columns])
            return log, frame.astype(str), sorted({*names} - log.columns), "row"
        frame = pd.read_csv(io.StringIO(read_text(path)), dtype=str, keep_default_na=False, skipinitialspace=True)
    except (ValueError, pd.errors.ParserError) as error:
        raise FormatError(path, "a table of jobs", str(error).strip()) from None
    frame.columns = pd.Index([str(name).strip() for name in frame.columns])
    log = _log(path, frame.columns)
    return log, frame, sorted({*map(str, frame.columns)} - log.columns), "line"


def _parquet_columns(content: bytes) -> list[str]:
    import pyarrow.parquet

    return [str(name) for name in pyarrow.parquet.read_schema(io.BytesIO(content)).names]


def _log(path: str, names: Iterable[str]) -> GpuLog:
    log = log_of(names)
    if log is None:
        raise FormatError(path, f"the columns of a log of {', '.join(log.name for log in LOGS)}", ", ".join(names))
    return log


def _numbers(column: pd.Series[Any], kind: str, place: Callable[[int], str]) -> np.ndarray:
    """Return a column as numbers, NaN where it says nothing."""
    texts = column.str.strip()
    says = ~texts.str.lower().isin(_NOTHING)
    said = texts.where(says)
    if kind == CLOCK:
        times = pd.to_datetime(said, errors="coerce", utc=True, format="ISO8601")
        values = ((times - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)).to_numpy(dtype=float)
        wrong = np.isnan(values)
    else:
        values = pd.to_numeric(said, errors="coerce").to_numpy(dtype=float) * _SCALES[kind]
        wrong = ~((values >= 0.0) & (values < math.inf)) | (kind == COUNT) & (values != np.floor(values))
    wrong &= says.to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        expected = kind if kind == CLOCK else f"{kind}, 0 or more"
        raise FormatError(f"{place(row)}, {column.name}", expected, texts.iloc[row])
    return values


def _philly(path: str) -> pd.DataFrame:
    """Return the jobs of Philly's JSON, each with the time of all its attempts and the GPUs of the last."""
    jobs = parse_json(path, read_text(path))
    rows = []
    for number, job in enumerate(jobs if isinstance(jobs, list) else [], 1):
        try:
            seconds, last = _attempts(job["attempts"])
            row = {"submitted_time": job["submitted_time"], "run_time": seconds}
            row |= {"gpus": sum(len(one["gpus"]) for one in last), "machines": len(last)}
            row |= {"start_time": job["attempts"][0]["start_time"] if job["attempts"] else ""}
            row |= {name: job[name] for name in ("jobid", "user", "vc", "status")}
        except (KeyError, TypeError, ValueError) as error:
            found = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise FormatError(f"{path} job {number:,}", "a job as in Philly's cluster_job_log", found) from None
        rows.append({name: "" if value is None else str(value) for name, value in row.items()})
    if not rows:
        raise FormatError(path, "a list of jobs as in Philly's cluster_job_log", "none")
    return pd.DataFrame(rows)


def _attempts(attempts: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """Return how long all attempts that have both times took, s ("": none has), and the machines of the last of them."""
    seconds, machines = 0.0, None
    for attempt in attempts:
        start, end = (str(attempt[name]) for name in ("start_time", "end_time"))
        if start.lower() not in _NOTHING and end.lower() not in _NOTHING:
            seconds += (pd.Timestamp(end) - pd.Timestamp(start)).total_seconds()
            machines = attempt["detail"]
    return ("", []) if machines is None else (repr(seconds), machines)
