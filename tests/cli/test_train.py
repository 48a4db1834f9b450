"""``train`` and ``evaluate``, and an agent as the scheduler of the other commands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from analysis.reports.training_report import _of_validation
from learning.training.agent import Agent
from learning.training.training import Training

TRAINING = """
environment: {platform: lab.json, workload: jobs.json, options: {num_jobs: 3}}
algorithm: {options: {epochs: 1}}
network: scorer:hidden=8
iterations: 3
episodes: 2
checkpoint_every: 1
baselines: [fcfs]
"""


@pytest.fixture(autouse=True)
def training(here: Path) -> Path:
    """The configuration of a short training."""
    path = here / "training.yaml"
    path.write_text(TRAINING)
    return path


def test_a_training_leaves_a_report(done) -> None:
    """What the best agents of two seeds reach, beside the baseline; curves; settings; how to make it again; names escaped."""
    hostile = TRAINING.replace("jobs.json", '"<i>.json"')
    Path("<i>.json").write_text(Path("jobs.json").read_text())
    Path("training.yaml").write_text(hostile)
    told = done("train", "training.yaml", "--out", "agent", "--seeds", "2", "--report", "--workers", "1").stdout
    assert "The report is agent/report.html" in told
    page = Path("agent/report.html").read_text()
    text = re.sub(r"<[^>]*>", "|", page.partition("<body>")[2])
    reached = re.findall(r"seed (\d): energy_j \S+ after (\d) of 3 iterations", told)
    assert [seed for seed, _ in reached] == ["0", "1"]
    for seed, found in reached:
        assert re.search(rf"\|seed {seed}\|\|[^|]+J\)?\|\|{found} of 3 iterations\|", text)
    assert ("it has learned nothing since" in text) == any(found == "0" for _, found in reached)
    assert "2 trainings, which differ by their seeds, of 3 iterations of 2 episodes, by PPO" in text
    assert "To make it again: |cluster-sim train training.yaml --out agent --seeds 2 --report --workers 1|" in text
    assert page.count('class="plotly-graph-div"') == 7
    assert "<i>.json" not in page


def test_the_report_says_what_the_command_line_says(done) -> None:
    """Both changes of the best agent, by the means and by episode; all baselines; and the title of what decides."""
    several = TRAINING.replace("[fcfs]", "[fcfs, sjf, easy]")
    parts = "validation: {workload: jobs.json, trajectories: {length: 2}, episodes: 3}\n"
    Path("training.yaml").write_text(several + parts)
    told = done("train", "training.yaml", "--out", "agent", "--report", "--workers", "1").stdout
    page = Path("agent/report.html").read_text()
    text = re.sub(r"<[^>]*>", "|", page.partition("<body>")[2])
    changes = re.findall(r"[\d.]+ % (?:less|more)", told.splitlines()[0])
    answer = page.partition('<ul class="sentences">')[2].partition("</ul>")[0]
    assert re.findall(r"[\d.]+ % (?:less|more)", answer) == [changes[0], changes[-1]]
    assert all(f"|{name}|" in text for name in ("FCFS", "Shortest job first", "EASY backfilling"))
    assert "on average; by this the best is kept" in answer
    assert ": too few validation episodes (3) for an interval" in told
    assert "(too few validation episodes (3) for an interval)" in answer


@pytest.mark.parametrize(
    ("logged", "decides", "ending"),
    [
        (["objective_mean"], "objective_mean", "episodes; by this the best is kept"),
        (["objective_mean", "reduction_mean"], "reduction_mean", "mean; by this the best is kept"),
        (["objective_mean", "reduction_mean", "share"], "share", "validation; by this the best is kept"),
        (["objective_mean", "cost_over"], "objective_mean", "by this the best is kept of those within the limit"),
    ],
)
def test_what_decides_is_drawn_first(logged: list[str], decides: str, ending: str) -> None:
    """The share of limits, else the ratios to the best baselines, else the objective: its title says so, no other does."""
    titles = _of_validation([f"validation/{name}" for name in logged])
    assert next(iter(titles)) == f"validation/{decides}"
    assert titles[f"validation/{decides}"].endswith(ending)
    assert sum("is kept" in title for title in titles.values()) == 1


def test_numbers_that_are_none_are_told(done) -> None:
    """Entropy without a number in all updates, the divergence in one of them, infinite in another."""
    done("train", "training.yaml", "--out", "agent", "--workers", "1")
    log = pd.read_csv("agent/metrics.csv")
    log["train/entropy_loss"] = np.nan
    log["train/approx_kl"] = [np.nan, np.nan, np.inf, 0.25]
    log.to_csv("agent/metrics.csv", index=False, na_rep="nan")
    done("train", "training.yaml", "--out", "agent", "--workers", "1", "--resume", "--report")
    page = Path("agent/report.html").read_text()
    assert "Loss of entropy: towards 0 the agent draws less and less: no finite number in 3 of 3 updates." in page
    assert "(approximate KL divergence): no finite number in 2 of 3 updates." in page


def test_a_training_on_the_built_in_case_leaves_a_report(done) -> None:
    """Without platform and workload the page says so, and begins with what came out."""
    Path("plain.yaml").write_text("iterations: 0\nepisodes: 1\nnetwork: scorer:hidden=8\nvalidation: {episodes: 1}\n")
    done("train", "plain.yaml", "--out", "agent", "--report", "--workers", "1")
    page = Path("agent/report.html").read_text()
    assert re.search(
        r"<h1>Training: job-node, the built-in jobs</h1>\s*<ul class=.sentences.>\s*<li>No baseline was asked for", page
    )
    assert "by PPO, on the built-in cluster." in page


def test_train_and_use(done) -> None:
    """An agent is trained, and then runs, is compared, and is evaluated."""
    told = done("train", "training.yaml", "--out", "agent").stdout
    assert "seed 0: energy_j" in told
    value, baseline = (float(re.search(pattern, told)[1]) for pattern in (r"energy_j (\S+) after", r"fcfs \((\S+)\)"))
    change, word = re.search(r"(\S+) % (less|more) than fcfs", told).groups()
    assert float(change) == pytest.approx(100 * abs(1 - value / baseline), abs=0.005)
    assert word == ("less" if value <= baseline else "more")
    lab = ("--platform", "lab.json", "--workload", "jobs.json")
    done("run", *lab, "--scheduler", "learned:agent", "--out", "run")
    done("compare", *lab, "--scheduler", "learned:agent,sample=yes", "--scheduler", "fcfs", "--out", "compared")
    told = done(
        "evaluate",
        "agent",
        "--workload",
        "jobs.json",
        "--runs",
        "3",
        "--heuristic",
        "fcfs",
        "--workers",
        "1",
        "--out",
        "tables",
    ).stdout
    assert "the best heuristic: fcfs" in told
    runs = pd.read_csv("tables/runs.csv")
    energy = json.loads(Path("run/summary.json").read_text())["energy_j"]
    assert runs.loc[runs["mode"] == "greedy", "energy_j"].tolist() == [energy]
    assert json.loads(Path("tables/evaluation.json").read_text())["command"].startswith("cluster-sim evaluate agent")


def test_an_agent_that_a_configuration_names_lies_beside_it(here: Path, done, refused) -> None:
    """As other files do, and not in the current folder; absolute paths and names of ready agents are what they are."""
    done("train", "training.yaml", "--iterations", "0", "--out", "study/agent")
    lab = "platform: ../lab.json\nworkload: ../jobs.json\n"
    config = here / "study" / "run.yaml"
    for scheduler in ("learned:agent", f"learned:{here / 'study' / 'agent'},sample=yes"):
        config.write_text(f"{lab}scheduler: {scheduler}\n")
        done("run", "study/run.yaml", "--out", "out")
    config.write_text(f"{lab}power_policy: learned:taurus-sleep\n")
    (here / "taurus-sleep").mkdir()  # in the current folder: not what the configuration means
    done("run", "study/run.yaml", "--out", "out")
    (here / "taurus-sleep").rmdir()
    (here / "study" / "agent").rename(here / "agent")
    config.write_text(f"{lab}scheduler: learned:agent\n")
    told = refused("run", "study/run.yaml", "--out", "other")
    assert told.startswith("study/run.yaml: learned:study/agent: expected a folder in which cluster-sim train has left")
    assert told.endswith("found no such folder")


def test_trainings_and_agents_are_checked(done, refused) -> None:
    """validate reads a training's configuration with all that it names, and an agent; train refuses with the file's name."""
    assert "training configuration, valid" in done("validate", "training.yaml").stdout
    done("train", "training.yaml", "--iterations", "0", "--out", "agent")
    assert "agent, valid" in done("validate", "agent").stdout
    for right, wrong, message in (
        (
            "scorer:hidden=8",
            "scorer:hidden=-1",
            "network 'scorer:hidden=-1', option hidden: expected a whole number of units",
        ),
        (
            "scorer:hidden=8",
            "scorer:hidden=99999",
            "network 'scorer:hidden=99999', option hidden: expected a whole number of units",
        ),
        ("scorer:hidden=8", "unheard-of", "network: expected one of"),
        ("{epochs: 1}", "{epochs: few}", "algorithm, options, epochs: expected a whole number above 0, found few"),
        ("num_jobs: 3", f"num_jobs: {2**64}", "JobNode on 3 nodes, num_jobs: expected an integer from 1 to 333333"),
        ("[fcfs]", "[best]", "scheduler: expected one of"),
    ):
        Path("training.yaml").write_text(TRAINING.replace(right, wrong))
        for words in (("validate", "training.yaml"), ("train", "training.yaml", "--out", "o")):
            assert refused(*words).startswith(f"training.yaml: {message}")
        assert not Path("o").exists()


def test_agents_are_evaluated_on_a_folder_of_days(done, refused) -> None:
    """Every workload in the folder is a case, as in training; parts of it cannot be asked for."""
    Path("days").mkdir()
    for day in ("monday", "tuesday"):
        Path("days", f"{day}.json").write_text(Path("jobs.json").read_text())
    done("train", "training.yaml", "--iterations", "0", "--out", "agent")
    few = ("--runs", "1", "--heuristic", "fcfs", "--workers", "1", "--out", "tables")
    assert "2 cases" in done("evaluate", "agent", "--workload", "days", *few).stdout
    inputs = json.loads(Path("tables/evaluation.json").read_text())["inputs"]
    assert set(inputs) == {"days/monday.json", "days/tuesday.json"}
    line = refused("evaluate", "agent", "--workload", "days", "--first", "5", *few)
    assert line == "days: expected a file, to take a part of; of a folder of days, every day is a case, found a folder"


def test_what_can_be_refused_at_once_is_refused_before_anything_is_warned_of(done, refused) -> None:
    """A log of which a job is dropped: one line for a misspelt name, and for a folder in which a training lies already."""
    Path("log.swf").write_text(Path("log.swf").read_text() + "4 30 -1 -1 1 -1 -1 1 20 -1 5 2 1 1 1 1 -1 -1\n")
    Path("training.yaml").write_text(TRAINING.replace("jobs.json", "log.swf"))
    train = ("train", "training.yaml", "--iterations", "0", "--out", "agent")
    assert "1 no run time" in done(*train).stderr
    again = "agent: expected a folder without a training in it, or --resume"
    assert refused(*train).startswith(again)
    assert refused(*train, "--seed", "7", "--resume").startswith("agent/config.yaml, seed: expected 0, with which")
    assert refused(*train, "--seeds", "2").startswith("agent: expected a folder for trainings with several seeds")
    evaluate = ("evaluate", "agent", "--workload", "log.swf", "--runs", "1", "--out", "tables")
    assert refused(*evaluate, "--metric", "energy").startswith("evaluate, metric: expected a key of summary.json")
    assert "fcfss" in refused(*evaluate, "--also", "fcfss")


def test_an_agent_for_nodes_is_told_with_what_it_assumes(done) -> None:
    """The report gives the objective with the sign opposite to the reward's; evaluation says that switching costs nothing."""
    nodes = "{kind: node-shutdown, platform: 'homogeneous:nodes=3,cores=4', workload: log.swf}"
    Path("nodes.yaml").write_text(f"environment: {nodes}\niterations: 1\nepisodes: 1\nnetwork: scorer:hidden=4\n")
    told = done("train", "nodes.yaml", "--out", "agent", "--workers", "1", "--report").stdout
    assert (value := re.match(r"seed 0: minus the reward (\S+) after", told))
    row = pd.read_csv("agent/metrics.csv").iloc[-1]
    assert row["rollout/objective_mean"] == -row["rollout/ep_rew_mean"]
    assert float(value[1]) == pytest.approx(Agent.load("agent").facts["value"], rel=1e-5)
    assert ">minus the reward</th>" in Path("agent/report.html").read_text()
    assert re.search(rf"\n  objective +minus the reward\n  value +{value[1]}", done("validate", "agent").stdout)
    few = ("--workload", "log.swf", "--heuristic", "timeout:0", "--runs", "1", "--workers", "1", "--out", "tables")
    assert "nodes state none; they switch in 0 s for 0 J" in done("evaluate", "agent", *few).stderr


