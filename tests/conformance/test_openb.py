"""Placements of tasks that share GPUs, of Weng et al. (USENIX ATC 2023), arrival by arrival."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from studies.openb_study import ORDER_OF, Arrivals, place_all


@pytest.mark.parametrize("policy", ORDER_OF)
def test_every_arrival_goes_where_it_went(shared: Path, policy: str) -> None:
    """All 10,866 arrivals of the default workload get the node that they got; the others are dropped."""
    folder = shared / "cases" / "gpu-openb"
    with gzip.open(folder / "placements-default-42.json.gz") as file:
        expected = json.load(file)["policies"][policy]
    placed = place_all(Arrivals.read(folder, "default", 42), policy)
    assert placed.node == expected["node"]
    assert placed.allocated[-1] == expected["used_milli"]
    assert placed.fragmented[-1] == pytest.approx(expected["fragmented_milli"], abs=0.01)
