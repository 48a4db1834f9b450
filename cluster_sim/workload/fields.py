"""Every column and metric of the toolkit, once: name, type, unit, default, meaning.

Readers, checks, writers, axis titles and the manual all take names and units from these tables.
``python -m cluster_sim.workload.fields`` prints the manual's page on the job columns (``docs/reference/job-schema.md``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["float", "int", "bool", "str"]


class _Required:
    """The default of a column that has none."""

    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()
UNKNOWN = -1  # how the Standard Workload Format writes what was not recorded


LONGEST_S = 1e18
"""Latest submission and longest run time, s: the makespan of several hundred such jobs can still be written.

Makespans reach 5e20 s, and tests of Batsim submit at 1e17 s.
"""
MOST_OPERATIONS = 1e30
SLOWEST_GFLOPS, FASTEST_GFLOPS = 1e-9, 1e12
"""Bounds of a task's work and of a core's rate: no machine is beyond them, and larger numbers overflow."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column or a metric.

    ``unit`` is a symbol ("s", "J", "MB", …) or "" for counts, ratios and text; a column in "s" is a time and is
    converted when a file counts in another unit. ``default`` fills the column where a table leaves it out; an infinite
    or NaN default is also the only non-finite value that the column may hold. ``allowed`` bounds a number: "> 0",
    ">= 0", ">= 1" or "" for any; ``most`` is the largest that it may be.
    """

    name: str
    kind: Kind
    unit: str
    meaning: str
    default: object = REQUIRED
    allowed: Literal["", "> 0", ">= 0", ">= 1"] = ""
    most: float = math.inf
    or_name: bool = False  #: Whole numbers where every row has one, as in SWF; text where some have names, as in Slurm.

    @property
    def range_text(self) -> str:
        """Return what ``allowed`` and ``most`` say, in words; empty for any number."""
        return ", ".join(
            filter(None, (self.allowed, f"at most {self.most:g}".replace("+", "") if self.most < math.inf else ""))
        )

    @property
    def label(self) -> str:
        """Name for people, with the unit: ``wait time [s]``."""
        words = self.name.replace("_", " ")
        return f"{words} [{self.unit}]" if self.unit else words


# The native job schema: one row of ``Workload.jobs``.
JOB_FIELDS: tuple[Field, ...] = (
    Field("job_id", "str", "", "the input's own id, else the job's position from 0; unique"),
    Field("submit_time", "float", "s", "submission, on the run's clock", allowed=">= 0", most=LONGEST_S),
    Field("requested_cores", "int", "", "tasks of the job; each takes one core", allowed=">= 1"),
    Field("nodes", "int", "", "nodes to spread over; 0: one if the job fits one, else as many as needed", 0, ">= 0"),
    Field("ntasks_per_node", "int", "", "most tasks of the job on one node; 0: no limit", 0, ">= 0"),
    Field(
        "requested_time",
        "float",
        "s",
        "walltime asked for; inf: no limit; not given: the recorded run time, if there is one",
        math.inf,
        ">= 0",
    ),
    Field(
        "operations",
        "float",
        "",
        "work of one task, ceil(instructions / ipc); NaN: run time given",
        math.nan,
        ">= 0",
        MOST_OPERATIONS,
    ),
    Field(
        "recorded_run_time",
        "float",
        "s",
        "run time in the log, see below; counts where operations is NaN",
        math.nan,
        ">= 0",
        LONGEST_S,
    ),
    Field("fixed_run_time", "bool", "", "recorded_run_time holds on every core: tasks wait, not compute", False),
    Field("ipc", "float", "", "instructions per cycle; already contained in operations", 1.0, "> 0"),
    Field("mem_vol", "float", "MB", "memory traffic of one task in its whole run", 0.0, ">= 0"),
    Field("phases", "str", "", "shares of work and memory traffic over time, `3:1 1:3`; empty: even", ""),
    Field("comm_vol", "float", "MB", "what one task exchanges with other nodes; needs a network model", 0.0, ">= 0"),
    Field("memory", "float", "MB", "memory that one task occupies; 0: not stated", 0.0, ">= 0"),
    Field("req_energy", "float", "J", "energy of one task as the user estimates it", math.nan, ">= 0"),
    Field("max_energy", "float", "J", "placements estimated above it are infeasible", math.inf, ">= 0"),
    Field("deadline", "float", "s", "latest finish wished for, on the run's clock", math.inf),
    Field("profile", "str", "", "name of the application profile", ""),
    Field("user", "str", "", "who submitted it", ""),
    Field("group", "str", "", "the user's group", ""),
    Field("tags", "str", "", "words that describe the job, separated by spaces", ""),
    Field("requires", "str", "", "tags that every node of the job must have, separated by spaces", ""),
    Field("exclusive", "bool", "", "nothing else runs on the job's nodes", False),
    Field("reservation", "str", "", "advance reservation that the job runs in", ""),
    Field("switches", "int", "", "most leaf switches that its nodes may hang on; 0: any number", 0, ">= 0"),
    Field("switch_wait", "float", "s", "wait from submission after which any switches will do", math.inf, ">= 0"),
    Field("qos", "str", "", "quality of service that it was submitted with", ""),
    Field("account", "str", "", "account that it is charged to", ""),
    Field("licenses", "str", "", "licences that it holds, `name:count,name:count`, of the platform's pools", ""),
    Field("array_limit", "int", "", "tasks of its job array that may run at once, for `slurm`; 0: all", 0, ">= 0"),
    Field("gpus", "int", "", "GPUs in all: evenly over `nodes`, else in proportion to its tasks", 0, ">= 0"),
    Field("gpus_per_node", "int", "", "GPUs on each of its nodes", 0, ">= 0"),
    Field("gpus_per_task", "int", "", "GPUs for each of its tasks", 0, ">= 0"),
    Field("gpu_type", "str", "", "type of its GPUs, several joined by `|`; empty: any", ""),
    Field("gpu_share", "float", "", "share of each of its GPUs that it takes", 1.0, "> 0", 1.0),
    Field("resources", "str", "", "other counted units on each of its nodes, `fpga:2;disk:1`", ""),
    Field("priority", "float", "", "higher is more urgent, for some schedulers", 0.0),
    Field("min_cores", "int", "", "fewest cores it can run on; 0: as many as requested", 0, ">= 0"),
    Field("max_cores", "int", "", "most cores it can run on; 0: as many as requested", 0, ">= 0"),
    Field("malleable", "bool", "", "the number of its cores may change while it runs", False),
    Field("speedup", "str", "", "how its run time follows its cores: linear, amdahl:0.05, table:1=1,2=1.9", "linear"),
    Field("parts", "str", "", "parts of the work, between which the cores may change: `10`, or shares `1 2@8 1@4`", ""),
    Field("checkpoint_interval", "str", "", "s of work between checkpoints, young, or daly; empty: none", ""),
    Field("checkpoint_time", "float", "s", "what a checkpoint takes", 0.0, ">= 0", LONGEST_S),
    Field("checkpoint_growth", "float", "", "each interval between checkpoints is the last one times that", 1.0, "> 0"),
    Field(
        "restart_time",
        "float",
        "s",
        "what it takes to go on from a checkpoint, or on other nodes",
        0.0,
        ">= 0",
        LONGEST_S,
    ),
    Field("reconfiguration_time", "float", "s", "what a change of its cores takes", 0.0, ">= 0", LONGEST_S),
    Field("requested_cores_assumed", "bool", "", "the log had no request: requested_cores is what was used", False),
    Field("requested_time_assumed", "bool", "", "the log had no request: requested_time is the run time", False),
    Field("recorded_wait_time", "float", "s", "wait in the log (SWF field 3)", -1.0),
    Field("used_cores", "int", "", "processors used in the log (SWF field 5)", UNKNOWN),
    Field("avg_cpu_time", "float", "s", "CPU time per processor in the log (SWF field 6)", -1.0),
    Field("used_memory", "float", "KB", "memory used per processor (SWF field 7)", -1.0),
    Field("requested_memory", "float", "KB", "memory asked for per processor (SWF field 10)", -1.0),
    Field("status", "int", "", "SWF field 11: 0 failed, 1 completed, 5 cancelled, -1 unknown", UNKNOWN),
    Field("executable", "int", "", "number of the application (SWF field 14)", UNKNOWN),
    Field("queue", "int", "", "number of the queue (SWF field 15)", UNKNOWN),
    Field("partition", "int", "", "number of the partition (SWF field 16), or its name", UNKNOWN, or_name=True),
    Field("preceding_job", "int", "", "number of the job waited for (SWF field 17); -1: none", UNKNOWN),
    Field("think_time", "float", "s", "time since the preceding job ended (SWF field 18)", -1.0, "", LONGEST_S),
    Field("recorded_nodes", "str", "", "nodes it ran on in the log, as that writes them, `n[1-4]`; empty: unknown", ""),
    Field("after", "str", "", "ids of jobs that must complete first, `7 any:8`; any: whatever becomes of it", ""),
)

_JOB_RECORDS: tuple[Field, ...] = (
    Field("job_id", "str", "", "id of the job"),
    Field("submit_time", "float", "s", "submission; NaN: not yet, it follows a job that is not over"),
    Field("eligible_time", "float", "s", "schedulers see it: submission, or the end of what it waits for"),
    Field("allocation_time", "float", "s", "cores assigned, nodes perhaps still booting; NaN: never"),
    Field("start_time", "float", "s", "tasks begin; NaN: never"),
    Field("finish_time", "float", "s", "last task ends, or the job is killed, or refused; NaN: never"),
    Field("state", "str", "", "completed, killed, rejected or unfinished"),
    Field("reason", "str", "", "why the job was killed or rejected"),
    Field("requested_cores", "int", "", "cores asked for"),
    Field("requested_time", "float", "s", "walltime asked for; inf: none given"),
    Field("wait_time", "float", "s", "turnaround - run time: time in which no attempt ran"),
    Field("run_time", "float", "s", "time in which an attempt ran; of one attempt finish - start"),
    Field("turnaround_time", "float", "s", "finish - submission"),
    Field("slowdown", "float", "", "turnaround / run time of the last attempt; none for a job that ran 0 s"),
    Field("bounded_slowdown", "float", "", "max(1, turnaround / max(run time of the last attempt, 10 s))"),
    Field("stretch", "float", "", "wait / requested time"),
    Field("tardiness", "float", "s", "max(0, finish - deadline); NaN without a deadline, or where it never ran"),
    Field("energy_j", "float", "J", "dynamic energy of its cores + its share of their processors' static energy"),
    Field("profile", "str", "", "name of the application profile"),
    Field("user", "str", "", "who submitted it"),
)

# The tables of a Result, by the name of the attribute and of the file.
RESULT_TABLES: dict[str, tuple[Field, ...]] = {
    "jobs": _JOB_RECORDS,
    "allocations": (
        Field("job_id", "str", "", "id of the job"),
        Field("node", "str", "", "name of the node, cluster0.node1"),
        Field("processor", "str", "", "name of the processor within its node, processor0"),
        Field("first_core", "int", "", "first core held, counted within the processor"),
        Field("last_core", "int", "", "last core held, included"),
        Field("start", "float", "s", "the job's tasks begin"),
        Field("end", "float", "s", "the job gives the cores back"),
    ),
    "holds": (
        Field("owner", "str", "", "who held the cores: the id of the job, or the name that a guest gave"),
        Field("kind", "str", "", "job or guest"),
        Field("attempt", "int", "", "the attempt of the job, from 1; 0 for a guest"),
        Field("node", "str", "", "name of the node, cluster0.node1"),
        Field("processor", "str", "", "name of the processor within its node, processor0"),
        Field("first_core", "int", "", "first core held, counted within the processor"),
        Field("last_core", "int", "", "last core held, included"),
        Field("start", "float", "s", "the cores are taken; nodes may still boot"),
        Field("end", "float", "s", "the cores are given back"),
        Field("used_from", "float", "s", "the job's tasks begin; NaN: never, or a guest"),
    ),
    "resource_holds": (
        Field("owner", "str", "", "id of the job that held them"),
        Field("kind", "str", "", "job"),
        Field("attempt", "int", "", "the attempt of the job, from 1"),
        Field("node", "str", "", "name of the node; empty: a licence, which belongs to no node"),
        Field("resource", "str", "", "gpu, or the name of another resource or licence"),
        Field("first", "int", "", "first unit held, counted within the node"),
        Field("last", "int", "", "last unit held, included"),
        Field("share", "float", "", "share of each unit, 1: all of it"),
        Field("start", "float", "s", "they are taken; nodes may still boot"),
        Field("end", "float", "s", "they are given back"),
    ),
    "gpus": (
        Field("time", "float", "s", "the step begins"),
        Field("held", "float", "", "GPUs that jobs hold, by shares"),
        Field("free", "float", "", "GPUs that nobody holds"),
        Field("stranded", "float", "", "of them those on nodes without a free core"),
        Field(
            "fragmented",
            "float",
            "",
            "of them what typical jobs of the workload could not use; NaN: none asks for GPUs",
        ),
    ),
    "attempts": (
        Field("job_id", "str", "", "id of the job"),
        Field("attempt", "int", "", "number of the attempt, from 1"),
        Field("queue_time", "float", "s", "the job could be started: it was eligible, or joined the queue again"),
        Field("allocation_time", "float", "s", "it got its cores"),
        Field("start_time", "float", "s", "its tasks began; NaN: they did not"),
        Field("end_time", "float", "s", "it gave its cores back; NaN: it still runs, or is suspended"),
        Field("over_time", "float", "s", "it was over; later than end_time if it was stopped while suspended"),
        Field("outcome", "str", "", "completed, killed, failed, preempted, requeued, timeout, cancelled or unfinished"),
        Field("reason", "str", "", "why it was stopped; empty: it was not"),
        Field("work_done", "float", "", "part of the job's work that was done at its end, 0 to 1"),
        Field("lost_core_s", "float", "core s", "core-seconds of it that came to nothing"),
    ),
    "stages": (
        Field("job_id", "str", "", "id of the job"),
        Field("attempt", "int", "", "number of the attempt, from 1"),
        Field("stage", "str", "", "checkpoint, restart or reconfiguration"),
        Field("start", "float", "s", "it begins"),
        Field("end", "float", "s", "it ends, done or not"),
        Field("saved", "float", "", "part of the job's work that checkpoints then hold, 0 to 1"),
    ),
    "node_states": (
        Field("node", "str", "", "name of the node, cluster0.node1"),
        Field("state", "str", "", "OFF, SWITCHING_ON, IDLE, COMPUTING, SWITCHING_OFF or FAILED"),
        Field("start", "float", "s", "the state begins"),
        Field("end", "float", "s", "the state ends"),
    ),
    "nodes": (
        Field("node", "str", "", "name of the node, cluster0.node1"),
        Field("off_s", "float", "s", "time OFF"),
        Field("switching_on_s", "float", "s", "time SWITCHING_ON"),
        Field("idle_s", "float", "s", "time IDLE: on, and no core busy"),
        Field("computing_s", "float", "s", "time COMPUTING: at least one core busy"),
        Field("switching_off_s", "float", "s", "time SWITCHING_OFF"),
        Field("failed_s", "float", "s", "time FAILED"),
        Field("off_j", "float", "J", "energy while OFF"),
        Field("switching_on_j", "float", "J", "energy while SWITCHING_ON"),
        Field("idle_j", "float", "J", "energy while IDLE"),
        Field("computing_j", "float", "J", "energy while COMPUTING, idle cores and processors included"),
        Field("switching_off_j", "float", "J", "energy while SWITCHING_OFF"),
        Field("failed_j", "float", "J", "energy while FAILED"),
        Field("energy_j", "float", "J", "the sum of these"),
        Field("energy_waste_j", "float", "J", "idle + switching on + switching off (P4 Eq. 4)"),
        Field("energy_waste_by_core_j", "float", "J", "the same + idle watts of the idle cores while COMPUTING"),
        Field("busy_core_s", "float", "s", "core-seconds of tasks, those of guests too"),
        Field("switches_on", "int", "", "times it began to switch on, before the records end"),
        Field("switches_off", "int", "", "times it began to switch off, before the records end"),
        Field("on_off_cycles", "int", "", "pairs of them: (switches_on + switches_off) // 2"),
    ),
    "power": (
        Field("time", "float", "s", "the step begins; the last row closes the curve"),
        Field("watts", "float", "W", "power of the whole platform until the next row"),
    ),
    "queue": (
        Field("time", "float", "s", "the step begins"),
        Field("pending", "int", "", "jobs eligible and not started"),
        Field("pending_cores", "int", "", "cores they ask for"),
    ),
    "p_states": (
        Field("node", "str", "", "node"),
        Field("processor", "str", "", "processor of the node"),
        Field("p_state", "int", "", "p-state of its type, from 0; -1: a clock of none of them"),
        Field("clock_ghz", "float", "GHz", "clock"),
        Field("start", "float", "s", "the interval begins"),
        Field("end", "float", "s", "the interval ends"),
    ),
    "decisions": (
        Field("time", "float", "s", "the scheduler's pass, or the job's submission"),
        Field("job_id", "str", "", "id of the job"),
        Field(
            "decision",
            "str",
            "",
            "start, reserve (promise a start), hold, block (hold all behind it, too), reject, preempt, resume or resize",
        ),
        Field(
            "because",
            "str",
            "",
            "why, as the scheduler says it; preempt: first whether the job is requeued, suspended or cancelled",
        ),
        Field("behind", "str", "", "id of the job that is the reason to hold or preempt it"),
        Field(
            "promised_time",
            "float",
            "s",
            "reserve: when the job starts at the latest, boots included; inf: not known; NaN: no promise",
        ),
        Field(
            "nodes",
            "str",
            "",
            "start, reserve, resume, resize: nodes, and cores on each: `c.node3:8;c.node4..c.node7:2`",
        ),
    ),
}
RESULT_COLUMNS = {table: [field.name for field in fields] for table, fields in RESULT_TABLES.items()}
"""Names of each table's columns, in order; do not change the lists."""

