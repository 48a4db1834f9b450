"""What a changed slurm.conf would have made: logs of a few jobs, worked by hand."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import what_if
from analysis.whatif import replayed
from analysis.whatif import what_if as whatif_module
from analysis.whatif.charts import waits_of_classes
from analysis.whatif.effects import by_class, most_moved
from analysis.whatif.replayed import CHANGED, RECORDED, UNCHANGED
from analysis.whatif.study import Study, _tiles
from cluster_sim import Simulation, Workload
from cluster_sim.errors import InputError, SchedulerWarning
from cluster_sim.records.intervals import ComparisonVerdict, bootstrap_interval, bootstrap_ratios
from cluster_sim.records.result import Result
from tests.support.sacct_rows import CONF, DAY, HEAD, row, weekly

pytestmark = pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")


def study(folder: Path, rows: list[str], *changes: str, conf: str = CONF, **options: str) -> Study:
    """The what-if of a log with these rows, under EASY unless said otherwise."""
    (folder / "jobs.txt").write_text("\n".join([HEAD, *rows, ""]))
    (folder / "slurm.conf").write_text(conf)
    options = {"baseline": "easy", **options}
    return what_if(folder / "jobs.txt", folder / "slurm.conf", folder / "out", changes, **options)  # type: ignore[arg-type]


def test_a_log_that_is_replayed_exactly(tmp_path: Path) -> None:
    """Bob waits until ann's job ends, 19 min after he came: recorded and replayed alike, so nothing is left to explain."""
    found = study(tmp_path, weekly(3, start=1_200))
    assert found.near_starts == {"1 min": 1.0, "10 min": 1.0, "1 h": 1.0}
    assert found.causes.empty
    table = found.agreement
    assert table.loc["mean wait", [RECORDED, UNCHANGED]].tolist() == [570.0, 570.0]
    # From the first submission to the last: two weeks and a minute, in which are two whole pairs and a minute of ann's third.
    busy = 2 * (4 * 1_200 + 600) + 4 * 60
    assert table.at["utilisation", RECORDED] == pytest.approx(100 * busy / (4 * (14 * DAY + 60)))


def test_what_explains_the_rest(tmp_path: Path) -> None:
    """Four shifts by hand: at the log's beginning, held although there was room, behind another, and overtaken."""
    rows = [
        row(1, 0, 3_600, 600, 4),  # the machine was taken by jobs that the log does not have
        row(2, 2 * DAY, 2 * DAY + 7_200, 600, 1),  # the machine was empty all the time
        row(3, 4 * DAY, 4 * DAY, 600, 4),
        row(4, 4 * DAY + 1, 4 * DAY + 1_200, 600, 4),  # 5 went first, which came later
        row(5, 4 * DAY + 2, 4 * DAY + 600, 600, 4),
    ]
    table = study(tmp_path, rows).causes.set_index("cause")
    assert table["jobs"].to_dict() == {
        replayed.EARLY: 1, replayed.ROOM: 1, replayed.BEHIND: 1, replayed.OVERTAKEN: 1,
    }  # fmt: skip
    assert table["mean_s"].to_dict() == {
        replayed.EARLY: -3_600.0, replayed.ROOM: -7_200.0, replayed.BEHIND: -600.0, replayed.OVERTAKEN: 600.0,
    }  # fmt: skip
    assert table["share"].sum() == pytest.approx(1.0)


def test_what_a_node_more_makes(tmp_path: Path) -> None:
    """With a second node bob never waits: he waits 19 min less, every week; ann, who never waited, as long as before."""
    found = study(tmp_path, weekly(6), nodes="+1")
    effects = found.effects.set_index(["by", "group"])
    assert effects.loc[("user", "bob"), ["recorded_s", "unchanged_s", "changed_s", "change_s"]].tolist() == [
        540,
        1_140,
        0,
        -1_140,
    ]
    assert effects.loc[("partition", "q"), ["change_s", "low_s", "high_s"]].tolist() == [-1_140, -1_140, -1_140]
    assert effects.loc[("all", "all jobs"), ["jobs", "change_s", "low_s", "high_s"]].tolist() == [12, -570, -570, -570]
    assert effects.loc[("user", "ann"), ["change_s", "low_s", "high_s"]].tolist() == [0, 0, 0]
    assert effects.loc["size"].index.tolist() == ["1 CPU", "2–4 CPUs"]
    assert effects.loc["limit", "jobs"].to_dict() == {"up to 1 h": 12}
    assert found.overall.loc["mean wait", [UNCHANGED, CHANGED]].tolist() == [570.0, 0.0]
    half = found.overall.loc["utilisation", [UNCHANGED, CHANGED]]
    assert half[CHANGED] == pytest.approx(half[UNCHANGED] / 2, rel=0.1)  # the same work on twice the CPUs


