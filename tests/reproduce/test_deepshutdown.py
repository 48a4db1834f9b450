"""DeepShutdown: how agents, controls and the one-number rule are compared, what the figures show, that claims can fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.reproduce.claims import ClaimVerdict, Kind, judge
from analysis.reproduce.controls import RANDOM_PLAY, TEACHER, UNSEEN, UNTRAINED
from analysis.reproduce.deepshutdown import agents
from analysis.reproduce.deepshutdown.agents import (
    AGENT,
    BUSY,
    EVERY_ORDINARY,
    LIMIT,
    ORDINARY,
    RULE,
    Player,
    chosen_rule,
    compared,
)
from analysis.reproduce.deepshutdown.figures import all_figures
from analysis.reproduce.deepshutdown.paper import ON_BUSY_DAYS, ORDER, PAPER, claims
from analysis.reproduce.deepshutdown.runs import (
    ALL_DAYS,
    BUSY_DAYS,
    ORDINARY_DAYS,
    of_jobs,
    released_days,
    run_day,
    taurus,
    with_gaps,
)
from analysis.reproduce.deepshutdown.tables import BY_GROUPS
from analysis.reproduce.paper import ReproductionSetting
from analysis.reproduce.runner import compute
from learning.tasks.episodes import Episode


def line(days: str, who: str, number: int, waste: float, group: int = 3, stretch: float = 0.1) -> dict[str, Any]:
    """A day's figures; waste by node is a tenth of that by core, ten switches."""
    numbers = {"waste": waste, "node waste": waste / 10.0, "switches": 10.0, "stretch": stretch}
    return {"days": days, "group": group, "day": 0, "who": who, "number": number} | numbers


def test_agents_are_compared_by_their_means_over_days() -> None:
    """Two busy days of 100 and 300 under T(0): a training with 50 and 50 wastes 75 % less, one with 200 twice 0 % less."""
    table = pd.DataFrame(
        [
            line(BUSY, "T(0)", 0, 100.0, 1), line(BUSY, "T(0)", 0, 300.0, 5),
            line(BUSY, AGENT, 0, 50.0, 1), line(BUSY, AGENT, 0, 50.0, 5),
            line(BUSY, AGENT, 1, 200.0, 1), line(BUSY, AGENT, 1, 200.0, 5),
            line(BUSY, RULE, 0, 100.0, 1), line(BUSY, RULE, 0, 100.0, 5),
            line(ORDINARY, "T(0)", 0, 10.0, 1), line(ORDINARY, AGENT, 0, 20.0, 1, 0.4), line(ORDINARY, AGENT, 1, 5.0, 1, 0.2),
        ]
    )  # fmt: skip
    found = compared(table, "row", ("T(0)",))
    assert found["agent/row/all/T(0)/waste"] == [75.0, 0.0]
    assert found["agent/row/group 1/T(0)/waste"] == [50.0, -100.0]
    assert found["agent/row/all/node waste"] == [5.0, 20.0]
    assert found[f"control/row/all/T(0)/waste/{RULE}"] == [50.0]
    assert found["agent/row/ordinary/T(0)/waste"] == [-100.0, 50.0]
    assert found["agent/row/ordinary/stretch"] == [0.4, 0.2]
    assert found["policy/row/all/waste/T(0)"] == 200.0
    for nobody in (UNTRAINED, RANDOM_PLAY, TEACHER, UNSEEN):
        assert found[f"control/row/all/T(0)/waste/{nobody}"] == []


def test_the_threshold_is_chosen_by_waste_within_the_limit() -> None:
    """0.5 wastes least but waits too long; of the other two, 0.3 wastes less. Where all wait too long: the least."""
    waste = {0.1: 30.0, 0.3: 20.0, 0.5: 10.0}
    stretch = {0.1: 0.05, 0.3: LIMIT, 0.5: LIMIT + 0.01}
    rules = pd.DataFrame([{"threshold": t, "day": 0, "waste": waste[t], "stretch": stretch[t]} for t in waste])
    assert chosen_rule(rules) == "summed-stretch:0.3"
    assert chosen_rule(rules.assign(stretch=1.0)) == "summed-stretch:0.1"


def test_what_figs_7_and_8_show_of_jobs() -> None:
    """Ten jobs, a second job 100 s after the first: slowdowns 10 and 100 are logs 1 and 2, the slowest one ran a minute."""
    jobs = pd.DataFrame({"submit_time": [0.0, 100.0, *(1e4 * n for n in range(1, 9))]})
    jobs["slowdown"] = [10.0, 100.0, *[1.0] * 8]
    jobs["run_time"] = [600.0, 60.0, *[6000.0] * 8]
    found = of_jobs(with_gaps(jobs))
    assert found["slowdown 0-5 min"] == pytest.approx(2.0)
    assert np.isnan(found["slowdown 5-60 min"])  # nothing was submitted so; the first job follows none
    assert found["slowdown > 60 min"] == 0.0
    assert found["run time of the slowest"] == pytest.approx(0.0)  # an eighth of ten jobs, rounded, is one
    assert found["run time"] == pytest.approx((np.log10(10.0) + 8 * np.log10(100.0)) / 10)


def test_what_the_percentages_by_group_imply() -> None:
    """Group 4: DS saves 18 % against T(0), OR* 12 % more than DS: 0.7216. Group 5: DS saves 18 % against OR*, so 0.733 / 0.82."""
    implied = {(group, name): ratio for group, name, ratio in BY_GROUPS}
    assert implied[4, "OR*"] == pytest.approx(0.7216)
    assert implied[5, "OR*"] == pytest.approx(0.8939, abs=1e-4)
    assert implied[1, "T(5)"] == pytest.approx(0.87 / (1 - 0.51))


