"""The sentence with which a page of several runs begins: which waited least, by how much, and what else moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analysis.replications import REPLICATIONS
from analysis.runs_chart import same_jobs
from analysis.wording import label_of, listing
from cluster_sim.amounts import amount, number
from cluster_sim.records.intervals import CONFIDENCE, half_width

if TYPE_CHECKING:
    from cluster_sim.records.result import Result

LEAST_CHANGE = 1.0
"""Changes of less, in %, are not worth a word."""
_WAIT = "mean_wait_s"
_ELSE = ("mean_bounded_slowdown", "makespan_s", "utilisation", "energy_j", "jobs_completed", "jobs_killed")


def run_sentence(result: Result) -> str:
    """What a page of one run says first: how long jobs waited, which did not complete, how busy cores were, the energy."""
    jobs, summary = result.jobs, result.summary()
    waits = jobs["wait_time"][jobs["state"] != "rejected"].dropna()  # one may have run before it was refused
    still = bool((jobs["state"] == "unfinished").any())  # when the run was cut off
    if waits.empty:
        return ""
    half = float(np.sort(waits)[(len(waits) - 1) // 2])  # so long, or less, waits one of two
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


def comparison_sentence(table: pd.DataFrame, runs: Mapping[str, Result]) -> str:
    """What a table of :func:`analysis.comparison_table`, or of replications, says first; empty where no job waited in any run.

    Waits are told against the first run, or, where that is best, against the next one; of replications also from which
    runs they do not tell the best one.
    """
    names = list(runs)
    if len(names) < 2 or _WAIT not in table.index:
        return ""
    waits = pd.Series(dict(table.loc[_WAIT]))[names].astype(float).dropna().sort_values(kind="stable")
    if len(waits) < 2:
        return ""
    names = [name for name in names if name in waits.index]
    best, other = str(waits.index[0]), names[0] if waits.index[0] != names[0] else str(waits.index[1])
    if waits[best] == waits[other]:
        return f"Jobs wait equally long under {listing(_equal(waits))}: {amount(waits[best], 's')} on average."
    text = f"Jobs wait least under {listing(_equal(waits))}: {amount(waits[best], 's')} on average, "
    text += f"{change_in_words(waits[best], waits[other])} than under {other} ({amount(waits[other], 's')})."
    replications = table.attrs.get(REPLICATIONS, {}).get(_WAIT)
    if replications:
        text += _sureness(replications, waits)
    moved = _moved(table, best, other)
    text += f" What else moves: {moved}." if moved else f" No other metric moves by {LEAST_CHANGE:g} % or more."
    # Of replications the runs are only one.
    return text if replications else text + _jobs_that_moved(runs[best], runs[other])


def _sureness(replications: Mapping[str, Sequence[float]], waits: pd.Series) -> str:
    """Whether every other run surely waits longer than the one, or each of those, that wait least.

    Student's interval of the paired differences, at a level that holds for all of them together (Bonferroni): which run
    is best is found in the same replications. Runs that are equal in each replication are one.
    """
    values = {str(name): np.array(replications[str(name)]) for name in waits.index}
    if len(values[str(waits.index[0])]) > 1 and not any(np.ptp(each) for each in values.values()):
        return ""  # nothing was random
    equal = _equal(waits)
    best = {tuple(values[name]) for name in equal}
    others = [str(name) for name in waits.index if str(name) not in equal]
    level = 1 - (1 - CONFIDENCE) / (len(best) * len(others))

    def longer(name: str) -> bool:
        apart = np.transpose([values[name] - each for each in best])
        return bool((apart.mean(axis=0) > half_width(apart, level)).all())

    unsure = [f"{name} ({amount(waits[name], 's')})" for name in others if not longer(name)]
    if unsure:
        return f" These replications are too few to tell {'it' if len(equal) == 1 else 'them'} from {listing(unsure)}."
    who = others[0] if len(others) == 1 else "the others"
    return f" Under {who} they surely wait longer ({100 * CONFIDENCE:g} %)."


def change_in_words(value: float, base: float) -> str:
    """``94 % less``; ``3.2 times as much`` from twice on; of nothing there are no shares: ``more``."""
    if value >= 2 * base > 0:
        return f"{number(value / base, 2)} times as much"
    share = f"{number(abs(100 * (value - base) / base), 2)} % " if base else ""
    return f"{share}{'less' if value < base else 'more'}"


def _equal(waits: pd.Series) -> list[str]:
    return [str(name) for name in waits.index[waits == waits.iloc[0]]]


def _moved(table: pd.DataFrame, best: str, other: str) -> str:
    found = []
    for metric in _ELSE:
        if metric not in table.index:
            continue
        row = dict(table.loc[metric])
        value, base, unit = float(row[best]), float(row[other]), str(row["unit"])
        change = 100 * (value - base) / abs(base) if base else np.inf * (value - base) if value != base else 0.0
        if np.isfinite([value, base]).all() and abs(change) >= LEAST_CHANGE:
            how = f"{amount(value, unit)} instead of {amount(base, unit)}"
            if np.isfinite(change):
                how = f"{'−' if change < 0 else '+'}{number(abs(change), 2)} %"
            found.append(f"{label_of(metric)} {how}")
    return listing(found)


def _jobs_that_moved(run: Result, base: Result) -> str:
    starts = [result.jobs.set_index("job_id")["start_time"].astype(float) for result in (run, base)]
    if not (starts[0].index.is_unique and same_jobs({"run": run, "base": base})):
        return ""
    shift = (starts[0] - starts[1]).dropna()  # by job
    earlier, later = int((shift < 0).sum()), int((shift > 0).sum())
    if not earlier + later:
        return ""
    return f" Of {len(shift):,} jobs {earlier:,} start earlier and {later:,} later."