def test_the_page_and_the_files(tmp_path: Path) -> None:
    """The page has the answer, the replay, both schedules and the moved jobs; both configurations are there as they were used."""
    found = study(tmp_path, weekly(6), "PartitionName=q:MaxTime=30", nodes="+1")
    text = found.save().read_text()
    for part in ("What if PartitionName=q:MaxTime=30; nodes +1?", "How well the unchanged configuration replays the log",
                 "Job 1 waits 19 min less",
                 "−9 min 30 s (−9 min 30 s to −9 min 30 s)", "+PartitionName=q Nodes=n1,added1-[1-1] MaxTime=30"):  # fmt: skip
        assert part in text, part
    assert "nan" not in text.split("<script>clusterSim.figure")[0].partition("<body>")[2]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "whatif.html", "replay.csv", "effects.csv", "unchanged", "changed",
    }  # fmt: skip
    assert "added" in (tmp_path / "out/changed/slurm.conf").read_text()
    assert "added" not in (tmp_path / "out/unchanged/slurm.conf").read_text()
    table = pd.read_csv(tmp_path / "out/replay.csv")
    assert table["changed_wait"].tolist() == [0.0] * 12


def test_a_replay_without_a_change(tmp_path: Path) -> None:
    """Then the page is about the replay; what a change makes cannot be asked for."""
    found = study(tmp_path, weekly(3))
    text = found.save().read_text()
    assert "How well jobs is replayed" in text
    assert "What the change makes" not in text
    with pytest.raises(InputError, match="expected a change"):
        _ = found.effects


def test_by_slurms_own_rules(tmp_path: Path) -> None:
    """Without a word on schedulers both runs follow slurm.conf: what waits for a node starts when the next pass is held."""
    (tmp_path / "jobs.txt").write_text("\n".join([HEAD, *weekly(1, start=1_200), ""]))
    (tmp_path / "slurm.conf").write_text(CONF)
    found = what_if(
        tmp_path / "jobs.txt", tmp_path / "slurm.conf", tmp_path / "out", ["PriorityWeightAge=5"], nodes="+1"
    )
    assert [run.meta["scheduler"].partition(",")[0] for run in found.runs.values()] == [
        f"slurm:conf={tmp_path}/out/{name}/slurm.conf" for name in (UNCHANGED, CHANGED)
    ]
    assert found.near_starts["1 min"] == 1.0
    assert found.jobs[f"{CHANGED}_wait"].max() <= 60.0
    assert not any("not under Slurm's rules" in remark for remark in found.remarks)


