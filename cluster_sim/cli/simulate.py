"""From settings to finished runs and their files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pandas as pd
from click import get_current_context

from cluster_sim.cli.group import Invocation
from cluster_sim.cli.options import check_out
from cluster_sim.errors import InputError, ModelWarning, SimulationError, counted, naming
from cluster_sim.extras import needed
from cluster_sim.files.folders import held
from cluster_sim.files.reading import is_stdin, sha256
from cluster_sim.files.source import PLUS, failure_in, files_of
from cluster_sim.formats.platform_files import has_time_unit
from cluster_sim.formats.reservations import read_reservations
from cluster_sim.formats.slurm.sacctmgr import read_accounts
from cluster_sim.formats.slurm.slurm_conf import read_for
from cluster_sim.platform.platform import Platform
from cluster_sim.records.result import Result
from cluster_sim.registry import describe
from cluster_sim.run.hosts import as_counted, platform_of_log
from cluster_sim.run.making import simulation_of, try_begin
from cluster_sim.run.own_processes import process_of
from cluster_sim.run.settings import RunSettings, part_of
from cluster_sim.run.simulation import Simulation
from cluster_sim.workload.advance_reservations import windows_on
from cluster_sim.workload.dependencies import follows
from cluster_sim.workload.workload import Workload

SUMMARY_KEYS = (
    "jobs_submitted",
    "jobs_completed",
    "jobs_killed",
    "jobs_rejected",
    "jobs_unfinished",
    "makespan_s",
    "throughput_jobs_per_h",
    "utilisation",
    "mean_wait_s",
    "p95_wait_s",
    "max_wait_s",
    "mean_turnaround_s",
    "mean_bounded_slowdown",
    "energy_j",
    "energy_waste_j",
    "edp_js",
    "mean_watts",
    "node_switches",
)
"""Metrics that are printed; summary.json and the report have every metric."""

REPORT = "report.html"


def load(settings: RunSettings, schedulers: Iterable[str] = ()) -> tuple[Platform, Workload]:
    """Read the platform and the workload that ``settings`` name, for runs under these schedulers. Raises InputError."""
    options = {} if settings.time_unit is None else {"time_unit": settings.time_unit}
    zone = {} if settings.time_zone is None else {"time_zone": settings.time_zone}
    with naming(settings.said_by("workload")), warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        workload = Workload.read(settings.workload, **options, **zone)
    cut = part_of(workload, settings.slice, settings.first)
    taken = "" if len(cut) == len(workload) else f" (in the whole file; the run takes {counted(len(cut), 'job')} of it)"
    for each in noted:
        warnings.warn(f"{each.message}{taken}", each.category, stacklevel=2)
    if settings.anonymise:
        workload = workload.anonymised()
    if settings.ignore_gpus:
        workload = without_gpus(workload, settings.workload)
    if settings.think_times:
        workload = with_think_times(workload, settings.workload)
    if settings.platform is None:
        platform = platform_of_log(workload, settings.workload)
    else:
        if not has_time_unit(settings.platform):
            options = {}
        with naming(settings.said_by("platform")), read_for(schedulers):
            platform = Platform.read(settings.platform, settings.platform_name, **options)
    # After the platform: the header speaks of the machine that the whole log comes from.
    platform = as_counted(platform, workload)
    workload = part_of(workload, settings.slice, settings.first)
    return platform, workload if settings.shake is None else workload.shaken(settings.shake, settings.seed)


def without_gpus(workload: Workload, source: str) -> Workload:
    """Return the workload as if no job needed GPUs; a ModelWarning counts the jobs that do."""
    if number := workload.gpu_jobs:
        text = f"{number:,} of {len(workload):,} jobs need GPUs: they run as if they needed none"
        warnings.warn(f"{source}: {text}", ModelWarning, stacklevel=2)
    return workload.without_gpus()


def with_think_times(workload: Workload, source: str) -> Workload:
    """Return the workload with its think times; if it has none, warn with a ModelWarning and change nothing."""
    if next(follows(workload.columns), None) is None:
        text = "no job names a job of the workload as its preceding_job: there are no think times to keep to"
        warnings.warn(f"{source}: {text}", ModelWarning, stacklevel=2)
    return workload.with_think_times()


def build(settings: RunSettings, scheduler: str, platform: Platform, workload: Workload) -> Simulation:
    """Make the simulation that ``settings`` describe, under this scheduler. Raises InputError for unknown names."""
    from schedulers import make_power_policy, make_scheduler

    with naming(settings.said_by("reservations")):
        reservations = () if settings.reservations is None else read_reservations(settings.reservations)
    with naming(settings.reservations):
        windows_on(platform, reservations)
    with naming(settings.said_by("accounts")):
        accounts = None if settings.accounts is None else read_accounts(settings.accounts)
    policies = make_scheduler(scheduler), make_power_policy(settings.power_policy)
    given = vars(settings) | {"reservations": reservations, "accounts": accounts}
    return simulation_of(given, platform, workload, *policies)


def check(settings: RunSettings, schedulers: Iterable[str], platform: Platform, workload: Workload) -> list[Simulation]:
    """Try names and options in runs without jobs, before anything long begins; return these simulations.

    Raises InputError for a name or an option that does not exist, or that does not suit the platform.
    """
    simulations = []
    for each in settings.process:
        process_of(each)
    without = replace(settings, process=())  # a process may hold a run open that has no jobs
    for scheduler in schedulers:
        simulations.append(build(without, scheduler, platform, workload.first(0)))
        with _telling_of_sources(scheduler, settings.power_policy):
            try_begin(simulations[-1])
    return simulations


def simulate(
    settings: RunSettings,
    scheduler: str,
    platform: Platform,
    workload: Workload,
    invocation: Invocation,
    run: Callable[[Simulation], Result] | None = None,
) -> Result:
    """Run one simulation under the given scheduler, and tell what it assumed; ``result.meta`` says how it was made.

    ``run`` runs it in another way than with a bar of its progress.
    """
    with invocation.one_run() as warned:
        simulation = build(settings, scheduler, platform, workload)
        invocation.tell_warnings()
        with _telling_of_sources(scheduler, settings.power_policy):
            result = simulation.run(progress=f"run of {scheduler}") if run is None else run(simulation)
    result.cautions = result.cautions.leaving_out(warned)
    machine = simulation.platform
    specs = settings.specs()
    if simulation.traits.power_policy is not None:
        specs["power_policy"] = describe(simulation.power_policy)  # which the scheduler brings
    result.meta |= specs | {
        "scheduler": scheduler.partition(PLUS)[0],
        "contention_model": machine.contention_model,
        "power_model": machine.power_model,
        "command": invocation.command,
        "inputs": checksums([*settings.files(), *files_of(scheduler)]),
    }
    if settings.shake is not None:
        result.meta["shaken_s"] = settings.shake
    return result


@contextmanager
def _telling_of_sources(*specs: str) -> Iterator[None]:
    """Turn an error in a user's policy file, or in its decisions, into an InputError: it is no defect of ours."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        for path in (file for spec in specs for file in files_of(spec) if file.endswith(".py")):
            if failure := failure_in(path, error):
                raise InputError(*failure) from None
            if isinstance(error, SimulationError):
                raise InputError(path, "decisions that can be carried out", str(error)) from None
        raise


