"""A run that is stopped on the way is the run in one go, to the last bit: a stop is no event."""

from __future__ import annotations

import warnings
from dataclasses import replace
from random import Random

import numpy as np
import pandas as pd
import pytest

from cluster_sim import Result
from cluster_sim.engine import SAME_INSTANT
from cluster_sim.errors import ModelWarning
from tests.support.contract import full

TABLES = (*full.TABLES, "attempts", "holds", "stages")


def instants(result: Result) -> list[float]:
    """Times at which something happened, s."""
    jobs = result.jobs[["submit_time", "start_time", "finish_time"]].to_numpy(float).ravel()
    times = np.unique(np.concatenate([jobs, result.node_states["start"], result.power["time"]]))
    return times[np.isfinite(times) & (times > 0.0)].tolist()  # type: ignore[no-any-return]


def near(random: Random, time: float) -> float:
    """The time, one that is the same instant, or one that is just another."""
    way = random.choice([0.0, 1.0, -1.0])
    far = random.choice([2.0**-52, 2.0**-46, SAME_INSTANT - 1.0, 2.0**-40, 1e-9, 0.1])
    return time * (1.0 + way * far)


def check_stops(seed: int) -> None:
    """The run of a seed with stops at, and near, times at which something happens, and by hand as an agent drives it."""
    case = full.full_case(seed)
    if case.options.get("until") is not None:
        case = replace(case, options={key: value for key, value in case.options.items() if key != "until"})
    random = Random(seed)
    # Times that differ by rounding are what stops could join with others.
    scale = random.choice([1.0, 1.0 / 3.0, 1e5 / 7.0])
    jobs = {
        name: [scale * t for t in values]
        if name.endswith("_time") and name not in ("think_time", "fixed_run_time")
        else values
        for name, values in case.jobs.items()
    }
    case = replace(case, jobs=jobs, stops=())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        whole = full.run(case)
        times = instants(whole)
        stops = sorted(near(random, time) for time in random.choices(times, k=12)) if times else []
        stops = [stop for stop in stops if stop < times[-1]]  # a run that is over goes on only if it is told to
        pieces = full.run(replace(case, stops=tuple(stops)))
    for name in TABLES:
        one, two = getattr(whole, name), getattr(pieces, name)
        pd.testing.assert_frame_equal(one, two, check_exact=True, obj=f"seed {seed}, stops {stops}: {name}")


@pytest.mark.parametrize("seed", range(30))
def test_a_run_in_pieces_is_the_run_in_one_go(seed: int) -> None:
    """Every table is the same in every bit, whatever decides and whoever disturbs."""
    try:
        check_stops(seed)
    except full.NotACase as reason:
        pytest.skip(str(reason))