def test_a_wrong_value_is_told_before_the_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No job is played before a weight that is no number is refused."""
    played: list[int] = []

    class Noting(Simulation):
        def run(self, until: float | None = None, progress: bool = False, warn: bool = True) -> Result:
            played.append(len(self.workload))
            return super().run(until, progress, warn)

    monkeypatch.setattr(whatif_module, "Simulation", Noting)
    (tmp_path / "jobs.txt").write_text("\n".join([HEAD, *weekly(1), ""]))
    (tmp_path / "slurm.conf").write_text(CONF)
    with pytest.raises(InputError, match="PriorityWeightAge: expected a whole number, found abc"):
        what_if(tmp_path / "jobs.txt", tmp_path / "slurm.conf", tmp_path / "out", ["PriorityWeightAge=abc"])
    assert set(played) == {0}


def test_a_power_policy(tmp_path: Path) -> None:
    """Nodes that sleep take less energy than nodes that idle, and on hardware that switches at once nobody waits longer."""
    found = study(tmp_path, weekly(3), power_policy="timeout:60")
    used = {name: run.summary()["energy_j"] for name, run in found.runs.items()}
    assert used[CHANGED] < 0.5 * used[UNCHANGED]
    assert found.overall.at["mean wait", "change"] == 0.0
    assert any("no difference" in remark for remark in found.remarks)


@pytest.mark.parametrize(
    ("rows", "conf", "remark"),
    [
        (weekly(1), CONF, "The log covers 1 min: with fewer than 5 weeks there are no intervals"),
        (weekly(4), CONF, "The log covers 21 d 00:01: with fewer than 5 weeks there are no intervals"),
        (weekly(5), CONF.replace("CPUs=4", "CPUs=2"), "is it the log of this machine?"),
        (weekly(5), CONF.replace("CPUs=4", "CPUs=2"), "5 of 10 jobs do not start in the unchanged run"),
        (weekly(5), CONF.replace("PartitionName=q", "PartitionName=x"), "configuration does not have: q"),
        ([*weekly(5), row(99, 1, -1, 600, 1)], CONF, "1 of 11 jobs have no recorded start"),
        (weekly(5), CONF, "under easy and not under Slurm's rules"),
    ],
)  # fmt: skip
def test_remarks(tmp_path: Path, rows: list[str], conf: str, remark: str) -> None:
    """What a reader has to know before believing it is told on the page."""
    found = study(tmp_path, rows, conf=conf, nodes="+1")
    assert any(remark in each for each in found.remarks), found.remarks
    assert not found.effects["change_s"].isna().any()


def test_no_job_starts_in_both_runs(tmp_path: Path) -> None:
    """A machine on which nothing fits until it has another node: remarks say so, and the page is written all the same."""
    found = study(
        tmp_path, [row(1, 0, 0, 60, 4), row(2, 9, 60, 60, 4)], conf=CONF.replace("CPUs=4", "CPUs=2"), nodes="+1"
    )
    assert any("nothing to compare" in remark for remark in found.remarks)
    assert found.effects.empty
    assert np.isnan(found.overall.at["mean wait", "change"])
    assert "nothing to compare" in found.save().read_text()


@pytest.mark.parametrize("weeks", [1, 2, 4])
def test_few_weeks_have_no_interval(tmp_path: Path, weeks: int) -> None:
    """The difference is told, and what it was in each week; an interval is not, on the page neither."""
    found = study(tmp_path, weekly(weeks + 1 if weeks > 1 else 1), nodes="+1")
    assert found.effects["low_s"].isna().all()
    assert found.effects.loc[0, "change_s"] == -570.0
    (sentence,) = (each for each in found.comparison.sentences if each.startswith("Mean wait"))
    told = "Mean wait: 0 s instead of 9 min 30 s, 100 % less"
    if weeks == 1:
        assert sentence == f"{told}, in this one week."
    else:
        values = " and ".join([", ".join(["−9 min 30 s"] * (weeks - 1)), "−9 min 30 s"])
        assert sentence == f"{told}; week by week {values}: too few weeks ({weeks}) for an interval."
    assert "95 %" not in found.save().read_text().partition("<body>")[2].split("<script>clusterSim.figure")[0]


def test_an_answer_begins_with_what_differs_and_how_good_the_replay_is(tmp_path: Path) -> None:
    """By hand: recorded 4 min 30 s, replayed 9 min 30 s, changed 0 s; ann starts as recorded, bob 10 min later."""
    found = study(tmp_path, weekly(6), "PriorityWeightAge=5", nodes="+1")
    assert found.comparison.sentences[:3] == (
        "What differs: PriorityWeightAge 5 (it was not set); number of nodes 2 (it was 1).",
        "Replay without a change: jobs start near their recorded start, 50 % within 1 min, 100 % within 10 min, 100 % within "
        "1 h; mean wait 9 min 30 s, in the log 4 min 30 s (+111 %).",
        "Mean wait: 0 s instead of 9 min 30 s, 100 % less "
        "(95 % interval of the change −9 min 30 s to −9 min 30 s, paired over 5 weeks).",
    )


def test_effects_smaller_than_the_replays_error_are_told_so(tmp_path: Path) -> None:
    """Bob waits 19 min in the log's place of 1 s: what the replay is off by is more than what the change makes."""
    rows = []
    for week in range(6):
        at = 7 * DAY * week
        rows += [row(3 * week, at, at + 40_000, 1_200, 4), row(3 * week + 1, at + 60, at + 50_000, 600, 1, "bob", "q")]
    found = study(tmp_path, rows, nodes="+1")
    assert any(
        each.startswith("Smaller than what the replay is off by") and "mean wait (replay off by −" in each
        for each in found.comparison.sentences
    )
    (tile,) = (
        tile for tile in _tiles(found) if tile.name == "mean wait"
    )  # nor is it marked as better at the head of the page
    assert (tile.kind, tile.note.endswith("less than the replay is off by")) == ("unsure", True)
    exact = study(tmp_path, weekly(6, start=1_200), nodes="+1").comparison.sentences
    assert not any("off by" in each and "mean wait" in each for each in exact)


