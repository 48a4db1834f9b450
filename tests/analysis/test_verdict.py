"""The first sentences of pages: which run waited least, and which power policy saves most."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest

from analysis import compare, replication_table, user_table
from analysis.reports.verdict import run_sentence
from analysis.sweep.policies import policies_figure, policies_sentences, policy_rows, power_policies
from cluster_sim import Platform, Simulation, Start, Workload, make_scheduler
from cluster_sim.records.comparison import change_in_words
from cluster_sim.records.result import Result
from cluster_sim.run import View
from cluster_sim.run.decisions import Decision, Preempt, Reject
from schedulers import Scheduler


def runs_of(*schedulers: str) -> dict[str, Result]:
    """Two jobs for all cores, the long one first."""
    times = [20.0, 10.0]
    jobs = {"submit_time": [0.0] * 2, "requested_cores": [2] * 2, "recorded_run_time": times, "requested_time": times}
    platform = Platform.homogeneous(nodes=1, cores=2)
    return {name: Simulation(platform, Workload(jobs), make_scheduler(name)).run() for name in schedulers}


def told(*schedulers: str, waits: dict[str, tuple[float, ...]] | None = None) -> tuple[str, ...]:
    """What is concluded from runs, or from replications with these mean waits."""
    if waits is None:
        return compare(runs_of(*schedulers)).sentences
    summaries = {name: [{"mean_wait_s": each} for each in several] for name, several in waits.items()}
    return compare(runs_of(*waits), replication_table(summaries)).sentences


def test_a_comparison_says_who_waits_least() -> None:
    """First come, first served has waits of 0 and 20 s, the shortest first 10 and 0 s; the jobs change places."""
    sentences = told("fcfs", "sjf")
    assert sentences[0] == "What differs: scheduler (fcfs, sjf)."
    assert sentences[1] == "Mean wait: least under sjf, 5 s; next fcfs, +100 %, in this one workload."
    assert sentences[-1] == "Of 2 jobs 1 start earlier and 1 later under sjf than under fcfs."
    assert told("sjf", "fcfs")[1] == sentences[1]


class PutOffAndRefused(Scheduler):
    """Starts what fits; job b takes the core of job a, which is refused when it comes back."""

    def schedule(self, view: View) -> Iterator[Decision]:
        """As the class says."""
        for job in list(view.pending):
            if job.job_id == "a" and view.now > 0.0:
                yield Reject(job, "no more")
                continue
            if job.job_id == "b":
                for other in list(view.running):
                    yield Preempt(other.job, mode="requeue")
            if placement := view.place(job):
                yield Start(job, placement)


def test_a_job_refused_after_a_run_is_in_no_mean() -> None:
    """Job b waits 0 s, c 9 s; a, which had 5 s of a core, counts in no summary, no first sentence and no table of users."""
    jobs = {"job_id": ["a", "b", "c"], "submit_time": [0.0, 5.0, 6.0], "requested_cores": [1] * 3}
    workload = Workload(jobs | {"recorded_run_time": [100.0, 10.0, 10.0], "user": ["ann", "bob", "ann"]})
    result = Simulation(Platform.homogeneous(nodes=1, cores=1), workload, PutOffAndRefused()).run()
    assert result.summary()["mean_wait_s"] == 4.5
    assert run_sentence(result).startswith("Jobs wait 4.5 s on average, half of them not at all, one 9 s; ")
    users = user_table(result).set_index("user")
    assert users[["jobs", "core_s", "mean_wait_s"]].to_dict("index") == {
        "ann": {"jobs": 1, "core_s": 10.0, "mean_wait_s": 9.0},
        "bob": {"jobs": 1, "core_s": 10.0, "mean_wait_s": 0.0},
    }


def test_a_page_of_one_run_begins_with_waits_use_and_what_was_lost() -> None:
    """Of two jobs for all cores the second waits 20 s; a job too wide for the machine is rejected, and told."""
    assert run_sentence(runs_of("fcfs")["fcfs"]).startswith(
        "Jobs wait 10 s on average, half of them not at all, one 20 s; 100 % of the core time is used; the machine needs "
    )
    jobs = {"submit_time": [0.0, 5.0], "requested_cores": [2, 9], "recorded_run_time": [20.0, 1.0]}
    platform = Platform.homogeneous(nodes=1, cores=2)
    text = run_sentence(Simulation(platform, Workload(jobs), make_scheduler("fcfs")).run())
    assert (text[:14], text[-22:]) == ("No job waits; ", " Of 2 jobs 1 rejected.")
    jobs = {"submit_time": [0.0, 5.0], "requested_cores": [2, 2], "recorded_run_time": [20.0, 1.0]}
    text = run_sentence(Simulation(platform, Workload(jobs), make_scheduler("fcfs"), until=10.0).run())
    assert text.startswith("Of the jobs that started none waits; ")
    assert text.endswith(
        " Of 2 jobs 2 unfinished. Metrics are of the jobs that are over, and so differ from these waits."
    )


def test_equal_waits_name_no_winner() -> None:
    """Nor do runs without a second one, or without waits."""
    assert told("fcfs", "easy")[1] == "Mean wait: the same under fcfs and easy, 10 s."
    assert told("sjf", "fcfs", "easy")[1] == "Mean wait: least under sjf, 5 s; next fcfs, +100 %, in this one workload."
    assert not [each for each in told("fcfs") if "wait" in each]


SJF = (5.5, 5.5, 7.0, 6.0, 6.0)
FCFS = (10.0, 11.0, 12.0, 11.0, 11.0)


@pytest.mark.parametrize(
    ("waits", "sentence"),
    [
        # Of two replications there is no interval: the values are shown.
        ({"fcfs": (10.0, 4.0), "sjf": (5.0, 8.0)},
         "least under sjf, 6.5 s; next fcfs, +7.7 %, replication by replication sjf 5 s, 8 s; fcfs 10 s, 4 s: "
         "too few replications (2) for an interval."),
        # To fcfs 4.5, 5.5, 5, 5, 5 s: mean 5, standard error 0.158, times 2.776 (Student's t) 0.439 or 7.3 % of 6 s.
        ({"fcfs": FCFS, "sjf": SJF}, "least under sjf, 6 s; next fcfs, +83 ± 7.3 %."),
        # To easy -0.5, 0.5, 0.5, 0.5 and -0.5 s.
        ({"fcfs": FCFS, "easy": (5.0, 6.0, 7.5, 6.5, 5.5), "sjf": SJF},
         "no difference shown between sjf (6 s) and easy (6.1 s), over 5 replications; next fcfs, +83 ± 7.3 %."),
        # To easy 0, 1, 2, 2 and 1 s: mean 1.2, standard error 0.374; times 2.776 1.04, for two comparisons times 3.495 1.31.
        ({"easy": (5.5, 6.5, 9.0, 8.0, 7.0), "sjf": SJF}, "least under sjf, 6 s; next easy, +20 ± 17 %."),
        ({"fcfs": FCFS, "easy": (5.5, 6.5, 9.0, 8.0, 7.0), "sjf": SJF},
         "no difference shown between sjf (6 s) and easy (7.2 s), over 5 replications; next fcfs, +83 ± 7.3 %."),
        # In each replication exactly 5 s more.
        ({"fcfs": (10.0, 11.0, 12.0, 13.0, 14.0), "sjf": (5.0, 6.0, 7.0, 8.0, 9.0)}, "least under sjf, 7 s; next fcfs, +71 %."),
        # The same waits in every replication: nothing was random, and so there is one workload only.
        ({"fcfs": (10.0,) * 5, "sjf": (5.0,) * 5}, "least under sjf, 5 s; next fcfs, +100 %, in this one workload."),
        # Two with the same mean: easy is told apart from one of them, and not from the other.
        ({"fcfs": (100.0, 101.0, 102.0, 101.0, 101.0), "sjf": (6.0,) * 5, "ljf": (10.0, 6.0, 2.0, 4.0, 8.0),
          "easy": (7.0, 7.0, 7.1, 7.0, 7.0)},
         "no difference shown between sjf (6 s), ljf (6 s) and easy (7.02 s), over 5 replications; next fcfs, +1,583 ± 15 %."),
        # Two that are the same in every replication are one.
        ({"fcfs": FCFS, "sjf": SJF, "ljf": SJF}, "least under sjf and ljf, 6 s; next fcfs, +83 ± 7.3 %."),
    ],
)  # fmt: skip
def test_the_best_is_compared_with_every_other_run(waits: dict[str, tuple[float, ...]], sentence: str) -> None:
    """By paired intervals that hold for all comparisons together; those that hold 0 are ties."""
    assert told(waits=waits)[1] == f"Mean wait: {sentence}"


def test_only_what_is_shown_is_said_to_move() -> None:
    """The energy falls by 10 J in each of five replications; the makespan goes up and down."""
    summaries = {
        "fcfs": [{"mean_wait_s": 9.0 + r, "energy_j": 100.0 + r, "makespan_s": 50.0} for r in range(5)],
        "sjf": [{"mean_wait_s": 5.0 + r, "energy_j": 90.0 + r, "makespan_s": 50.0 + (-1) ** r * 9} for r in range(5)],
    }
    found = compare(runs_of("fcfs", "sjf"), replication_table(summaries))
    assert "sjf against fcfs: energy −9.8 %." in found.sentences
    assert {(each.metric, str(each.verdict)) for each in found.effects} == {
        ("mean_wait_s", "less"), ("energy_j", "less"), ("makespan_s", "no difference shown"),
    }  # fmt: skip


def test_runs_that_ended_other_jobs_are_told() -> None:
    """Their means are of different jobs."""
    jobs = {"submit_time": [0.0, 5.0], "requested_cores": [2, 2], "recorded_run_time": [20.0, 1.0]}
    platform = Platform.homogeneous(nodes=1, cores=2)
    runs = {
        name: Simulation(platform, Workload(jobs), make_scheduler("fcfs"), until=until).run()
        for name, until in (("whole", None), ("cut", 10.0))
    }
    assert "Means are not of the same jobs: jobs completed, whole 2, cut 0." in compare(runs).sentences


def test_the_same_object_as_text_page_and_document() -> None:
    """In a notebook names are escaped."""
    runs = {f"<b>{name}": run for name, run in runs_of("fcfs", "sjf").items()}
    found = compare(runs)
    assert str(found).splitlines() == list(found.sentences) == found.to_dict()["sentences"]
    assert "<b>" not in found._repr_html_()
    assert "&lt;b&gt;sjf" in found._repr_html_()


def test_power_policies_are_ranked_across_schedulers() -> None:
    """Worked by hand: off saves 40 of 100 J under a and 60 of 200 J under b, 33.3 % in all; sleep 10 and 20 J, and no wait."""
    rows = [
        *(("a", "always-on", 100.0, 10.0), ("a", "off", 60.0, 30.0), ("a", "sleep", 90.0, 10.0)),
        *(("b", "always-on", 200.0, 5.0), ("b", "off", 140.0, 9.0), ("b", "sleep", 180.0, 5.0)),
    ]
    runs = pd.DataFrame(rows, columns=["scheduler", "power_policy", "energy_j", "mean_wait_s"]).assign(replication=0)
    runs.attrs["factors"] = ["scheduler", "power_policy"]
    found = power_policies(runs)
    assert found is not None
    assert policies_sentences(found) == [
        "Energy of power policies over all other factors: least under off, 100 J; next sleep, +35 %, in this one workload.",
        "off against always-on: energy −33 % (by case −40 to −30 %); mean wait +12 s.",
        "sleep against always-on: energy −10 % (by case −10 %); mean wait 0 s.",
    ]
    assert policy_rows(found)[1] == [
        ["off", "33.3 %", "30 to 40 %", "19.5 s", "+12 s", "+4 s to +20 s"],
        ["sleep", "10 %", "10 %", "7.5 s", "0 s", "0 s to 0 s"],
    ]
    best = found.points[found.points["best"]]
    assert sorted(best["name"]) == ["a + off", "a + sleep", "b + off", "b + sleep"]
    assert sum(len(trace.x) for trace in policies_figure(found).data) == 6
    assert power_policies(runs[runs["power_policy"] == "off"]) is None


def test_policies_that_are_not_told_apart_name_no_winner() -> None:
    """Off saves 10 J in each of five replications, sleep 10 J on average and now more, now less; jobs wait 2 s longer."""
    rows = [
        (r, policy, 100.0 + r - saved, 10.0 + r + later)
        for r, odd in enumerate((3.0, -3.0, 2.0, -2.0, 0.0))
        for policy, saved, later in (("always-on", 0.0, 0.0), ("off", 10.0, 2.0), ("sleep", 10.0 + odd, odd))
    ]
    runs = pd.DataFrame(rows, columns=["replication", "power_policy", "energy_j", "mean_wait_s"])
    runs.attrs["factors"] = ["power_policy"]
    found = power_policies(runs)
    assert found is not None
    # 3, -3, 2, -2 and 0 s: standard deviation √(26 / 4), times 2.776 / √5: 3.17 s around 0, or J around -10 of 102.
    assert policies_sentences(found) == [
        "Energy of power policies: no difference shown between off (92 J) and sleep (92 J), over 5 replications; "
        "next always-on, +11 %.",
        "off against always-on: energy −9.8 %; mean wait +2 s (+2 s to +2 s).",
        "sleep against always-on: energy −9.8 ± 3.1 %; mean wait 0 s (−3.17 s to +3.17 s), no difference shown.",
    ]


def test_no_name_of_a_dot_lies_on_another_dot_or_name() -> None:
    """Two policies under six schedulers, four of them near each other: the blue dots are named, and so is what stands apart."""
    names = ["easy", "conservative", "saf-easy", "sjf", "fcfs", "ljf"]
    rows = [
        (name, policy, energy + 0.01 * place, wait + delay)
        for policy, energy, delay in (("always-on", 8.5, 0.0), ("timeout:300", 7.05, 30.0))
        for place, (name, wait) in enumerate(
            zip(names, (3100.0, 3400.0, 3900.0, 7100.0, 16500.0, 51000.0), strict=True)
        )
    ]
    runs = pd.DataFrame(rows, columns=["scheduler", "power_policy", "energy_j", "mean_wait_s"]).assign(replication=0)
    runs.attrs["factors"] = ["scheduler", "power_policy"]
    found = power_policies(runs)
    assert found is not None
    figure = policies_figure(found)
    notes, axes = figure.layout.annotations, (figure.layout.xaxis.range, figure.layout.yaxis.range)
    told = {note.text for note in notes}
    assert {"easy + always-on", "easy + timeout:300", "ljf + always-on", "fcfs + timeout:300"} <= told
    assert all(trace.text is None for trace in figure.data)

    for width in (800.0, 1_200.0):  # of the plot, px: on a page of 1,040 and of 1,440

        def pixel(x: float, y: float, width: float = width) -> tuple[float, float]:
            (left, right), (bottom, top) = axes
            return (x - left) / (right - left) * width, (y - bottom) / (top - bottom) * 308.0

        dots = {
            data[2]: pixel(x, y)
            for trace in figure.data
            for x, y, data in zip(trace.x, trace.y, trace.customdata, strict=True)
        }
        boxes = {}
        for note in notes:
            x, y = pixel(note.x, note.y)
            right, up = (note.ax, -note.ay) if note.showarrow else (note.xshift, note.yshift)
            half = 3.4 * len(note.text)
            boxes[note.text] = (x + right - half, y + up - 6, x + right + half, y + up + 6)
        for name, (left, low, right, high) in boxes.items():
            assert not [
                dot
                for dot, (x, y) in dots.items()
                if left - 5 < x < right + 5 and low - 5 < y < high + 5 and dot != name
            ]
            others = [box for other, box in boxes.items() if other != name]
            assert not [box for box in others if box[0] < right and left < box[2] and box[1] < high and low < box[3]]


def test_runs_in_which_nobody_started_are_left_out() -> None:
    """The first run has no wait to compare with: the others are compared with each other."""
    jobs = {"submit_time": [0.0], "requested_cores": [9], "recorded_run_time": [20.0]}
    nobody = Simulation(Platform.homogeneous(nodes=1, cores=2), Workload(jobs), make_scheduler("fcfs")).run()
    sentences = compare({"nobody": nobody} | runs_of("sjf", "easy")).sentences
    assert "Mean wait: least under sjf, 5 s; next easy, +100 %, in this one workload." in sentences


def test_of_nothing_there_are_no_shares() -> None:
    """A wait that was none has become more, not so many per cent more, nor a number without a unit."""
    assert [change_in_words(100.0, 0.0), change_in_words(50.0, 100.0), change_in_words(300.0, 100.0)] == [
        "more",
        "50 % less",
        "3 times as much",
    ]


def test_only_what_ran_under_all_policies_is_drawn() -> None:
    """Scheduler b ran under one policy alone: it is in neither the table nor the picture; equal dots share one name."""
    rows = [("a", "always-on", 9.0, 1.0), ("a", "off", 5.0, 2.0), ("c", "always-on", 9.0, 1.0), ("c", "off", 5.0, 2.0)]
    columns = ["scheduler", "power_policy", "energy_j", "mean_wait_s"]
    runs = pd.DataFrame([*rows, ("b", "off", 1.0, 0.5)], columns=columns).assign(replication=0)
    runs.attrs["factors"] = ["scheduler", "power_policy"]
    found = power_policies(runs)
    assert found is not None
    assert found.points["name"].tolist() == ["a = c + always-on", "a = c + off"]
    assert found.points["best"].all()
