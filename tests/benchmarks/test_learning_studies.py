"""Studies of agents: which days and windows are whose, and what stands in their tables."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from cluster_sim import Simulation, Workload
from studies import choice_study
from studies.backfilling_study import COMMITTED, ORDERS, mean, played, windows
from studies.carry_study import GRID, platform_for, tuned_rule
from studies.choice_study import METRICS, TAUGHT, UNTAUGHT, compared, main, matrix
from studies.constraint_study import (
    BUSY,
    LIMIT,
    Day,
    best_in_hindsight,
    lay_out,
    least_by_choice,
    markdown,
    measured,
    split,
    threshold_within,
    tightened,
    unknown,
)
from studies.room_study import WINDOWS, changed, choose, drawn, on_later_windows, price, read_log, scheduler, told

from .test_shutdown_study import days, platform


def day(number: int, jobs: int, requested_s: float) -> Day:
    """A day of so many jobs, each of which requests so much time."""
    columns = {
        "requested_cores": [1] * jobs,
        "recorded_run_time": [60.0] * jobs,
        "requested_time": [requested_s] * jobs,
    }
    return Day(Path(f"part/day_{number}.json"), Workload({"submit_time": np.arange(jobs) * 60.0, **columns}))


def test_days_that_share_most_jobs_are_one_day() -> None:
    """A day is unknown that shares at most half of its jobs with each known day and each unknown day before; it has two jobs."""
    known, fresh = day(1, 10, 600.0), day(2, 10, 900.0)
    copies = [replace(one, path=Path(f"copies/{number}.json")) for number, one in enumerate((known, fresh))]
    assert unknown([*copies, fresh, day(3, 1, 60.0)], [known]) == [copies[1]]


def test_every_third_day_of_each_class_is_to_choose_by(tmp_path: Path) -> None:
    """Two of six days of each class are to choose by; each part has files of its own, named by class."""
    classes = [(BUSY, 600.0), (BUSY, 3600.0), (3, 600.0), (3, 3600.0)]
    all_days = [day(number, *classes[number % 4]) for number in range(24)]
    to_learn, to_choose = split(all_days)
    assert len(to_learn) == 16
    assert [one.of_class for one in to_choose] == [
        name for name in ("busy-short", "busy-long", "ordinary-short", "ordinary-long") for _ in range(2)
    ]
    assert {one.path for one in to_learn}.isdisjoint(one.path for one in to_choose)
    source = tmp_path / "part"
    source.mkdir()
    (source / "day_3.json").write_text("{}")
    lay_out({"train": [Day(source / "day_3.json", all_days[0].jobs)]}, tmp_path / "days")
    assert [file.name for file in (tmp_path / "days" / "train").iterdir()] == ["busy-short_part_day_3.json"]


def test_where_a_limit_is_chosen_by_few_days_it_is_tighter() -> None:
    """Stretches of 0.1 and 0.2: standard error 0.05, Student's quantile for 90 % with one degree of freedom 6.314."""
    rows = pd.DataFrame({"class": ["busy-long"] * 2, "stretch": [0.1, 0.2]})
    assert tightened(rows) == {"busy-long": pytest.approx(LIMIT - 6.314 * 0.05, abs=1e-4)}


def test_a_threshold_has_to_keep_the_limit_of_every_class() -> None:
    """The mean of both classes is within 0.2 up to a threshold of 2, but one of them breaks its limit there."""
    rules = {
        threshold: pd.DataFrame({"class": ["busy", "ordinary"], "stretch": stretches})
        for threshold, stretches in ((0.5, [0.1, 0.1]), (1.0, [0.1, 0.2]), (2.0, [0.1, 0.3]), (3.0, [0.1, 0.2]))
    }
    assert threshold_within(rules, {"busy": 0.2, "ordinary": 0.2}) == 1.0
    assert threshold_within(rules, {"busy": 0.2, "ordinary": 0.5}) == 3.0