def test_options_that_stay_are_told_and_a_change_that_changes_nothing(tmp_path: Path) -> None:
    """The first sentences say what becomes of a list; one that says what is there already is told so, and how to replace it."""
    conf = "SchedulerParameters=bf_interval=60,bf_window=4320,bf_continue\n" + CONF
    told = study(
        tmp_path, weekly(2), "SchedulerParameters=bf_interval=300", conf=conf, baseline=""
    ).comparison.sentences
    assert told[:2] == (
        "What differs: SchedulerParameters: bf_interval 300 (it was 60).",
        "SchedulerParameters keeps bf_window=4320, bf_continue.",
    )
    told = study(tmp_path, weekly(2), "SchedulerParameters=bf_continue", conf=conf, baseline="").comparison.sentences
    assert told[0] == "Nothing differs in the inputs."
    assert any("SchedulerParameters:=… would replace the whole list" in each for each in told)


def test_what_is_too_small_to_matter_is_no_effect(tmp_path: Path) -> None:
    """Bob waits 9 s less of 9 s, in every week alike: that is less than 10 s, so it is neither coloured nor called shown."""
    rows = []
    for week in range(6):
        at = 7 * DAY * week
        rows += [row(2 * week, at, at, 69, 4), row(2 * week + 1, at + 60, at + 69, 600, 1, "bob", "q")]
    found = study(tmp_path, rows, nodes="+1")
    wait = found.comparison.effects[0]
    assert (wait.verdict, wait.shown) == (ComparisonVerdict.LESS, None)
    assert wait.sentence() == "Mean wait: 0 s instead of 4 s, too little to matter (less than 10 s or 1 %)."
    assert 'li class="better"><span>mean wait' not in found.save().read_text()


@pytest.mark.parametrize(
    ("rows", "conf", "told"),
    [
        ([], CONF, "at least one"),
        ([row(1, 0, -1, 600, 1)], CONF, "expected jobs of which it says when they started"),
        (
            weekly(3),
            CONF.replace("=p ", "=x ").replace("=q ", "=y "),
            "expected a partition of the log (p, q), found x, y",
        ),
    ],
)
def test_logs_that_cannot_be_compared(tmp_path: Path, rows: list[str], conf: str, told: str) -> None:
    """An empty log, one without starts, and one of another machine are told in a line, and nothing is left."""
    with pytest.raises(InputError) as error:
        study(tmp_path, rows, conf=conf)
    assert told in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_log_of_another_format(tmp_path: Path) -> None:
    """Any workload that knows when its jobs started can be replayed."""
    (tmp_path / "slurm.conf").write_text(CONF)
    log = Workload(
        {"submit_time": np.array([0.0, 60.0]), "requested_cores": np.array([4, 1]), "recorded_run_time": np.array([600.0, 60.0]),
         "recorded_wait_time": np.array([0.0, 540.0])}
    )  # fmt: skip
    found = what_if(log, tmp_path / "slurm.conf", tmp_path / "out", baseline="easy")
    assert found.near_starts["1 min"] == 1.0


def jobs_at_random(rng: np.random.Generator) -> pd.DataFrame:
    """Some jobs of the columns that the functions below look at."""
    count = 60
    start = rng.integers(0, 500, count).astype(float)
    return pd.DataFrame(
        {"recorded_start": start, "run_s": rng.integers(1, 80, count), "cores": rng.integers(1, 9, count)}
    )


@pytest.mark.parametrize("seed", range(5))
def test_cores_in_use_by_counting(seed: int) -> None:
    """Core-seconds and the most cores at once are those that counting second by second finds."""
    jobs = jobs_at_random(np.random.default_rng(seed))
    level = np.zeros(1_000)
    for start, run, cores in jobs.astype(int).itertuples(index=False):
        level[start : start + run] += cores
    edges = np.array([0.0, 100.0, 250.0, 1_000.0])
    counted = [level[int(low) : int(high)].sum() for low, high in pairwise(edges)]
    assert replayed.busy_core_s(jobs, RECORDED, edges).tolist() == counted
    begin = np.arange(int(jobs["recorded_start"].min()), 400, 7)
    end = begin + np.arange(len(begin)) + 1
    peaks = replayed._peaks(jobs, RECORDED, begin.astype(float), end.astype(float))
    assert peaks.tolist() == [level[low:high].max() for low, high in zip(begin, end, strict=True)]
    assert replayed.beyond(jobs, 20) == (level.max(), float((level > 20).sum()))


