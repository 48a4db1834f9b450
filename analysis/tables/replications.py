"""Tables of replications, runs that differ by their seed: means with confidence intervals, and paired differences.

Replication r of every scheduler has the same seed, hence the same workload and the same luck. So the difference between
two schedulers is taken within each replication, and the interval is that of the mean difference. It is far narrower
than the two schedulers' own intervals suggest (Law 2015, ch. 10.2.1: common random numbers).

Intervals are Student's, mean ± t · s/√n with n - 1 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.tables.run_metrics import HALF_WIDTH, VERSUS, metrics_of
from analysis.tables.wording import unit_of
from cluster_sim.errors import InputError
from cluster_sim.records.intervals import CONFIDENCE, half_width, mean_of, paired_change

REPLICATIONS = "replications"
Summary = Mapping[str, Any] | pd.Series


def replication_table(runs: Mapping[str, Sequence[Summary]], confidence: float = CONFIDENCE) -> pd.DataFrame:
    """Return means over replications as a comparison table with half-widths of the confidence intervals.

    ``runs`` has for each scheduler the summaries of its replications, with the same seeds in the same order. The index
    is the metric; the columns are ``unit``, and for each run ``NAME`` (mean) and ``NAME ±``. From the second run on
    there are also ``NAME vs first, %``, the mean difference relative to the first run's mean, and ``NAME vs first, %
    ±``. Half-widths are NaN for a single replication. A metric that lacks a value in some replication has none.
    ``attrs["replications"]`` has the values behind the means, metric → run → list.

    Raises InputError for different numbers of replications, none, or a ``confidence`` outside of (0, 1).
    """
    counts = {name: len(summaries) for name, summaries in runs.items()}
    if not counts or 0 in counts.values() or len(set(counts.values())) > 1:
        raise InputError("replications", "the same number of replications of each run, at least one", counts)
    frames = {name: pd.DataFrame([metrics_of(one) for one in several]) for name, several in runs.items()}
    keys = list(dict.fromkeys(key for frame in frames.values() for key in frame.columns))
    values = {name: frame.reindex(columns=keys).to_numpy(dtype=float) for name, frame in frames.items()}
    table = pd.DataFrame({"unit": [unit_of(key) for key in keys]}, index=pd.Index(keys, name="metric"))
    for name, several in values.items():
        table[name], table[name + HALF_WIDTH] = mean_of(several), half_width(several, confidence)
    table.attrs[REPLICATIONS] = {
        key: {name: several[:, column].tolist() for name, several in values.items()} for column, key in enumerate(keys)
    }
    first = next(iter(values.values()))
    for name, several in list(values.items())[1:]:
        table[name + VERSUS], table[name + VERSUS + HALF_WIDTH] = paired_change(several, first, confidence)
    return table
