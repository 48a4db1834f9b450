"""The runs of a comparison: one workload under several schedulers, perhaps with several seeds, and their files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from cluster_sim.cli.group import Invocation
from cluster_sim.cli.simulate import REPORT, load, simulate
from cluster_sim.errors import ModelWarning
from cluster_sim.files.atomic import atomic_path
from cluster_sim.platform.platform import Platform
from cluster_sim.records.result import Result
from cluster_sim.registry import Spec
from cluster_sim.run.settings import RunSettings
from cluster_sim.workload.fields import whole_number
from cluster_sim.workload.workload import WORKLOAD_GENERATORS, Workload

COMPARISON, REPLICATIONS = "comparison.csv", "replications.csv"


def run_all(
    settings: RunSettings,
    schedulers: Sequence[str],
    platform: Platform,
    workload: Workload,
    out: str,
    invocation: Invocation,
) -> dict[str, Result]:
    """Run every scheduler and leave the results in ``out``: a folder each, comparison.csv, and the report if wanted."""
    from analysis import comparison_table, write_report

    _remove_older(out)
    runs = _run_each(
        settings, schedulers, platform, workload, [Path(out) / name for name in folders(schedulers)], invocation
    )
    _write_table(comparison_table(runs), Path(out) / COMPARISON)
    if settings.report:
        write_report(runs, Path(out) / REPORT, workload=workload)
    return runs


def replicate(
    settings: RunSettings, schedulers: Sequence[str], replications: int, out: str, invocation: Invocation
) -> tuple[pd.DataFrame, dict[str, Result]]:
    """Run every scheduler with seed, seed + 1, …; return the table of means with intervals, and the first seed's runs.

    ``out`` receives comparison.csv (that table), replications.csv (metric by metric, scheduler and seed), and for each
    scheduler a folder with one per seed. The figures of the report are of the first seed.
    """
    from analysis import replication_table, write_report
    from analysis.tables.run_metrics import metrics_of

    _remove_older(out)
    summaries: dict[str, list[pd.Series]] = {name: [] for name in schedulers}
    for number in range(replications):
        once = _with_seed(settings, settings.seed + number, first=number == 0)
        platform, workload = load(once, schedulers)
        places = [Path(out) / name / f"seed-{once.seed}" for name in folders(schedulers)]
        runs = _run_each(once, schedulers, platform, workload, places, invocation)
        for name, result in runs.items():
            summaries[name].append(result.summary())
        if number == 0:
            shown = (runs, workload)  # of the others only the summaries are kept: a run's tables may be large
    table = replication_table(summaries)
    warn_if_equal(([metrics_of(summary) for summary in each] for each in summaries.values()), "--replications")
    rows = [
        {"scheduler": name, "seed": settings.seed + number, "metric": metric, "value": value}
        for name, several in summaries.items()
        for number, summary in enumerate(several)
        for metric, value in summary.items()
    ]
    _write_table(pd.DataFrame(rows).set_index("scheduler"), Path(out) / REPLICATIONS)
    _write_table(table, Path(out) / COMPARISON)
    if settings.report:
        write_report(shown[0], Path(out) / REPORT, workload=shown[1], replications=table)
    return table, shown[0]


def _run_each(
    settings: RunSettings,
    schedulers: Sequence[str],
    platform: Platform,
    workload: Workload,
    places: Sequence[Path],
    invocation: Invocation,
) -> dict[str, Result]:
    runs = {}
    for name, place in zip(schedulers, places, strict=True):
        runs[name] = simulate(settings, name, platform, workload, invocation)
        # Saved at once: if the second run is interrupted, the first is kept.
        runs[name].save(place, settings.file_format)
    return runs


def _with_seed(settings: RunSettings, seed: int, first: bool) -> RunSettings:
    """Return the settings of another replication; a generated workload gets the next seed of its own, too."""
    name, colon, _ = settings.workload.partition(":")
    if first or not colon or name not in WORKLOAD_GENERATORS:
        return replace(settings, seed=seed)
    spec = Spec.parse(settings.workload)
    own = spec.options.get("seed", "0")
    number = whole_number(own)
    if number is None:
        return replace(settings, seed=seed)  # the generator says what it expects
    return replace(settings, seed=seed, workload=str(spec.with_seed(number + seed - settings.seed)))


def warn_if_equal(cases: Iterable[Sequence[object]], source: str) -> None:
    """Warn if all replications of each case have the same metrics: an interval of width 0 would be a lie.

    This happens with a log if nothing in the run is random. ``source`` is what asked for replications.
    """
    several = list(cases)
    number = max(map(len, several), default=0)
    # Compared as text, where NaN equals NaN.
    if number > 1 and all(str(one) == str(each[0]) for each in several for one in each):
        text = f"{source}: all {number} are equal, for the seed changes nothing in these runs"
        warnings.warn(f"{text}; a generated workload such as lublin:… changes with it", ModelWarning, stacklevel=2)


def _remove_older(out: str) -> None:
    """Remove what an older comparison left beside its runs, which are now replaced one by one."""
    for name in (COMPARISON, REPLICATIONS, REPORT):
        (Path(out) / name).unlink(missing_ok=True)


def _write_table(table: pd.DataFrame, path: Path) -> None:
    with atomic_path(path) as aside:
        table.to_csv(aside, lineterminator="\n")


def folders(specs: Sequence[str]) -> list[str]:
    """Return a folder's name for each spec: all different, of letters that every file system takes.

    >>> folders(["fcfs", "list:first/first,blocking=no"])
    ['fcfs', 'list-first-first-blocking-no']
    """
    names: list[str] = []
    for spec in specs:
        name = re.sub(r"[^A-Za-z0-9_.]+", "-", spec).strip("-.")[:80] or "run"
        earlier = sum(other == name or other.rpartition("+")[0] == name for other in names)
        names.append(f"{name}+{earlier + 1}" if earlier else name)
    return names