# Keys of summary.json. Means, medians and percentiles are over completed and killed jobs.
SUMMARY_METRICS: tuple[Field, ...] = (
    Field("jobs_submitted", "int", "", "jobs submitted"),
    Field("jobs_completed", "int", "", "jobs that ran to their end"),
    Field("jobs_killed", "int", "", "jobs ended early: walltime, failure or request"),
    Field("jobs_rejected", "int", "", "jobs refused: the platform cannot hold them, or not after a failure"),
    Field("jobs_unfinished", "int", "", "jobs not over when the run stopped"),
    Field("jobs_requeued", "int", "", "times that a job was stopped and joined the queue again"),
    Field("jobs_preempted", "int", "", "times that a scheduler took a running job's cores"),
    Field("lost_core_s", "float", "core s", "core-seconds of attempts that came to nothing"),
    Field("availability", "float", "", "share of the nodes' time in which they had not failed"),
    Field("first_submission_s", "float", "s", "first submission"),
    Field("last_completion_s", "float", "s", "last finish, of jobs that ran and are over"),
    Field("makespan_s", "float", "s", "last_completion_s - first_submission_s"),
    Field("throughput_jobs_per_h", "float", "1/h", "jobs completed / makespan"),
    Field(
        "utilisation",
        "float",
        "",
        "busy core-seconds of jobs / (cores x window); window: first submission to last finish, or to `until`",
    ),
    Field("mean_wait_s", "float", "s", "mean wait time"),
    Field("median_wait_s", "float", "s", "median wait time"),
    Field("p95_wait_s", "float", "s", "95th percentile of the wait time"),
    Field("max_wait_s", "float", "s", "longest wait time"),
    Field("mean_turnaround_s", "float", "s", "mean turnaround time"),
    Field("mean_slowdown", "float", "", "mean slowdown, of jobs that ran more than 0 s"),
    Field("mean_bounded_slowdown", "float", "", "mean bounded slowdown, bound 10 s"),
    Field("max_slowdown", "float", "", "largest slowdown, of jobs that ran more than 0 s"),
    Field("max_bounded_slowdown", "float", "", "largest bounded slowdown"),
    Field("mean_stretch", "float", "", "mean wait / requested time"),
    Field("max_stretch", "float", "", "largest wait / requested time"),
    Field("jobs_delayed", "int", "", "jobs with wait >= 0.5 x requested time"),
    Field("share_delayed", "float", "", "of the jobs that ran, those delayed"),
    Field("total_delay_s", "float", "s", "sum over delayed jobs of wait - 0.5 x requested time (P4 Eq. 10)"),
    Field("jobs_late", "int", "", "jobs that finished after their deadline"),
    Field("mean_tardiness_s", "float", "s", "mean tardiness, over jobs with deadlines"),
    Field("max_tardiness_s", "float", "s", "largest tardiness"),
    Field("mean_queue_length", "float", "", "pending jobs, mean over time"),
    Field("max_queue_length", "int", "", "most jobs pending at once"),
    Field("energy_j", "float", "J", "integral of power over the run: to the last finish, or to `until`"),
    Field("edp_js", "float", "J s", "energy_j x makespan_s"),
    Field("energy_jobs_j", "float", "J", "energy attributed to jobs"),
    Field("energy_guests_j", "float", "J", "energy attributed to guests"),
    Field("energy_lost_j", "float", "J", "part of energy_jobs_j that belongs to lost_core_s"),
    Field("energy_unused_j", "float", "J", "energy of idle processors of COMPUTING nodes"),
    Field("energy_idle_j", "float", "J", "energy of nodes while IDLE"),
    Field("energy_computing_j", "float", "J", "energy of nodes while COMPUTING"),
    Field("energy_off_j", "float", "J", "energy of nodes while OFF"),
    Field("energy_failed_j", "float", "J", "energy of nodes while FAILED"),
    Field("energy_switching_on_j", "float", "J", "energy of nodes while SWITCHING_ON"),
    Field("energy_switching_off_j", "float", "J", "energy of nodes while SWITCHING_OFF"),
    Field("energy_waste_j", "float", "J", "by node: idle + switching on + switching off (P4 Eq. 4)"),
    Field("energy_waste_by_core_j", "float", "J", "by core: the same + idle cores of COMPUTING nodes"),
    Field("energy_wmin", "float", "W min", "energy_j in P4's unit, energy_j / 60"),
    Field("energy_waste_wmin", "float", "W min", "energy_waste_j / 60"),
    Field("energy_waste_by_core_wmin", "float", "W min", "energy_waste_by_core_j / 60"),
    Field("node_switches", "int", "", "transitions begun, on and off counted each"),
    Field("on_off_cycles", "int", "", "sum over nodes of pairs of transitions"),
    Field("mean_watts", "float", "W", "energy / length of the window it covers"),
    Field("max_watts", "float", "W", "highest power of the platform"),
)
GPU_METRICS: tuple[Field, ...] = (
    Field(
        "utilisation_gpu",
        "float",
        "",
        "busy GPU-seconds of jobs / (GPUs x window), by shares; the window of `utilisation`",
    ),
    Field("stranded_gpu_s", "float", "GPU s", "free GPUs whose node has no free core, summed over time"),
    Field("fragmentation_gpu", "float", "", "GPUs that typical jobs could not use / all GPUs, mean over time"),
    Field("energy_gpus_j", "float", "J", "part of energy_j that GPUs drew, idle and busy, on nodes that were on"),
)
"""More keys of summary.json, of platforms with GPUs."""

