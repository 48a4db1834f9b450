"""The study of PCBE: who stands beside the optimum, and what the ageing threshold does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from analysis.reproduce.controls import UNTRAINED, leave
from cluster_sim import Platform
from learning.training.configuration import read_config, write_config
from studies.pcbe_study import AGENTS, PLAYS, Input, above_the_optimum, figures, players, windows

CONFIG = Path(__file__).resolve().parents[2] / "examples" / "training" / "pcbe-energy.yaml"
SCALE = Path("cases", "pcbe", "scale-table-5.3", "platform.json")


def test_nobody_beats_the_optimum(shared: Path) -> None:
    """No run needs less than the optimum of the eight inputs. Knowing the run times makes the search better."""
    table = above_the_optimum(shared / "cases" / "pcbe")
    assert table.shape[0] == 8
    assert table.to_numpy().min() == pytest.approx(0.0, abs=1e-9)
    means = table.mean()
    assert means["search:metric,clairvoyant=yes"] < means["search:metric,clairvoyant=no"] < means["fcfs"]
    assert means["best of the four fixed"] == pytest.approx(1.25, abs=0.005)


def test_an_agent_stands_beside_its_controls(shared: Path, tmp_path: Path) -> None:
    """An agent has values for its own metric alone, on draws, too. Random play is the mean of several plays, which differ."""
    config = read_config(CONFIG)
    leave(UNTRAINED, config, tmp_path / "agent", range(2))
    write_config(config, tmp_path / "agent" / "config.yaml")
    beside = players(tmp_path / "agent", tmp_path / "controls")
    assert [len(runs) for runs in beside.values()] == [2, 1, 5, PLAYS]
    table = above_the_optimum(shared / "cases" / "pcbe", {"energy": beside}, draws=1)
    assert table[AGENTS].notna().tolist() == [True] * 4 + [False] * 4 + [True, False]
    assert table.min().min() > -1e-9
    _, platform, workload = next(windows_of_lublin(shared))
    energies = {figures(platform, workload, spec, seed=seed)["energy_j"] for spec, seed in beside["random play"]}
    assert len(energies) == PLAYS


def windows_of_lublin(shared: Path, load: float | None = None) -> Iterator[Input]:
    """Return stretches of 40 jobs of Lublin-256 on the machine of the scale run."""
    platform = Platform.read(shared / SCALE)
    return islice(windows(shared / "traces" / "lublin_256.swf.gz", platform, 40, 4, load), 2)


@pytest.mark.parametrize("load", [0.6, 1.2])
def test_stretches_have_the_load_that_is_asked_for(shared: Path, load: float) -> None:
    """Work over what three nodes of 64 cores at 3.0 GHz and nine of 8 at 4.2 can do between first and last submission."""
    for _, _, workload in windows_of_lublin(shared, load):
        jobs = workload.jobs
        work = float((jobs["requested_time"] * jobs["requested_cores"]).sum()) * 2.5
        assert work / ((192 * 3.0 + 72 * 4.2) * jobs["submit_time"].max()) == pytest.approx(load)


def test_ageing_all_jobs_is_ageing_none(shared: Path) -> None:
    """Aged jobs keep the order of their keys: a threshold of 0 and one without end make one schedule."""
    changed = False
    for _, platform, workload in windows_of_lublin(shared, 1.2):
        none, every, some = (figures(platform, workload, f"pcbe:aging={seconds}") for seconds in ("inf", 0, 600))
        assert every == none
        changed |= some != none
    assert changed
