"""What a change of slurm.conf would make, from a log of Slurm and its configuration."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
from typing_extensions import Doc

from analysis.whatif.replayed import (
    CHANGED,
    CONF,
    UNCHANGED,
    WEEK,
    beyond,
    jobs_of,
)
from analysis.whatif.study import Study
from cluster_sim.amounts import duration
from cluster_sim.errors import InputError, ModelWarning, StallWarning, naming
from cluster_sim.files.atomic import atomic_path
from cluster_sim.formats.slurm.conf_changes import LISTS, differences, with_changes, with_nodes, without_people, written
from cluster_sim.formats.slurm.conf_lines import Line, lines_of
from cluster_sim.formats.slurm.sacctmgr import read_accounts
from cluster_sim.formats.slurm.slurm_conf import platform_of, read_for
from cluster_sim.formats.workload_files import is_sacct
from cluster_sim.platform.platform import Platform
from cluster_sim.records.comparison import Difference
from cluster_sim.records.intervals import FEWEST_BLOCKS
from cluster_sim.records.result import Result
from cluster_sim.run.making import try_begin
from cluster_sim.run.simulation import Simulation
from cluster_sim.workload.workload import Workload
from schedulers import make_power_policy, make_scheduler

_MOST_NAMED = 3
_ROUNDING = 0.001
"""The share of time in which more CPUs may be busy than there are: sacct's times are whole seconds."""


def what_if(
    log: str | Path | Workload,
    conf: str | Path,
    folder: str | Path,
    changes: Annotated[
        Sequence[str],
        Doc(
            "set a key of slurm.conf, such as PriorityWeightAge=5000, SchedulerParameters=bf_interval=60 (other options"
            " stay) or PartitionName=batch:MaxTime=1-00:00:00"
        ),
    ] = (),
    *,
    scheduler: Annotated[str | None, Doc("another scheduler, such as easy")] = None,
    nodes: Annotated[str | None, Doc("more nodes or fewer; +10:node07 are like that one")] = None,
    power_policy: Annotated[str | None, Doc("when nodes sleep, such as timeout:600")] = None,
    baseline: Annotated[
        str | None, Doc("scheduler of the unchanged run, by default slurm with the configuration")
    ] = None,
    accounts: Annotated[str | None, Doc("what sacctmgr prints of accounts, for shares and limits")] = None,
    ignore_gpus: bool = False,
    progress: bool = False,
    **reading: Any,
) -> Study:
    """Replay a log under its slurm.conf, and under a changed one, and compare both with each other and with the log.

    Parameters
    ----------
    log : what ``sacct --parsable2`` printed, or a workload that knows when its jobs started. Jobs join the queue when they
        were eligible; ``reading`` are further options of :func:`cluster_sim.formats.slurm.sacct.read`.
    folder : receives ``unchanged/slurm.conf`` and ``changed/slurm.conf``; :meth:`Study.save` adds the rest.
    changes, nodes : see :mod:`cluster_sim.formats.slurm.conf_changes`, ``["PriorityWeightAge=5000"]`` and ``"+10"``.
    scheduler, power_policy : specs of the changed run, where these are what changes.
    baseline : scheduler of the changed run, too, unless ``scheduler`` says otherwise.
    accounts : file that ``sacctmgr -P show assoc`` printed, which every scheduler keeps to.
    ignore_gpus : run jobs that need GPUs as if they needed none.
    progress : show on stderr how far each run is.

    Raises InputError for a change that is none, a log without starts, and one whose partitions the configuration does not have.
    """
    folder = Path(folder)
    lines = {UNCHANGED: lines_of(str(conf))}
    altered = with_changes(lines[UNCHANGED], changes)
    altered = altered if nodes is None else with_nodes(altered, nodes)
    said = [*changes, *(f"{key} {value}" for key, value in
            {"nodes": nodes, "scheduler": scheduler, "power policy": power_policy}.items() if value)]  # fmt: skip
    if said:
        lines[CHANGED] = altered
    unchanged, changed = baseline or "slurm", scheduler or baseline or "slurm"
    told: set[str] = set()
    platforms = {}
    for name, those in lines.items():
        with _once(told, name), read_for([changed if name == CHANGED else unchanged]):
            platforms[name] = platform_of(those, str(conf))
    workload = log if isinstance(log, Workload) else _read(log, reading)
    remarks = _of_log(workload, platforms[UNCHANGED], log, str(conf))
    if ignore_gpus and (asking := workload.gpu_jobs):
        remarks.append(f"{asking:,} of {len(workload):,} jobs need GPUs: they run as if they needed none.")
        workload = workload.without_gpus()
    own = {UNCHANGED: baseline, CHANGED: scheduler or baseline}  # schedulers that are not Slurm's rules
    with naming(accounts):
        shares = None if accounts is None else read_accounts(accounts)
    if workload.aliases:
        lines = {name: without_people(those) for name, those in lines.items()}
        told |= {text for those in lines.values() for text in _said_of(those, str(conf))}
    for spec in filter(None, (scheduler, baseline)):
        make_scheduler(spec)  # an error here is not the configuration's fault
    power = {UNCHANGED: "always-on", CHANGED: power_policy or "always-on"}
    make_power_policy(power[CHANGED])

    def rules(name: str, at: Path) -> str:
        limits = f",accounts={accounts}" if accounts else ""
        return own[name] or f"slurm:conf={at / name / CONF}{limits},epoch={workload.unix_start_time or 0}"

    def simulation(name: str, at: Path, jobs: Workload, explain: bool = True) -> Simulation:
        """Return a run under the configuration in that folder. What its scheduler warns of is told once."""
        with _once(told, name, lambda text: _in_words(text, at / name / CONF, lines[name], str(conf))):
            made = make_scheduler(rules(name, at)), make_power_policy(power[name])
        return Simulation(platforms[name], jobs, *made, accounts=shares if own[name] else None, explain=explain)

    # What is wrong is told before hours of replay, and before anything is overwritten.
    blamed = {UNCHANGED: conf, CHANGED: f"change {changes[0]}" if len(changes) == 1 else "the changed configuration"}
    with TemporaryDirectory() as aside:
        _write(lines, Path(aside))
        for name in platforms:
            with naming(blamed[name]):
                try:
                    try_begin(simulation(name, Path(aside), workload.first(0), explain=False))
                except InputError as error:
                    where = _in_words(error.where, Path(aside) / name / CONF, lines[name], str(conf))
                    raise type(error)(where, error.expected, error.found) from None
    _write(lines, folder)
    runs: dict[str, Result] = {}
    stalls: dict[str, StallWarning] = {}
    for name in platforms:
        with _once(told, name, stalls=stalls):  # remarks say of each run which jobs do not start
            result = simulation(name, folder, workload).run(progress=f"{name} run" if progress else False)
        said_of = {"scheduler": rules(name, folder), "power_policy": power[name]}
        result.meta |= {**said_of, "workload": workload.name, "platform": str(conf)}
        runs[name] = result
    specs = (("scheduler", unchanged, changed), ("power policy", power[UNCHANGED], power[CHANGED]))
    differing = differences(lines[UNCHANGED], lines[CHANGED]) if said else []
    differing += [Difference(what, before, after) for what, before, after in specs if before != after]
    if said and not differing:
        remarks.append(_nothing_differs(changes))
    study = Study(workload, runs, jobs_of(workload, runs), tuple(said), folder, remarks, tuple(differing))
    study.remarks.extend(_of_runs(study, stalls))
    return study


