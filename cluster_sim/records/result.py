"""The result of a run: its tables, its summary, and its files."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol

import numpy as np
import pandas as pd

from cluster_sim.errors import CautionWarning, FormatError, InputError, ModelWarning, counted, few, warn_user
from cluster_sim.extras import made_with
from cluster_sim.files.atomic import atomic_files, remove_leftovers
from cluster_sim.files.csv import quoting_for, write_parts
from cluster_sim.files.folders import held
from cluster_sim.files.reading import read_own_json
from cluster_sim.files.source import running_no_new_files
from cluster_sim.machine.reason import Reason, as_reason
from cluster_sim.packages import sibling
from cluster_sim.platform.platform import Platform
from cluster_sim.records.assumptions import kind_of
from cluster_sim.records.attempt_tables import attempts_tell_more
from cluster_sim.records.cautions import Cautions
from cluster_sim.records.reasons.spells import Spell, Spells, spells
from cluster_sim.records.run_tables import RunTables
from cluster_sim.records.saved_checks import check_said, check_summary
from cluster_sim.records.saved_tables import CONDITIONS_FILE, SUMMARY_FILE, SavedTables, seal_of
from cluster_sim.records.summary import queue_steps, waits_again
from cluster_sim.registry import describe
from cluster_sim.run.settings import SETTINGS
from cluster_sim.spelling import UnknownKeys, guessed, nearest
from cluster_sim.workload.fields import GPU_METRICS, RESULT_TABLES, SUMMARY_METRICS, names

if TYPE_CHECKING:
    from cluster_sim.machine.placement import Span
    from cluster_sim.records.contracts import RecordedRun, RunRecords
    from cluster_sim.records.core_holds import CoreHolds
    from cluster_sim.records.reasons.conditions import Conditions
    from cluster_sim.records.reasons.waiting import WaitReasons

FileFormat = Literal["csv", "parquet"]
Written = tuple[Iterable[pd.DataFrame], pd.DataFrame]
"""The parts of a table that is written, and the one that has its texts."""
PLATFORM_FILE = "platform.json"
ASSUMPTIONS = "assumptions"
_CAUTIONS = (ASSUMPTIONS, "left_out", "happened")
"""The keys of summary.json that hold the cautions."""
_TABLE_FILES = frozenset(
    f"{name}.{suffix}"
    for name in RESULT_TABLES
    if name not in ("allocations", "queue", "gpus")
    for suffix in ("csv", "parquet")
)
_METRICS = frozenset(names((*SUMMARY_METRICS, *GPU_METRICS)))
_RECORDED = [
    (f"{name}_{it.option.unit}" if it.option.unit else name, it) for name, it in SETTINGS.items() if it.recorded
]
_SPECS = [(key, setting) for key, setting in _RECORDED if setting.is_spec]
_OTHERS = [(key, setting) for key, setting in _RECORDED if not setting.is_spec]
_SAID = (
    "version made_with platform workload origin_s start_date keeps_accounts command inputs shaken_s seed scheduler".split()
    + [key for key, _ in _RECORDED]
)
"""Other keys of summary.json."""
_NAMED = 4
"""Number of runs, or metrics, that a message names if one of several is to be chosen."""


class Summary(pd.Series):
    """Metrics by name. A name that is not there is told with the nearest one."""

    @property
    def _constructor(self) -> type[pd.Series]:
        return pd.Series

    def __getitem__(self, key: Any) -> Any:
        """Return the value of a metric, or several of them. Raises KeyError, with the nearest name."""
        if isinstance(key, str) and key not in self.index:
            raise KeyError(f"{key}: expected {nearest(key, list(self.index))}")
        return super().__getitem__(key)


class Tables(Protocol):
    """Source of a result's tables: a run, or the files of one."""

    def jobs(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    def core_holds(self) -> CoreHolds:
        """See the property of that name of Result."""
        ...

    def attempts(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    def stages(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    def resource_holds(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    def gpus(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    def node_states(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    def node_states_in_parts(self) -> Iterator[pd.DataFrame]:
        """Return the table of node states for some of the nodes at a time."""
        ...

    def off_states(self, result: RunRecords) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    def nodes(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    def power(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    def p_states(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    def decisions(self) -> pd.DataFrame:
        """See the property of that name of Result."""
        ...

    def decision_spans(self) -> Sequence[tuple[Span, ...]]:
        """See the property of that name of Result."""
        ...

    def conditions(self) -> Conditions | None:
        """See the property of that name of Result."""
        ...

    def summary(self, result: RunRecords) -> dict[str, Any]:
        """See the property of that name of Result."""
        ...

    def assumptions(self, result: RunRecords) -> list[str]:
        """See the property of that name of Result."""
        ...


_INSTEAD = {
    **dict.fromkeys(("plot", "show", "gantt"), "analysis.gantt(result).show()"),
    **dict.fromkeys(("to_csv", "write"), "save(folder), or jobs.to_csv(path)"),
    "describe": "summary()",
}
"""Names that people guess, and what to use instead."""


class Result:
    """The records of a run: pandas DataFrames with the columns of ``cluster_sim.workload.fields``; times in s.

    ``jobs`` has one row per job of the workload, in order of submission; ``allocations`` one per job, processor and run
    of neighbouring cores; ``node_states`` one per node and interval; ``nodes`` one per node; ``power`` and ``queue`` are
    step functions.
    ``meta`` says what was run: scheduler, models, seed, version and so on.
    """

    def __init__(self, platform: Platform, meta: dict[str, Any], tables: Tables):
        self.platform = platform
        self.meta = meta
        self._tables = tables

    @classmethod
    def of(cls, simulation: RecordedRun) -> Result:
        """Make the result of a simulation as it stands."""
        from cluster_sim import __version__

        start = simulation.workload.start_date
        meta = {
            "version": __version__,
            "made_with": made_with(),
            **_recorded(simulation, specs=True),
            "platform": simulation.platform.id,
            "workload": simulation.workload.name,
            "origin_s": simulation.workload.origin_s,
            **({} if start is None else {"start_date": start.isoformat()}),
            **({} if simulation.accounts is None else {"keeps_accounts": True}),
            **_recorded(simulation, specs=False),
        }
        return cls(simulation.platform, meta, RunTables(simulation))

    # ------------------------------------------------------------------ tables

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """Return one row per job: times, state, cores, metrics, energy."""
        return self._tables.jobs()

    @cached_property
    def core_holds(self) -> CoreHolds:
        """Return who held which cores in numbers: ``allocations``, ``holds`` and the charts are made from it."""
        return self._tables.core_holds()

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """Return which cores each job's tasks used, from when to when; jobs in the order of ``jobs``."""
        return self.core_holds.allocation_table(self.platform)

    @cached_property
    def holds(self) -> pd.DataFrame:
        """Return who held which cores, jobs and guests, from when to when, booting included; in order of time."""
        return self.core_holds.hold_table(self.platform)

    @cached_property
    def attempts(self) -> pd.DataFrame:
        """Return one row per attempt of a job: when it joined the queue, got its cores, began and ended, and how."""
        return self._tables.attempts()

    @cached_property
    def stages(self) -> pd.DataFrame:
        """Return checkpoints, restarts and changes of cores that are over; no rows if jobs only did their work."""
        return self._tables.stages()

    @cached_property
    def resource_holds(self) -> pd.DataFrame:
        """Return which GPUs, other counted units and licences jobs held, from when to when; in order of time."""
        return self._tables.resource_holds()

    @cached_property
    def gpus(self) -> pd.DataFrame:
        """Return how many GPUs were held, free, stranded and fragmented, as a step function; no rows without GPUs."""
        return self._tables.gpus()

    @cached_property
    def spells(self) -> dict[int, list[Spell]]:
        """Return the pieces in which jobs ran, by their rows in ``jobs``; only of jobs that got cores again."""
        return self.all_spells.ran

    @cached_property
    def all_spells(self) -> Spells:
        """Return all spells, also those after which jobs were suspended while their nodes still booted."""
        cores = self.core_holds
        to_the_end = self.attempts["end_time"] == self.attempts["over_time"]  # not suspended, and not open
        if not (cores.has_changes or (cores.attempt > 1).any() or not to_the_end.all()):
            return Spells({}, {})
        return spells(cores, self.attempts, float(self.power["time"].iloc[-1]))

    @cached_property
    def node_states(self) -> pd.DataFrame:
        """Return the states of each node, without gaps."""
        return self._tables.node_states()

    @cached_property
    def off_states(self) -> pd.DataFrame:
        """Return the rows of ``node_states`` of nodes neither idle nor computing; much faster than all of them."""
        return self._tables.off_states(self)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """Return one row per node: seconds and joules in each state, energy waste, switches and on-off cycles."""
        return self._tables.nodes()

    @cached_property
    def power(self) -> pd.DataFrame:
        """Return the power of the whole platform as a step function; the last row closes it."""
        return self._tables.power()

    @cached_property
    def queue(self) -> pd.DataFrame:
        """Return jobs that wait, and the cores they ask for, as a step function."""
        absences = () if self.conditions is None else self.conditions.absences
        steps = pd.DataFrame(queue_steps(self.jobs, waits_again(self.jobs, self.attempts, absences))._asdict())
        seen: pd.DataFrame = steps[steps["time"] <= self.power["time"].iloc[-1]]  # not what would come after the end
        return seen

    @cached_property
    def p_states(self) -> pd.DataFrame:
        """Return clocks of processors that have p-states or changed clocks (``cluster_sim.workload.fields``)."""
        return self._tables.p_states()

    @cached_property
    def decisions(self) -> pd.DataFrame:
        """Return what the scheduler decided and why; empty unless the simulation was made with ``explain=True``."""
        return self._tables.decisions()

    @cached_property
    def decision_spans(self) -> Sequence[tuple[Span, ...]]:
        """Return where each row of ``decisions`` puts its job: (first node, node after the last, cores on each) …, by index."""
        return self._tables.decision_spans()

    @cached_property
    def decision_reasons(self) -> Sequence[Reason]:
        """Return the reason of each row of ``decisions`` as data; where a result kept words only, one that has these.

        Of a job that lacks something it is the kind alone: how much there was, ``because`` tells.
        """
        texts, conditions = self.decisions["because"].tolist(), self.conditions
        if conditions is None or not conditions.log:
            return [as_reason(text) for text in texts]
        if len(conditions.log) != len(texts):
            expected = f"{len(texts)} numbers, one for each row of the table of decisions"
            raise FormatError("conditions.json, log", expected, len(conditions.log))
        return [conditions.reasons[number] for number in conditions.log]

    @cached_property
    def conditions(self) -> Conditions | None:
        """Return what beside free cores decided whether jobs could start; None: of another program's run."""
        return self._tables.conditions()

    @cached_property
    def waits(self) -> WaitReasons:
        """Return why jobs waited, at any time."""
        from cluster_sim.records.reasons.waiting import WaitReasons

        return WaitReasons(self)

    def explain(self, job_id: str) -> str:
        """Say why a job waited and for how long, what started it, where it ran and how it ended.

        While too few cores were free for it, that is the reason; while there were enough, its scheduler knows it, if the
        run kept a log of decisions. Raises InputError for a job that the run does not have.
        """
        from cluster_sim.records.reasons.explanation import explain

        return explain(self, job_id)

    def blocking_chain(self, job_id: str) -> pd.DataFrame:
        """Return the jobs whose ends a job waited for, one after the other, the earliest first: the critical path of its wait.

        The last one ended, or gave cores back, when the job got its cores. The one before it did so when the last one got
        its own, and so on back to the submission of the job. Of several that ended in one instant it is the one that left
        most cores to the next. ``of_wait_s`` is how much of the wait each took. They add up to the wait, unless the first
        of the chain began while the job waited already, without having waited for an end itself: it came later, or what
        it waited for was a node or a promised time. Of several attempts it is the last. Columns: job_id, user, cores,
        start and end (s), of_wait_s. Raises InputError for a job that the run does not have, or that never got cores.
        """
        from cluster_sim.records.reasons.chain import blocking_chain

        return blocking_chain(self, job_id)

    def free_by_switch(self) -> pd.DataFrame:
        """Return the leftover capacity by rack: what was free under each leaf switch, as a step function.

        Columns: time (s), switch, free_cores, and free_nodes, of which no core is held; a row where a leaf's numbers change.
        Nodes count that are on, or off and could be booted. Without a topology all nodes hang on one switch.
        """
        from cluster_sim.records.reasons.free_by_switch import free_by_switch

        return free_by_switch(self)

    @cached_property
    def cautions(self) -> Cautions:
        """Return what to know before believing the result: what was assumed, what was left out, what happened."""
        return Cautions.of_lines(self._caution_lines, self.jobs)

    @cached_property
    def _caution_lines(self) -> list[str]:
        """Return what the run assumed and refused, a line for each kind (:mod:`cluster_sim.records.assumptions`)."""
        return self._tables.assumptions(self)

    def warn_of_cautions(self, told: set[str]) -> None:
        """Warn (CautionWarning) of what was assumed and refused, but for the kinds in ``told``, and add these to it."""
        for line in self._caution_lines:
            if kind_of(line) not in told:
                told.add(kind_of(line))
                warn_user(CautionWarning(line))

    @property
    def assumptions(self) -> list[str]:
        """Return what the run assumed where its inputs say nothing, a line for each kind of thing, with how often.

        Requested times and watts that are missing, nodes that switch at no cost, and so on. Empty when nothing was assumed.
        """
        return list(self.cautions.assumed)

    def jobs_with_allocation(self) -> pd.DataFrame:
        """Return ``jobs`` with the column ``allocation`` of the last attempt: ``cluster0.node1.processor0:0-3;…``."""
        return pd.concat(self._jobs_in_parts())

    def _jobs_in_parts(self) -> Iterator[pd.DataFrame]:
        """Yield the table of jobs, some rows at a time: the texts of a million jobs' cores take gigabytes."""
        for rows, texts in self.core_holds.texts_in_parts(self.platform):
            yield self.jobs.iloc[rows].assign(allocation=texts)

    def summary(self) -> pd.Series:
        """Return the metrics as numbers, units in their names (``cluster_sim.workload.fields.SUMMARY_METRICS``).

        NaN where there is no value, such as a mean over no jobs.
        """
        numbers = {name: math.nan if value is None else float(value) for name, value in self._summary.items()}
        return Summary(numbers, name=str(self.meta.get("scheduler", "")), dtype=np.float64)

    @property
    def metrics(self) -> dict[str, Any]:
        """Return the metrics as ``summary.json`` has them: counts as whole numbers, None where there is no value."""
        return dict(self._summary)

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return self._tables.summary(self)

    # ------------------------------------------------------------------ files

    def save(self, directory: str | Path, file_format: FileFormat = "csv") -> None:
        """Write summary.json, the platform, and jobs, nodes, node_states and power as CSV (or parquet) into ``directory``.

        Other tables are written if they say something: decisions (the run kept a log of them), p_states (processors have
        some), stages (jobs did more than their work), attempts (one ended early), holds (a job got cores again, or a guest
        held some), and resource_holds (jobs had GPUs or other counted resources).

        An older result is replaced when all files of this one are written. Meanwhile there is no summary.json, so that a
        folder with one holds a single run whenever the program is killed. Raises InputError while another program writes
        there.
        """
        if file_format not in ("csv", "parquet"):
            raise InputError("Result.save, file_format", "csv or parquet", file_format)
        directory = Path(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise InputError(directory, "a directory for the results", "a file") from None
        tables: dict[str, Written] = {
            "jobs": (self._jobs_in_parts(), self.jobs),
            "nodes": ([self.nodes], self.nodes),
            "node_states": (self._tables.node_states_in_parts(), self.nodes),
            "power": ([self.power], self.power),
        }
        optional = {
            "decisions": len(self.decisions),
            "p_states": len(self.p_states),
            "stages": len(self.stages),
            "attempts": attempts_tell_more(self.attempts),
            # A job that is suspended to the end had its cores only once.
            "holds": self.core_holds.tells_more or any(self.all_spells),
            "resource_holds": len(self.resource_holds),
        }
        # Optional tables are written only if they add something to the others.
        tables |= {name: ([getattr(self, name)], getattr(self, name)) for name, more in optional.items() if more}
        with held(directory):
            remove_leftovers(directory, {*_TABLE_FILES, CONDITIONS_FILE, PLATFORM_FILE, SUMMARY_FILE})
            self._write(directory, tables, file_format)

    def _write(self, directory: Path, tables: dict[str, Written], file_format: FileFormat) -> None:
        from cluster_sim.formats.native_platform import native_bytes

        cautions = self.cautions
        saved_cautions = {
            ASSUMPTIONS: list(cautions.assumed),
            "left_out": list(cautions.left_out),
            "happened": list(cautions.happened),
        }
        summary = json.dumps({**self._summary, **self.meta, **saved_cautions}, indent=2, default=_plain) + "\n"
        with atomic_files(directory / SUMMARY_FILE) as aside:
            aside(directory / SUMMARY_FILE).write_text(summary)
            aside(directory / PLATFORM_FILE).write_bytes(native_bytes(self.platform, PLATFORM_FILE))
            if self.conditions:
                text = json.dumps(self.conditions.document(), separators=(",", ":"))
                aside(directory / CONDITIONS_FILE).write_text(f"{text}\n")
            for name, (parts, texts) in tables.items():
                path = aside(directory / f"{name}.{file_format}")
                if file_format == "parquet":
                    pd.concat(parts, ignore_index=True).to_parquet(path, index=False, compression="zstd")
                else:
                    write_parts(path, parts, quoting_for(texts))
            (directory / SUMMARY_FILE).unlink(missing_ok=True)
            # Tables of another run, or in the other format, would be read instead.
            others = _TABLE_FILES - {f"{name}.{file_format}" for name in tables}
            for other in others if self.conditions else {*others, CONDITIONS_FILE}:
                (directory / other).unlink(missing_ok=True)

    @classmethod
    def load(cls, directory: str | Path) -> Result:
        """Read what :meth:`save` wrote, or what Batsim did. Raises FormatError naming the file that is missing or wrong.

        The summary and the table of jobs are checked at once, every other table when it is first asked for.

        A file of jobs, as Batsim and evalys write it, or the prefix of Batsim's files, stands for them: ``out_jobs.csv``
        or ``out`` (:func:`cluster_sim.formats.batsim_import.read_outputs`).
        """
        directory = Path(directory)
        if not os.path.isdir(directory):
            batsim = sibling("cluster_sim.formats.batsim_import")
            if batsim.is_batsim_result(directory):
                result: Result = batsim.read_outputs(directory)
                return result
            if os.path.exists(directory):
                expected = "the folder of a run, or a table with Batsim's columns (job_id, allocated_resources, …)"
                raise FormatError(directory, expected, "a file of something else")
        seal = seal_of(directory)  # before anything is read
        _refuse_several(directory)
        content = read_own_json(directory / SUMMARY_FILE, "the results of a run")
        for key, value in content.items():
            if isinstance(value, int) and abs(value) > sys.float_info.max:
                raise FormatError(
                    f"{directory / SUMMARY_FILE}, {key}", "a number that a float can hold", "a larger one"
                )
        with running_no_new_files():
            platform = Platform.read(directory / PLATFORM_FILE)
        keys = UnknownKeys(directory / SUMMARY_FILE)
        keys.look(content, (*_METRICS, *_SAID, *_CAUTIONS), "the file", takes_others=True)
        keys.tell()
        if lost := [name for name in names(SUMMARY_METRICS) if name not in content]:
            text = f"no value of {few(lost, _NAMED)}: an older version wrote it, or it was changed"
            warn_user(ModelWarning(f"{directory / SUMMARY_FILE}: {text}"))
        metrics = {key: value for key, value in content.items() if key in _METRICS}
        lines = {key: content.pop(key, []) for key in _CAUTIONS}  # an older summary may have none
        for key, texts in lines.items():
            if not (isinstance(texts, list) and all(isinstance(line, str) for line in texts)):
                raise FormatError(f"{directory / SUMMARY_FILE}, {key}", "a list of texts", texts)
        tables = SavedTables(directory, metrics, platform, seal, lines[ASSUMPTIONS])
        tables.check_unchanged()
        meta = {key: value for key, value in content.items() if key not in _METRICS}
        result = cls(platform, meta, tables)
        check_said(meta, directory / SUMMARY_FILE)
        check_summary(metrics, directory / SUMMARY_FILE, result.jobs)
        result.cautions = result.cautions.leaving_out(lines["left_out"])
        return result

    def _repr_html_(self) -> str:
        """Show the chart, the metrics that matter most, and the cautions."""
        shown = sibling("analysis.gantt_chart.notebook").small_chart_and_metrics(self)
        return f"<p>{escape(repr(self))}</p>{shown}{self.cautions._repr_html_()}"

    if not TYPE_CHECKING:  # who are to go on knowing what there is

        def __getattr__(self, name: str) -> NoReturn:
            raise guessed(self, name, _INSTEAD)

    def __repr__(self) -> str:
        cautions = f", {counted(len(self.cautions), 'caution')}" if self.cautions else ""
        jobs = counted(len(self.jobs), "job")
        return f"<Result of {self.meta.get('scheduler')} on {self.meta.get('workload')!r}: {jobs}{cautions}>"


def _refuse_several(directory: Path) -> None:
    """Raise FormatError for the folder of several runs, as ``compare`` leaves it, naming theirs."""
    if (directory / SUMMARY_FILE).exists():
        return
    runs = [str(path.parent) for depth in ("*", "*/*") for path in sorted(directory.glob(f"{depth}/{SUMMARY_FILE}"))]
    if runs:
        more = f" and {len(runs) - _NAMED} more" if len(runs) > _NAMED else ""
        expected = f"the folder of one run (the runs are in {', '.join(runs[:_NAMED])}{more})"
        raise FormatError(directory, expected, "one of several")


def _recorded(simulation: RecordedRun, specs: bool) -> dict[str, Any]:
    """Return the settings that are kept: those that name policies and models, or the others, with their units."""
    found: dict[str, Any] = {}
    for key, setting in _SPECS if specs else _OTHERS:
        value = getattr(simulation, setting.recorded)
        if specs:
            value = "none" if value is None else str(getattr(value, "spec", "")) or describe(value)
        found[key] = sorted(value) if isinstance(value, frozenset) else value
    return found


def _plain(value: Any) -> Any:
    """Return a scalar of numpy as JSON knows it."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