def test_the_best_in_hindsight_and_the_bound_of_a_choice_by_day() -> None:
    """Two days, two rules, limit 0.2: each rule on the day on which it saves most wastes 1 + 2; no choice within it less."""
    rows = pd.DataFrame(
        [
            {"policy": policy, "day": number, "waste": waste, "stretch": stretch}
            for policy, days_of in {
                "summed-stretch:1": [(1.0, 0.3), (6.0, 0.3)],
                "summed-stretch:2": [(5.0, 0.1), (2.0, 0.1)],
                "agent, seed 0": [(0.0, 0.0), (0.0, 0.0)],
            }.items()
            for number, (waste, stretch) in enumerate(days_of)
        ]
    )
    assert best_in_hindsight(rows, 0.2) == "summed-stretch:2"
    assert least_by_choice(rows, 0.2) == pytest.approx(1.5)
    assert least_by_choice(rows, 0.1) == pytest.approx(3.5, rel=1e-3)


def test_the_table_of_a_limit() -> None:
    """Two ordinary days under a rule and T(0): who wastes less, by how much of the rule's, and days that T(0) does not keep."""
    apart, together = days(36_000.0)[0], days(300.0)[0]
    tested = [Day(Path("part/day_0.json"), apart), Day(Path("part/day_1.json"), together)]
    rows = [row for policy in ("summed-stretch:1", "timeout:0") for row in measured(platform(), tested, policy)]
    rows += [row | {"policy": "their teacher"} for row in measured(platform(), tested, "timeout:0")]
    text = markdown(pd.DataFrame(rows), "summed-stretch:1")
    assert "2 ordinary days, all" in text
    assert "2 ordinary days, those on which `timeout:0` keeps the limit" in text
    [line] = [line for line in text.split("2 ordinary days, all")[1].splitlines() if line.startswith("| `timeout:0`")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1] == "856"  # 2 · 428 W·min on either day; under the rule 428 on the second
    assert cells[2] == "-33.3"  # two days are too few for an interval
    assert cells[4] == ""  # to the teacher, who stands here for the same
    assert cells[6].startswith("0.100")


def test_windows_are_apart_and_rules_are_played_on_each() -> None:
    """Two windows of 256 jobs, each from time 0; every rule that is asked for has a summary of both."""
    jobs = 600
    times = np.random.default_rng(1).lognormal(3.0, 1.0, jobs)
    log = Workload(
        {
            "submit_time": np.arange(jobs) * 10.0,
            "requested_cores": np.full(jobs, 32),
            "requested_time": times,
            "recorded_run_time": times,
        }
    )
    parts = windows(log, 10, jobs)
    assert [len(part) for part in parts] == [256, 256]
    assert [float(part.jobs["submit_time"].iloc[0]) for part in parts] == [0.0, 0.0]
    runs = played(parts, {order: COMMITTED.format(order) for order in ORDERS[3:5]})
    assert [summary["jobs_completed"] for summary in runs["sjf"]] == [256, 256]
    assert set(runs) == {"sjf", "f1"}