def test_a_bootstrap_over_weeks() -> None:
    """Four weeks of a job that loses 5, one of two that gain 10 each; any may be drawn five times. Four weeks have none."""
    sums, counts = np.array([[20.0], *[[-5.0]] * 4]), np.array([[2.0], *[[1.0]] * 4])
    ((low, high),) = bootstrap_ratios(sums, counts).tolist()
    assert low == -5.0  # (4/5)^5: in a third of all draws the fifth week is not there
    assert 0.0 < high <= 10.0
    assert np.isnan(bootstrap_ratios(sums[:4], counts[:4])).all()
    assert np.isnan(bootstrap_ratios(sums, np.where(counts > 1, counts, 0.0))).all()
    assert bootstrap_interval(np.full(5, 3.0)) == (3.0, 3.0)
    assert np.isnan(bootstrap_interval(np.full(4, 3.0))).all()


def test_the_jobs_that_move_most_are_told() -> None:
    """The two that gain most, then the two that lose most, each from the largest on; who stays or did not start is left out."""
    shifts = [5.0, -1.0, 0.0, 1.0, -3.0, 9.0, -2.0, np.nan]
    jobs = pd.DataFrame({"job_id": list("abcdefgh"), f"{CHANGED}_wait": shifts, f"{UNCHANGED}_wait": [0.0] * 8})
    assert most_moved(jobs, 2)["job_id"].tolist() == ["e", "g", "f", "a"]


def test_classes_of_users_are_sorted_by_their_work(tmp_path: Path) -> None:
    """Users with the most core-seconds come first; users without a name are told so."""
    rows = [row(1, 0, 0, 600, 1, ""), row(2, 1, 1, 600, 2, "cy"), row(3, 2, 700, 60, 1, "bob")]
    table = by_class(study(tmp_path, rows).jobs, "user", (RECORDED, UNCHANGED))
    assert table["group"].tolist() == ["cy", "(none)", "bob"]
    assert table["share"].sum() == pytest.approx(1.0)


def test_what_is_refused_leaves_the_last_study_as_it_was(tmp_path: Path) -> None:
    """The configuration beside the page is that of the page; a wrong value names the change that has it."""
    found = study(tmp_path, weekly(1), "PriorityWeightAge=5000", baseline="")
    found.save()
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("slurm.conf")}
    for change, told in (
        (
            "PriorityWeightAge=abc",
            "^change PriorityWeightAge=abc, PriorityWeightAge: expected a whole number, found abc",
        ),
        ("SchedulerParameters:sched_interval=0", "sched_interval: expected a number >= 1, found 0"),
        ("bf_interval=0", "^change bf_interval=0, SchedulerParameters, bf_interval: expected a number >= 1, found 0"),
        ("bf_interval", "^change bf_interval, SchedulerParameters, bf_interval: .* found nothing"),
    ):
        with pytest.raises(InputError, match=told):
            study(tmp_path, weekly(1), change, baseline="")
    with pytest.raises(InputError, match=r"slurm\.conf line 3, SchedulerParameters, bf_interval: .* found x"):
        study(tmp_path, weekly(1), conf=f"# mine\n\nSchedulerParameters=bf_interval=x\n{CONF}", baseline="")
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("slurm.conf")} == before


def test_limits_of_accounts_hold_under_any_scheduler(tmp_path: Path) -> None:
    """With one job of ann's at a time, her second waits for the first also under EASY; a file that is not there is told."""
    rows = [row(1, 0, 0, 600, 1), row(2, 60, 60, 600, 1)]
    accounts = tmp_path / "accounts.txt"
    accounts.write_text("Account|User|ParentName|Share|MaxJobs\nroot|||1|\nphys||root|1|\nphys|ann||1|1\n")
    conf = "AccountingStorageEnforce=limits\n" + CONF
    starts = [
        study(tmp_path, rows, conf=conf, **more).jobs["unchanged_start"].tolist()
        for more in ({}, {"accounts": str(accounts)})
    ]
    assert [times[1] - times[0] for times in starts] == [60.0, 600.0]
    with pytest.raises(InputError, match=r"^.*nope.txt: expected a readable file"):
        study(tmp_path, rows, conf=conf, accounts=str(tmp_path / "nope.txt"))


