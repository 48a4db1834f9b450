"""The figures at the head of a page."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.tables.tiles import Tile, direction
from cluster_sim.records.comparison import Effect, Standing


def effect(metric: str, values: list[float], base: list[float], block: str = "replication") -> Effect:
    """The effect of ``values`` against ``base``, one for each block."""
    return Effect.paired(metric, metric, "", ("new", "old"), (np.array(values), np.array(base)), block=block)


@pytest.mark.parametrize(
    ("metric", "values", "expected"),
    [
        ("mean_wait_s", [50.0, 51.0, 49.0, 50.0, 52.0], "better"),
        ("utilisation", [50.0, 51.0, 49.0, 50.0, 52.0], "worse"),
        ("mean_wait_s", [150.0, 151.0, 149.0, 150.0, 152.0], "worse"),
        ("mean_wait_s", [50.0, 151.0, 99.0, 160.0, 52.0], "unsure"),
        ("mean_wait_s", [100.1, 100.1, 100.2, 100.0, 100.1], "unsure"),
        ("mean_wait_s", [50.0, 51.0], "unsure"),
    ],
    ids=["less wait", "less use", "more wait", "a tie", "too little", "too few"],
)
def test_a_tile_has_a_direction_only_where_one_is_shown(metric: str, values: list[float], expected: str) -> None:
    """Less is better of most metrics, more of some; what chance may have made has neither."""
    assert direction(effect(metric, values, [100.0, 101.0, 99.0, 100.0, 102.0][: len(values)])) == expected


def test_a_difference_in_one_workload_is_a_fact() -> None:
    """Two runs of one workload are what they are, whatever chance had made of another."""
    assert direction(effect("mean_wait_s", [50.0], [100.0], "workload")) == "better"
    assert direction(effect("mean_wait_s", [100.0], [100.0], "workload")) == "unsure"
    tile = Tile.of_effect(effect("mean_wait_s", [50.0], [100.0], "workload"))
    assert (tile.value, tile.note) == ("50", "−50 % against 100 under old")


def test_the_best_of_several_is_named_with_the_next() -> None:
    """The tile of three schedulers names the best one and the next."""
    values = {"a": np.array([4.0]), "b": np.array([2.0]), "c": np.array([3.0])}
    standing = Standing.of("mean_wait_s", "mean wait", "s", values, block="workload")
    assert standing is not None
    assert Tile.of_standing(standing) == Tile("mean wait", "2 s", "under b; next c, +50 %")
    alike = Standing.of("mean_wait_s", "mean wait", "s", dict.fromkeys("ab", np.array([2.0])), block="workload")
    assert alike is not None
    assert Tile.of_standing(alike).note == "the same under all"