def checksums(sources: Iterable[str | None]) -> dict[str, str]:
    """Return SHA-256 of the files among ``sources`` (and of standard input) by their names as given; skip specs."""
    given = dict.fromkeys(source for source in sources if source is not None)
    return {source: sha256(source) for source in given if is_stdin(source) or os.path.isfile(source)}


def prepare(directory: str, file_format: str = "csv", what: str = "program") -> None:
    """Check that results can be written before hours go into making them, and hold the folder until the command ends.

    A folder that this makes is removed at the end if it is empty. Raises InputError for what is no folder, and while
    another program writes there (``what`` is the name that such a program reads of this one); OSError.
    """
    if file_format == "parquet":
        with needed("--format parquet", "pyarrow"):
            import pyarrow  # noqa: F401
    check_out("--out", directory)
    path = Path(directory)
    if path.exists() and not path.is_dir():
        raise InputError(directory, "a folder for the results", "a file")
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)

    def remove_empty() -> None:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()

    context = get_current_context()
    context.call_on_close(remove_empty)
    context.with_resource(held(path, what, nested=True))


def summary_text(runs: dict[str, Result]) -> str:
    """Return the metrics that matter most, as an aligned table with units; runs side by side, differences in %."""
    from analysis import comparison_table

    return table_text(comparison_table(runs))


def table_text(table: pd.DataFrame) -> str:
    """Return the rows of a comparison table that matter most, aligned."""
    from analysis import format_table

    return format_table(table.loc[[key for key in SUMMARY_KEYS if key in table.index]])


def whereabouts(out: str, settings: RunSettings) -> str:
    """Return a line that says where the results are."""
    report = f"; the report is {Path(out) / REPORT}" if settings.report else ""
    return f"\nThe results are in {out}{report}"