def test_interrupted_and_resumed(command, done, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with status 130 and leaves a training that goes on."""
    step = Training.step

    def interrupted(training: Training) -> dict[str, float]:
        if training.iteration == 2:
            raise KeyboardInterrupt
        return step(training)

    monkeypatch.setattr(Training, "step", interrupted)
    result = command("train", "training.yaml", "--out", "agent")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (130, "cluster-sim: interrupted")
    monkeypatch.setattr(Training, "step", step)
    assert json.loads(Path("agent/checkpoint/state.json").read_text())["tree"]["of"][1] == ["iteration", 2]
    assert "of 3 iterations" in done("train", "training.yaml", "--out", "agent", "--resume").stdout
    assert len(pd.read_csv("agent/metrics.csv")) == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["train", "gone.yaml", "--out", "o"], "gone.yaml: expected a readable file"),
        (["train", "training.yaml"], "Missing option '--out'"),
        (["train", "training.yaml", "--out", "lab.json"], "Invalid value for '--out'"),
        (["train", "training.yaml", "--out", "o", "--seeds", "0"], "Invalid value for '--seeds'"),
        (["train", "wrong.yaml", "--out", "o"], "wrong.yaml: expected iterations (the nearest known name)"),
        (["train", "absent.yaml", "--out", "o"], "jobs.swf: expected a workload file"),
        (
            ["evaluate", ".", "--workload", "jobs.json", "--out", "o"],
            "learned:.: expected a folder in which cluster-sim",
        ),
        (
            ["run", "-w", "log.swf", "-s", "learned:.", "--out", "o"],
            "learned:.: expected a folder in which cluster-sim",
        ),
        (
            ["run", "-w", "log.swf", "--power-policy", "learned:.", "--out", "o"],
            "learned:.: expected a folder in which",
        ),
        (["run", "-w", "log.swf", "-s", "learned", "--out", "o"], "scheduler 'learned': expected other arguments"),
    ],
)
def test_what_is_wrong_ends_in_a_line(here: Path, refused, words: list[str], told: str) -> None:
    """Exit status 2, and one line on stderr."""
    (here / "wrong.yaml").write_text("iteration: 5")
    (here / "absent.yaml").write_text("environment: {platform: lab.json, workload: jobs.swf}")
    assert told in refused(*words)


def test_environments_are_listed(done) -> None:
    """By their ids in Gymnasium."""
    told = done("list", "environments").stdout
    assert [line.split()[0] for line in told.splitlines()] == [
        "ClusterSim/JobNode-v0",
        "ClusterSim/PolicySelection-v0",
        "ClusterSim/JobChoice-v0",
        "ClusterSim/NodeShutdown-v0",
        "ClusterSim/JobsAndNodes-v0",
    ]