def test_what_is_tuned_on_the_earlier_windows_is_tested_on_the_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last 55 % of 200 jobs are 20 windows of 5, which no window before them touches; what is chosen is one of the rules."""
    jobs = 200
    rng = np.random.default_rng(0)
    times = rng.lognormal(4.0, 1.0, jobs).round() + 1.0
    columns = {
        "submit_time": np.arange(jobs) * 20.0,
        "requested_cores": rng.integers(1, 9, jobs),
        "requested_time": times,
        "recorded_run_time": times,
        "user": np.arange(jobs) % 3 + 1,
    }
    (tmp_path / "traces").mkdir()
    Workload(columns).write(tmp_path / "traces" / "log.swf")
    monkeypatch.setattr("studies.room_study.LOGS", {"log": ("log.swf", 8)})
    log = read_log(tmp_path, "log")
    assert [len(window.jobs) for window in log.tested()] == [5] * WINDOWS
    assert log.cut == 100
    monkeypatch.setattr("studies.room_study.STAGES", (2, 3))
    monkeypatch.setattr("studies.room_study.TRIED", 4)
    learned = log.learned(1)
    assert [len(window.jobs) for window in learned] == [5] * 3
    assert max(int(number) for window in learned for number in window.jobs.jobs["job_id"]) <= log.cut
    ends, users = np.arange(jobs) * 20.0 + times, np.arange(jobs) % 3 + 1  # of the log, whose jobs did not wait
    for start in (3, 7):
        known = [log.window(start).known.count(str(user)) for user in (1, 2, 3)]
        assert known == [int((ends[users == user] <= start * 20.0).sum()) for user in (1, 2, 3)]
    rules = ("easy:order=fcfs", "easy:order=saf")
    monkeypatch.setattr("studies.room_study.SHAKES", 2)
    runs = on_later_windows(log, rules)
    assert [len(runs[rule]) for rule in rules] == [WINDOWS, WINDOWS]
    (on_trial,) = on_later_windows(log, ["easy:order=saf,trials=1"]).values()
    vain = [mean(each, "mean_wait_s") - mean(each, "idle_wait_s") for each in (runs["easy:order=saf"], on_trial)]
    assert vain[0] == pytest.approx(0.0, abs=1e-9)
    assert vain[1] > 0.5
    assert "; 2.0 trials in vain for 100 jobs, 1.0 % of the work, without" in told("", on_trial, runs["easy:order=saf"])
    assert choose(log, "easy:order=saf", 0) == choose(log, "easy:order=saf", 0)
    window = log.window(150)
    known = scheduler("easy:order=powers:0.5:1:0:0.5,room=0.02,room_for=60", window.known)
    assert Simulation(log.platform, window.jobs, known).run().summary()["jobs_completed"] == 5
    assert scheduler("easy:order=saf", window.known).spec == "easy:order=saf"
    tried = scheduler("easy:order=powers:1:1:0,trials=2,trial_for=60", window.known)
    assert tried.spec.endswith(",trials=2,trial_for=60")
    some = [drawn(rng, True) for _ in range(30)]
    assert {spec.count(":") for spec in some} == {4, 5}
    assert {spec.partition("trials=")[2][:1] for spec in some} == {"", "1", "2"}
    assert not any("trials" in drawn(rng, True, 0) for _ in range(30))


def test_what_a_smaller_slowdown_costs_counts() -> None:
    """A third of the slowdown is better than all of it, but not for a quarter more to wait."""
    keys = ("mean_bounded_slowdown", "mean_wait_s", "makespan_s")
    first = [
        pd.Series(dict(zip(keys, values, strict=True))) for values in ((3.0, 100.0, 1000.0), (30.0, 300.0, 1000.0))
    ] * 3
    assert price(first, first) == 0.0
    third = [pd.Series(dict(run) | {"mean_bounded_slowdown": run["mean_bounded_slowdown"] / 3}) for run in first]
    assert price(third, first) == pytest.approx((math.log(1 / 3) - 2 / 3) / 2)
    assert changed(third, first) == pytest.approx((-200 / 3, -200 / 3, -200 / 3))
    dearer = [pd.Series(dict(run) | {"mean_wait_s": 1.25 * run["mean_wait_s"]}) for run in third]
    assert price(dearer, first) == pytest.approx(price(third, first) + 1.25)
    assert price(dearer, first) > 0.0 > price(third, first)


def test_a_rule_is_tuned_for_another_machine_on_its_own_days() -> None:
    """As many nodes as the cores need; of equal thresholds the first."""
    other = platform_for("graphite", 40)
    assert (other.node_count, other.core_count) == (3, 48)
    one = tuned_rule(platform(), [part.jobs for part in (day(0, 3, 600.0), day(1, 4, 600.0))])
    assert one in [f"summed-stretch:{threshold:g}" for threshold in GRID]


def choices() -> pd.DataFrame:
    """Six windows: an order, and two agents from one log of which one has half and twice its slowdowns, the other the same."""
    slowdowns = {
        ("saf", "", 0): [2.0, 8.0] * 3,
        (TAUGHT, "log", 0): [1.0, 16.0] * 3,
        (TAUGHT, "log", 1): [2.0, 8.0] * 3,
    }
    rows = []
    for (policy, learned_on, seed), values in slowdowns.items():
        for window, value in enumerate(values):
            where = {"policy": policy, "learned_on": learned_on, "seed": seed, "window": window}
            rows.append(where | dict.fromkeys(METRICS, value))
    return pd.DataFrame(rows)


def test_agents_are_compared_window_by_window_over_their_seeds() -> None:
    """Half and twice as much are as much in the geometric mean; in the arithmetic one 8.5 against 5, and 6.75 over both seeds."""
    rule, agent = compared(choices(), "saf").to_dict("records")
    assert (rule["ratio"], rule["geometric"]) == pytest.approx((0.0, 4.0), abs=1e-9)
    assert (agent["ratio"], agent["least"], agent["most"]) == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)
    assert agent["mean_bounded_slowdown"] == pytest.approx(6.75)
    assert agent["mean_bounded_slowdown_change"] == pytest.approx(35.0)
    half = np.log(2.0) / 2 / np.sqrt(5) * 2.5706  # of the mean of six times ∓ log(2) / 2
    assert agent["ratio_high"] == pytest.approx(100 * np.expm1(half), rel=1e-4)
    text = matrix({"log": compared(choices(), "saf")}, {"from it": (TAUGHT, "log")})
    assert text.splitlines()[-1].startswith("| from it | +0.0: -") or text.splitlines()[-1].startswith(
        "| from it | -0.0: -"
    )


def test_agents_learn_on_the_first_half_and_the_tables_have_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two logs, 80 jobs in windows of 8: 5 to learn from, the last 2 and others to test on; a second call makes nothing anew.

    Agents with other features are only configured.
    """
    rng = np.random.default_rng(0)
    times = rng.lognormal(4.0, 1.0, 80).round() + 1.0
    columns = {"requested_cores": rng.integers(1, 9, 80), "requested_time": times, "recorded_run_time": times}
    (tmp_path / "traces").mkdir()
    Workload({"submit_time": np.arange(80) * 10.0} | columns).write(tmp_path / "traces" / "log.swf")
    for name, value in {
        "FILES": {"log": "log.swf", "other": "log.swf"},
        "CORES": {"log": 8, "other": 16}, "WINDOW": 8, "WINDOWS": 2, "ORDERS": ("fcfs", "saf"),
    }.items():  # fmt: skip
        monkeypatch.setattr(choice_study, name, value)
    whole = choice_study.training

    def short(*args: object) -> object:
        return whole(*args).model_copy(update={"iterations": 1, "episodes": 2})  # type: ignore[arg-type]

    for variant in choice_study.VARIANTS:
        assert whole(["log"], tmp_path / "out", variant, "fcfs", 0).iterations > 1
    kinds = (TAUGHT, UNTAUGHT, choice_study.LONGER, "self-imitation")
    monkeypatch.setattr(choice_study, "VARIANTS", {name: choice_study.VARIANTS[name] for name in kinds})
    monkeypatch.setattr(choice_study, "training", short)
    log = choice_study.read_log(tmp_path, "log")
    assert (len(log.early), len(log.tuned), len(log.tested)) == (40, 2, 2)
    said = CliRunner().invoke(
        main, [str(tmp_path), "--out", str(tmp_path / "out"), "--seeds", "2"], catch_exceptions=False
    )
    for words in (
        f"| log | {TAUGHT} |",
        f"| {UNTAUGHT}, log |",
        "| random |",
        "half as many cores again: change",
        "| from the four others together |",
        "all windows, from all five together, to random: ",
        "| from each of the four others alone for longer |",
        "all windows, from each of the four others alone for longer, to random: ",
    ):
        assert words in said.output
    tables = list((tmp_path / "out" / "tested").rglob("*.csv"))
    before = {path: path.stat().st_mtime_ns for path in tables}
    # Of each log: on both machines two orders, chance and untrained ones, taught and untaught ones from either; on the log's own
    # machine two more kinds from either, and those of several logs.
    assert len(tables) == 2 * (2 * (2 + 2 * 2 + 2 * 2 * 2) + 2 * 2 * 2 + 2 * 2)
    again = CliRunner().invoke(
        main, [str(tmp_path), "--out", str(tmp_path / "out"), "--seeds", "2"], catch_exceptions=False
    )
    assert {path: path.stat().st_mtime_ns for path in tables} == before
    assert again.output.splitlines()[-1] == said.output.splitlines()[-1]