MORE_IS_BETTER = ("jobs_completed", "availability", "throughput_jobs_per_h", "utilisation", "utilisation_gpu")
"""Metrics of the summary that are better when higher; all others are better when lower, if either is."""


def names(fields: Iterable[Field]) -> list[str]:
    """Return the names of ``fields``, in order."""
    return [field.name for field in fields]


_UNITS = {field.name: field.unit for field in (*SUMMARY_METRICS, *GPU_METRICS)}
_UNIT_ENDINGS = {"s": "_s", "J": "_j", "J s": "_js", "core s": "_s", "GPU s": "_s"}
_SPELLING = {"edp": "EDP", "p95": "95th percentile of", "reward": "minus the reward"}  # an objective is to be least


def unit_of(key: str) -> str:
    """Return the unit of a summary key, ``J`` for ``energy_j``; empty for counts, ratios and keys that are not ours."""
    return _UNITS.get(key, "")


def label_of(key: str) -> str:
    """Return a summary key in words, without the unit (:func:`unit_of`): ``mean_wait_s`` reads "mean wait"."""
    stem = key.removesuffix(_UNIT_ENDINGS.get(unit_of(key), ""))
    return " ".join(_SPELLING.get(word, word) for word in stem.split("_"))


def whole_number(text: str) -> int | None:
    """Return the number of a text of digits; None for another text, and for more digits than any number here has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def markdown_table(fields: Iterable[Field]) -> str:
    """Return ``fields`` as a Markdown table with a row each."""
    lines = ["| name | type | unit | default | meaning |", "|---|---|---|---|---|"]
    for field in fields:
        bound = f" ({field.range_text})" if field.range_text else ""
        meaning = field.meaning.replace("|", "\\|")
        kind = f"{field.kind} or str" if field.or_name else field.kind
        default = "position" if field.name == "job_id" else "empty" if field.default == "" else f"{field.default}"
        lines.append(f"| `{field.name}` | {kind}{bound} | {field.unit} | {default} | {meaning} |")
    return "\n".join(lines) + "\n"


def job_schema_page() -> str:
    """Return the manual's page on the native job schema."""
    return _JOB_SCHEMA_PAGE.format(table=markdown_table(JOB_FIELDS))


_JOB_SCHEMA_PAGE = """\
<!-- Made by `python -m cluster_sim.workload.fields > docs/reference/job-schema.md`; edit workload/fields.py. -->
# The job schema

After this page you can write a workload as a table: one row of `workload.jobs`, or of a native CSV file, is a job.

A CSV file has these names in its header, in any order. It needs `submit_time`, `requested_cores`, and `operations` or
`recorded_run_time`; where both are given, `operations` is simulated. A column that is left out, or an empty cell, takes the
default; for `requested_time` its meaning says what. -1 means unknown. Times of a CSV file are not shifted: a run begins at
0, and nodes idle until the first submission.

{table}
`recorded_run_time` was measured on cores of `workload.reference_gflops` (by default the platform's fastest core), so
`operations = recorded_run_time x rate`, and slower cores take longer. Jobs with `fixed_run_time` take their time on any core.
`requested_time` is wall-clock time and is never scaled. Lines `# name: …`, `# origin_s: …`, `# reference_gflops: …` and
`# header: …` above the header of a CSV file keep the workload's attributes of those names.
"""


if __name__ == "__main__":
    print(job_schema_page(), end="")
