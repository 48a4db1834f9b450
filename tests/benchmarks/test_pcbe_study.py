"""The study of PCBE: who stands beside the optimum."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.pcbe_study import above_the_optimum


def test_nobody_beats_the_optimum(shared: Path) -> None:
    """Of the author's eight inputs, one configuration of PCBE is best in some; who knows run times is no worse on average."""
    table = above_the_optimum(shared / "cases" / "pcbe")
    assert table.shape[0] == 8
    assert table.to_numpy().min() == pytest.approx(0.0, abs=1e-9)
    means = table.mean()
    assert means["search:metric,clairvoyant=yes"] < means["search:metric,clairvoyant=no"] < means["fcfs"]
    assert means["best of the four fixed"] == pytest.approx(1.25, abs=0.005)