def test_what_the_paper_says_of_all_days_is_no_claim_of_it_on_the_busy_ones() -> None:
    """Every claim on the 1,405 days has a twin on the 48, of ours; and both can fail."""
    of_all = {claim.key: claim for claim in claims() if claim.group == ORDER}
    twins = {claim.key: claim for claim in claims() if claim.group == ON_BUSY_DAYS}
    assert {f"busy/{key}" for key in of_all} == set(twins)
    assert {claim.kind for claim in twins.values()} == {Kind.OURS}
    label = "Taurus, 48 busy days"
    values = {
        f"{label}/{name}/waste avg": waste
        for name, waste in (("OR*", 1.0), ("T(0)", 2.0), ("T(1)", 3.0), ("T(5)", 4.0))
    }
    assert judge(twins["busy/waste-order"], values).verdict is ClaimVerdict.HOLDS
    assert (
        judge(twins["busy/waste-order"], values | {f"{label}/T(1)/waste avg": 1.5}).verdict
        is ClaimVerdict.DOES_NOT_HOLD
    )
    assert judge(twins["busy/ratio/waste/T(1)"], values).verdict is ClaimVerdict.DOES_NOT_HOLD  # 1.5, published 1.127


def test_fig_6_is_by_group_and_as_a_share_of_the_longest_timeout() -> None:
    """Three days of group 1, the last of them tested on: T(0) ends at (1 + 2 + 3) / 12, and a line stands after two days."""
    daily = {"OR*": [1.0, 1.0, 1.0], "T(0)": [1.0, 2.0, 3.0], "T(1)": [2.0, 2.0, 4.0], "T(5)": [3.0, 4.0, 5.0]}
    box = [0.0, 0.1, 0.2, 0.3, 0.4]
    values: dict[str, Any] = {}
    for label in ("Taurus", "Taurus, 48 busy days"):
        values |= {f"{label}/groups": [1, 1, 1], f"{label}/tested": [False, False, True]}
        for name, waste in daily.items():
            names = (
                "slowdown 0-5 min",
                "slowdown 5-60 min",
                "slowdown > 60 min",
                "run time",
                "run time of the slowest",
            )
            values |= {f"{label}/{name}/daily waste": waste} | {f"{label}/{name}/{of} box": box for of in names}
    drawn = {figure.name: figure.plotly for figure in all_figures(values)}
    assert set(drawn) == {"Fig. 6", "Fig. 7", "Fig. 8"}
    curves = {trace["name"]: trace["y"] for trace in drawn["Fig. 6"]["data"][:4]}
    assert curves["T(0)"] == pytest.approx([0.0, 1 / 12, 3 / 12, 6 / 12])
    assert curves["T(5)"][-1] == 1.0
    assert [shape["x0"] for shape in drawn["Fig. 6"]["layout"]["shapes"]] == [2, 2]
    assert [trace["median"] for trace in drawn["Fig. 8"]["data"][:1]] == [[0.2, 0.2]]


def test_the_released_days(shared: Path) -> None:
    """1,405 in all; those to test on come last; every twentieth of the others is 68 days, none of them a busy one."""
    count = {folder: len(list((shared / folder).glob("*.json"))) for folder in ALL_DAYS}
    assert sum(count.values()) == 1405
    assert count[BUSY_DAYS[0]] == 48
    others = sum(count[folder] for folders in ORDINARY_DAYS.values() for folder in folders)
    assert (others, len(range(0, others, EVERY_ORDINARY))) == (1357, 68)
    assert [folder.endswith("_test") for folder in ALL_DAYS] == [False] * 5 + [True] * 4


def test_a_player_plays_a_day_as_the_policies_do(shared: Path) -> None:
    """Agents and rules are compared with policies by the same rules: T(0) as a player leaves the same tables."""
    platform = taurus(shared)
    [day] = released_days(shared, ORDINARY_DAYS["test"][:1], platform, 1)
    played = Player("T(0)", 0, "timeout:0").play(Episode(platform, day, enforce_walltime=True, until=86_400.0))
    theirs = run_day(platform, day, "timeout:0", 0)
    assert played.jobs.equals(theirs.jobs)
    assert played.nodes.equals(theirs.nodes)


def test_agents_and_all_who_learned_nothing_play(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick part trains one fold for two iterations, and has agents, controls, teacher and rule play the days left out."""
    monkeypatch.setattr(agents, "EVERY_ORDINARY", 700)
    [part] = [
        part
        for part in PAPER.parts(ReproductionSetting(True, shared, trainings=tmp_path))
        if part.name == "agent taurus"
    ]
    record = compute(part, shared)
    values = record["values"]
    assert (tmp_path / "quick" / "deepshutdown" / "fold-0").is_dir()
    assert "2 iterations" in record["curtailed"]["agent/taurus/"]
    for days in (BUSY, ORDINARY):
        assert len(values[f"agent/taurus/{days}/T(0)/waste"]) == 1
        for who in (UNTRAINED, RANDOM_PLAY, TEACHER, RULE):
            assert len(values[f"control/taurus/{days}/stretch/{who}"]) == 1
    assert (
        values[f"control/taurus/all/T(0)/waste/{RULE}"][0] > 0.0 > values[f"control/taurus/all/T(0)/stretch/{RULE}"][0]
    )
    assert len(values["agent/taurus/daily waste"]) == 4