def test_only_what_sacct_printed_is_a_log(tmp_path: Path) -> None:
    """A log of another format has no times at which jobs became eligible."""
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "log.swf").write_text("1 0 0 10 1 -1 -1 1 20 -1 1 1 1 1 1 -1 -1 -1\n")
    with pytest.raises(
        InputError, match=r"log.swf: expected what sacct printed .*, found a workload of another format"
    ):
        what_if(tmp_path / "log.swf", tmp_path / "slurm.conf", tmp_path / "out")


def test_waits_and_changes_of_other_sizes_are_each_told_with_their_unit() -> None:
    """Waits of hours beside changes of minutes: no axis is in a unit of its own, by which a row would be in two."""
    table = pd.DataFrame(
        {
            "group": ["a", "b"], "jobs": [9, 1], "recorded_s": [7_200.0, 0.0], "unchanged_s": [3_600.0, 60.0],
            "changed_s": [3_000.0, 120.0], "change_s": [-600.0, 60.0], "low_s": [-900.0, np.nan], "high_s": [-300.0, np.nan],
        }
    )  # fmt: skip
    figure = waits_of_classes(table)
    assert figure.layout.xaxis.ticktext == ("0 s", "30 min", "1 h", "1 h 30 min", "2 h")
    assert figure.layout.xaxis2.ticktext == ("−15 min", "−10 min", "−5 min", "0 s")
    assert figure.layout.xaxis2.title.text == "change of it: left of 0 is less wait"
    changes = {float(x) for trace in figure.data if trace.xaxis == "x2" for x in trace.x}
    assert changes == {-600.0, 60.0}
    assert figure.layout.meta["durations"] == ["xaxis", "xaxis2"]


POLICIES = '''
from cluster_sim.errors import SchedulerWarning
from cluster_sim.run.decisions import Preempt, Start, WakeAt, Withhold
from schedulers import Fcfs, PowerPolicy
import warnings

class Keeps(PowerPolicy):
    """Withholds the node as soon as a job waits, and never asks to be woken."""
    def reserve(self, view):
        return [Withhold(0)] if view.pending else []

class Warns(Fcfs):
    """Says something when it is made, and fails or suspends for ever when it is asked."""
    def __init__(self, fails: bool = False):
        super().__init__()
        self.fails = fails

    def schedule(self, view):
        if view.now == 0:
            warnings.warn("fair shares are not followed", SchedulerWarning)
        elif self.fails:
            raise ValueError("a defect of its own")
        return super().schedule(view)

class Suspends(Fcfs):
    """Suspends what runs after a minute, and never resumes it."""
    def schedule(self, view):
        yield from super().schedule(view)
        if view.now == 0:
            yield WakeAt(60)
        else:
            for running in view.running:
                yield Preempt(running.job, mode="suspend")
'''


def policies(folder: Path) -> str:
    """The file of the policies above."""
    (folder / "own.py").write_text(POLICIES)
    return str(folder / "own.py")


def test_a_power_policy_that_withholds_nodes_is_named(tmp_path: Path) -> None:
    """Not the scheduler alone is to blame for the jobs of the changed run that never start."""
    found = study(tmp_path, weekly(1), power_policy=f"{policies(tmp_path)}:Keeps")
    assert any(
        "2 of 2 jobs do not start in the changed run: the scheduler starts none of them, and Keeps withholds 1 node "
        "without having asked to be woken (WakeAt) (2)" in each
        for each in found.remarks
    ), found.remarks


def test_jobs_that_start_and_never_end_are_told(tmp_path: Path) -> None:
    """A scheduler that suspends for ever leaves nobody who did not start, and still a stall."""
    found = study(tmp_path, weekly(1)[:1], scheduler=f"{policies(tmp_path)}:Suspends")
    assert any("In the changed run 1 job is unfinished" in each for each in found.remarks), found.remarks


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("fails", [False, True])
def test_a_warning_keeps_its_kind_and_outlives_an_error(tmp_path: Path, fails: bool) -> None:
    """What a run warned of is told as what it is, also where the run then fails."""
    own = f"{policies(tmp_path)}:Warns,fails={'yes' if fails else 'no'}"
    ends = pytest.raises(ValueError, match="a defect of its own") if fails else nullcontext()
    with pytest.warns(SchedulerWarning, match="^changed run: fair shares are not followed"), ends:
        study(tmp_path, weekly(1), scheduler=own)