def _read(log: str | Path, reading: Mapping[str, Any]) -> Workload:
    """Return what sacct printed, its jobs as they became eligible. Raises InputError for a log of another format."""
    if os.path.isfile(log) and not is_sacct(os.fspath(log)):
        raise InputError(
            str(log), "what sacct printed (--parsable2, or the same as CSV or Parquet)", "a workload of another format"
        )
    return Workload.read(log, **{"submission": "eligible", **reading})


def _nothing_differs(changes: Sequence[str]) -> str:
    """Say that the configuration says already what a change asks for, and how a list is replaced."""
    whole = [key for each in changes if (key := each.partition("=")[0]).lower() in LISTS]
    more = f" {whole[0]}:=… would replace the whole list." if whole else ""
    return f"The configuration says already what the change asks for: both runs are the same.{more}"


@contextmanager
def _once(
    told: set[str],
    name: str,
    in_words: Callable[[str], str] = str,
    stalls: dict[str, StallWarning] | None = None,
) -> Iterator[None]:
    """Tell what is warned of in here, once, and as ``in_words`` has it.

    Where there are ``stalls``, a stall is noted there by the run's name, and not told.
    """
    noted: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            yield
    finally:
        for warning in (one.message for one in noted if isinstance(one.message, Warning)):
            text = in_words(str(warning))
            if stalls is not None and isinstance(warning, StallWarning):
                stalls[name] = warning
            elif text not in told:
                told.add(text)
                again = copy(warning)
                again.args = (f"changed run: {text}" if name == CHANGED else text,)
                warnings.warn(again, stacklevel=3)


