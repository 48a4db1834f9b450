"""Conclusions from one run or several: how long jobs waited, under which run least, and what else moved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.tables.display_names import names_of_factor
from analysis.tables.run_metrics import REPLICATIONS, Runs, comparison_table, named_runs
from analysis.tables.wording import label_of, listing, setting, unit_of
from cluster_sim.amounts import amount, number
from cluster_sim.errors import counted
from cluster_sim.records.comparison import LEAST_CHANGE, Difference, Effect, Standing, too_few
from cluster_sim.records.comparison import Comparison as Comparison
from cluster_sim.records.intervals import ComparisonVerdict
from cluster_sim.records.result import Result
from cluster_sim.workload.fields import MORE_IS_BETTER

_WAIT = "mean_wait_s"
_NO_SETTINGS = frozenset({"version", "made_with", "command", "inputs", "origin_s", "start_date"})
_ELSE = ("mean_bounded_slowdown", "makespan_s", "utilisation", "energy_j", "jobs_completed", "jobs_killed")


def run_sentence(result: Result) -> str:
    """Say of one run how long jobs waited, which did not complete, how busy cores were, and the energy."""
    jobs, summary = result.jobs, result.summary()
    waits = jobs["wait_time"][jobs["state"] != "rejected"].dropna()  # one may have run before it was refused
    still = bool((jobs["state"] == "unfinished").any())  # when the run was cut off
    if waits.empty:
        return ""
    half = float(np.sort(waits)[(len(waits) - 1) // 2])  # half of the jobs wait at most this long
    mean, most = amount(float(waits.mean()), "s"), amount(float(waits.max()), "s")
    if not waits.any():
        text = "No job waits" if not still else "Of the jobs that started none waits"
    elif len(waits) == 1:
        text = f"The job waits {mean}"
    else:
        told_half = f"half of them at most {amount(half, 's')}" if half else "half of them not at all"
        who = "Jobs wait" if not still else "Jobs that started wait"
        text = f"{who} {mean} on average, {told_half}, one {most}"
    told = [text]
    if (summary["utilisation"] or 0.0) > 0:  # None where the run takes no time
        told.append(f"{number(100 * summary['utilisation'], 2)} % of the core time is used")
    if summary["energy_j"] > 0:
        told.append(f"the machine needs {amount(float(summary['energy_j']), 'J')}")
    others = jobs["state"].value_counts().drop("completed", errors="ignore")
    lost = listing([f"{number(count)} {state}" for state, count in others.items()])
    sentence = f"{'; '.join(told)}." + (f" Of {number(len(jobs))} jobs {lost}." if lost else "")
    return sentence + (" Metrics are of the jobs that are over, and so differ from these waits." if still else "")


def compare(results: Runs, replications: pd.DataFrame | None = None, *, for_people: bool = False) -> Comparison:
    """Return what can be said of runs of the same workload beside each other, the first one the base.

    ``replications`` is a table of :func:`analysis.replication_table`: then the runs are told apart by its values, one for each
    replication, and ``results`` are the runs of the first. Without it the differences are those of one workload.
    ``for_people``: what differs is told in names for people, not as specs.
    """
    runs = named_runs(results)
    block, arrays = values_of(runs, replications)

    def effect(metric: str, name: str, against: str) -> Effect:
        pair = name, against
        row = arrays[metric]
        return Effect.paired(metric, label_of(metric), unit_of(metric), pair, (row[name], row[against]), block=block)

    names = list(runs)
    shown = [metric for metric in (_WAIT, *_ELSE) if metric in arrays]
    effects = [effect(metric, name, names[0]) for name in names[1:] for metric in shown]
    standing = standing_of(_WAIT, arrays.get(_WAIT, {}), block)
    remarks = []
    if standing is not None and len(standing.best) < len(standing.means):
        best = standing.best[0]
        other = (
            names[0]
            if names[0] in standing.means and names[0] not in standing.best
            else list(standing.means)[len(standing.best)]
        )
        remarks.append(_moved([effect(metric, best, other) for metric in shown if metric != _WAIT]))
        if replications is None:  # the runs are only one of the replications
            remarks.append(_jobs_that_moved(best, runs[best], other, runs[other]))
    if not any(run.jobs["start_time"].notna().any() for run in runs.values()):
        remarks.append("No job starts in any of the runs.")
    cautions = []
    for key in ("jobs_completed", "jobs_killed", "jobs_rejected", "jobs_unfinished"):
        counts = arrays.get(key, {})
        if len({each.tobytes() for each in counts.values()}) > 1:
            means = ", ".join(f"{name} {number(float(each.mean()))}" for name, each in counts.items())
            cautions.append(f"Means are not of the same jobs: {label_of(key)}, {means}.")
    differences = []
    for key in dict.fromkeys(key for run in runs.values() for key in run.meta if key not in _NO_SETTINGS):
        values = [setting(run.meta.get(key)) for run in runs.values()]
        if len(set(values)) > 1:
            words = names_of_factor(key, values) if for_people else {}
            base, *others = (words.get(value, value) for value in values)
            differences.append(Difference(label_of(key), base, tuple(others)))
    return Comparison(
        tuple(names), tuple(differences), (), tuple(effects), () if standing is None else (standing,),
        tuple(filter(None, remarks)), tuple(cautions),
    )  # fmt: skip


def values_of(
    runs: Mapping[str, Result], replications: pd.DataFrame | None
) -> tuple[str, dict[str, dict[str, np.ndarray]]]:
    """Return what runs are compared by, workload or replication, and the values of each metric and run, one for each."""
    if replications is None:
        block, table = "workload", comparison_table(runs)
        values = {str(key): {name: [float(row[name])] for name in runs} for key, row in table.iterrows()}
    else:
        block, values = "replication", replications.attrs[REPLICATIONS]
    return block, {key: {name: np.array(row[name], dtype=float) for name in runs} for key, row in values.items()}


def standing_of(metric: str, values: Mapping[str, np.ndarray], block: str) -> Standing | None:
    """Return how runs stand in a metric, those without a value left out; None where fewer than two have one."""
    known = {name: each for name, each in values.items() if not np.isnan(each).any()}
    if not known:
        return None
    more = metric in MORE_IS_BETTER
    return Standing.of(metric, label_of(metric), unit_of(metric), known, block=block, most=more)


def _moved(effects: Sequence[Effect]) -> str:
    """Say which other metrics move; of replications, only those of which it is shown."""
    found = [
        f"{each.label} {each.in_percent()}"
        for each in effects
        if each.matters
        and not math.isnan(each.difference)
        and each.difference
        and each.verdict is not ComparisonVerdict.TIE
    ]
    least = f"{LEAST_CHANGE:g} % or more"
    of = f"{effects[0].name} against {effects[0].against}" if effects else ""
    if not found:
        moves = "moves" if not effects or effects[0].blocks == 1 else "is shown to move"
        return f"{of}: no other metric {moves} by {least}." if of else ""
    few = effects[0].blocks > 1 and all(each.verdict is ComparisonVerdict.VALUES for each in effects)
    return f"{of}: {listing(found)}{f' ({too_few(effects[0].blocks, effects[0].block)})' if few else ''}."


def _jobs_that_moved(name: str, run: Result, against: str, base: Result) -> str:
    from analysis.gantt_chart.runs_chart import same_jobs  # brings plotly

    starts = [result.jobs.set_index("job_id")["start_time"].astype(float) for result in (run, base)]
    if not (starts[0].index.is_unique and same_jobs({"run": run, "base": base})):
        return ""
    shift = (starts[0] - starts[1]).dropna()  # by job
    earlier, later = int((shift < 0).sum()), int((shift > 0).sum())
    if not earlier + later:
        return ""
    return f"Of {counted(len(shift), 'job')} {earlier:,} start earlier and {later:,} later under {name} than under {against}."