def _in_words(text: str, copy: Path, lines: Sequence[Line], conf: str) -> str:
    """Return a message about a written configuration with the names of the lines that it was written from."""
    named = re.sub(rf"{re.escape(str(copy))} line ([0-9]+)", lambda match: lines[int(match[1]) - 1].place, text)
    return named.replace(str(copy), conf)


def _said_of(lines: Sequence[Line], conf: str) -> set[str]:
    """Return what reading a configuration warns of."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        platform_of(list(lines), conf)
    return {str(warning.message) for warning in noted}


def _write(lines: dict[str, list[Line]], folder: Path) -> None:
    for name, those in lines.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        with atomic_path(folder / name / CONF) as aside:
            aside.write_text(written(those), encoding="utf-8")


def _of_log(workload: Workload, platform: Platform, log: object, conf: str) -> list[str]:
    """Return remarks on the log alone. Raises InputError if it cannot be compared with anything."""
    where = workload.name if isinstance(log, Workload) else str(log)
    known = workload.columns["recorded_wait_time"] >= 0
    if not known.any():
        raise InputError(where, "jobs of which it says when they started (column Start)", f"none of {len(workload):,}")
    remarks = []
    span = float(np.ptp(workload.columns["submit_time"]))
    if max(1, round(span / WEEK)) < FEWEST_BLOCKS:
        remarks.append(
            f"The log covers {duration(span)}: with fewer than {FEWEST_BLOCKS} weeks there are no intervals."
        )
    if not known.all():
        remarks.append(
            f"{int((~known).sum()):,} of {len(workload):,} jobs have no recorded start: they run, and are not compared."
        )
    if platform.slurm is None or not platform.slurm.partitions:
        return remarks
    here = {partition.name for partition in platform.slurm.partitions}
    asked = {
        name
        for each in set(workload.columns["partition"].astype(str))
        for name in each.split(",")
        if name not in ("", "-1")
    }
    if asked and not asked & here:
        raise InputError(conf, f"a partition of the log ({_some(sorted(asked))})", _some(sorted(here)))
    if asked - here:
        remarks.append(f"Partitions of the log that the configuration does not have: {_some(sorted(asked - here))}.")
    return remarks


def _of_runs(study: Study, stalls: Mapping[str, StallWarning]) -> list[str]:
    """Return remarks on what the runs show of themselves and of the log."""
    remarks, jobs = [], study.jobs
    cores = study.cores[UNCHANGED]
    most, seconds = beyond(jobs, cores)
    if seconds > _ROUNDING * float(np.ptp(jobs["submit_time"])):
        told = f"The log has up to {most:,.0f} CPUs busy at once, and for {duration(seconds)} more than the configuration has"
        remarks.append(f"{told}, {cores:,}: is it the log of this machine?")
    for name, result in study.runs.items():
        left = result.jobs[result.jobs["start_time"].isna()]
        if len(left):
            stalled = stalls[name].cause if name in stalls else "the scheduler starts none of them"
            reasons = left["reason"].replace("", stalled).value_counts()
            told = "; ".join(f"{reason} ({count:,})" for reason, count in reasons.head(_MOST_NAMED).items())
            remarks.append(f"{len(left):,} of {len(jobs):,} jobs do not start in the {name} run: {told}.")
        elif name in stalls:
            remarks.append(f"In the {name} run {stalls[name]}.")
    if CHANGED in study.runs:
        apart = jobs[f"{CHANGED}_start"].fillna(-1) != jobs[f"{UNCHANGED}_start"].fillna(-1)
        if not (jobs[f"{CHANGED}_start"] + jobs[f"{UNCHANGED}_start"]).notna().any():
            remarks.append("No job starts in both runs: there is nothing to compare.")
        elif not apart.any():
            remarks.append("The change makes no difference: every job starts at the same time in both runs.")
    for remark in remarks:
        warnings.warn(remark, ModelWarning, stacklevel=3)
    spec = study.runs[UNCHANGED].meta["scheduler"]
    if not spec.startswith("slurm"):  # else reading the configuration has warned of what is ignored
        remarks.append(
            f"The unchanged run is under {spec} and not under Slurm's rules: of slurm.conf it follows the nodes, and no"
            " priorities, partitions or limits of partitions."
        )
    return remarks


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (
        f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    )
