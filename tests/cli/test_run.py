"""``cluster-sim run``: options and configurations become a simulation, and the folder of results."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from platform import python_implementation
from typing import Any

import numpy as np
import pandas as pd
import pytest

LAB = ("run", "--platform", "lab.json", "--workload", "jobs.json", "--out", "out")


def summary(folder: str | Path) -> dict[str, Any]:
    """What summary.json says."""
    return json.loads((Path(folder) / "summary.json").read_text())


def test_a_run_leaves_its_records(done) -> None:
    """The folder has the promised files, with the promised columns and keys."""
    done(*LAB)
    assert {path.name for path in Path("out").iterdir()} == {
        "summary.json",
        "platform.json",
        "conditions.json",
        "jobs.csv",
        "node_states.csv",
        "nodes.csv",
        "power.csv",
    }
    jobs = pd.read_csv("out/jobs.csv")
    promised = "job_id submit_time start_time finish_time state requested_cores requested_time allocation"
    assert set(promised.split()) <= set(jobs.columns)
    assert jobs["job_id"].tolist() == [f"j{i}" for i in range(8)]
    assert list(pd.read_csv("out/node_states.csv").columns) == ["node", "state", "start", "end"]
    assert list(pd.read_csv("out/power.csv").columns) == ["time", "watts"]
    keys = "energy_j makespan_s edp_js mean_wait_s mean_bounded_slowdown utilisation jobs_completed jobs_killed"
    assert set(keys.split()) <= set(summary("out"))


def test_the_summary_says_how_it_was_made(done) -> None:
    """Versions, seed, the command as typed, and the checksums of the inputs."""
    done(*LAB, "--seed", "7", "--scheduler", "list:first/first,blocking=no")
    said = summary("out")
    typed = "cluster-sim run --platform lab.json --workload jobs.json --out out --seed 7 --scheduler "
    assert said["command"] == typed + "list:first/first,blocking=no"
    assert said["seed"] == 7
    assert said["version"]
    assert said["made_with"]["numpy"] == np.__version__
    assert list(said["made_with"])[:4] == [python_implementation(), "simpy", "numpy", "pandas"]
    sums = {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in ("lab.json", "jobs.json")}
    assert said["inputs"] == sums
    assert said["scheduler"] == "list:first/first,blocking=no"
    assert said["power_policy"] == "always-on"


def test_files_in_the_scheduler_s_options_are_inputs(done) -> None:
    """Their checksums are recorded; a configuration names them from where it stands."""
    Path("study").mkdir()
    conf = Path("study/slurm.conf")
    conf.write_text(
        "NodeName=n[1-4] CPUs=8\nPartitionName=p Nodes=ALL Default=YES\nPriorityType=priority/multifactor\n"
    )
    spec = "easy:order=multifactor:conf={}"
    Path("study/run.yaml").write_text(
        f"platform: ../lab.json\nworkload: ../jobs.json\nscheduler: '{spec.format('slurm.conf')}'\n"
    )
    done("run", "study/run.yaml", "--out", "out")
    assert summary("out")["inputs"][str(conf)] == hashlib.sha256(conf.read_bytes()).hexdigest()
    assert summary("out")["scheduler"] == spec.format(conf)


def test_a_command_with_odd_words_is_recorded_quoted(done) -> None:
    """The command in the summary can be pasted into a shell."""
    done("run", "-p", "lab.json", "-w", "jobs.json", "--out", "my results")
    assert summary("my results")["command"].endswith("--out 'my results'")


def test_results_are_printed_with_units(done) -> None:
    """Summary and place on stdout; nothing on stderr, which is no terminal here."""
    result = done(*LAB)
    line = next(line for line in result.stdout.splitlines() if line.startswith("energy "))
    assert line.split()[-1] in ("J", "kJ", "kWh")
    assert "The results are in out" in result.stdout
    assert result.stderr == ""


def test_a_log_brings_its_machine(done) -> None:
    """Without a platform, an SWF log runs on as many one-core nodes as its header says: FCFS by hand."""
    done("run", "--workload", "log.swf", "--out", "out")
    jobs = pd.read_csv("out/jobs.csv")
    assert jobs["start_time"].tolist() == [0.0, 100.0, 150.0]
    assert jobs["finish_time"].tolist() == [100.0, 150.0, 160.0]
    assert len(json.loads(Path("out/platform.json").read_text())["clusters"]) == 1
    assert jobs["allocation"].iloc[2] == "cluster0.node0.processor0:0-0"


def test_a_log_that_does_not_say_gets_its_widest_job(done) -> None:
    """Without MaxProcs there is a warning, and a platform on which every job fits."""
    lines = Path("log.swf").read_text().splitlines()
    Path("bare.swf").write_text("\n".join(line for line in lines if not line.startswith(";")))
    result = done("run", "--workload", "bare.swf", "--out", "out")
    assert result.stderr.startswith("cluster-sim: warning: bare.swf: no MaxProcs")
    assert summary("out")["jobs_completed"] == 3


@pytest.mark.parametrize("name", ["MaxProcs", "MaxNodes"])
def test_first_takes_jobs_but_leaves_the_machine(done, name) -> None:
    """--first shortens the workload; the platform is still the whole log's."""
    text = Path("log.swf").read_text().replace("MaxProcs", name)
    Path("log.swf").write_text(text)
    done("run", "--workload", "log.swf", "--first", "1", "--out", "out")
    assert summary("out")["jobs_completed"] == 1
    assert len(pd.read_csv("out/node_states.csv")["node"].unique()) == 8


def test_options_reach_the_simulation(done) -> None:
    """Walltime, horizon, models and quirks do what they say."""
    done("run", "-w", "log.swf", "-p", "homogeneous:nodes=8,cores=1", "--until", "30", "--out", "a")
    assert summary("a")["jobs_unfinished"] == 3
    Path("log.swf").write_text(Path("log.swf").read_text().replace(" 120 ", " 90 "))
    done("run", "-w", "log.swf", "--enforce-walltime", "--out", "b")
    assert summary("b")["jobs_killed"] == 1
    done(*LAB[:-1], "c", "--power-model", "baseline", "--contention-model", "none")
    said = summary("c")
    assert (said["power_model"], said["contention_model"]) == ("baseline", "none")
    assert said["energy_idle_j"] == 0.0
    done(*LAB[:-1], "d", "--quirk", "textual-node-order", "--quirk", "low-power-means-high")
    assert summary("d")["quirks"] == ["low-power-means-high", "textual-node-order"]


@pytest.mark.parametrize("unit", ["min", "minutes"])
def test_times_can_be_in_minutes(done, unit) -> None:
    """A log that counts minutes takes sixty times as long."""
    done("run", "-w", "log.swf", "--time-unit", unit, "--out", "out")
    assert pd.read_csv("out/jobs.csv")["finish_time"].tolist() == [6000.0, 9000.0, 9600.0]


def test_reports_of_runs_that_show_nothing(done) -> None:
    """All jobs are too wide; the only job takes no time."""
    fields = "4 -1 -1 4 100 -1 1 1 1 1 1 1 -1 -1"
    Path("wide.swf").write_text(f"1 0 -1 100 {fields}\n2 5 -1 100 {fields}\n")
    Path("nothing.swf").write_text(f"1 0 -1 0 {fields}\n")
    for log, platform in (("wide.swf", "homogeneous:nodes=1,cores=2"), ("nothing.swf", "homogeneous:nodes=1,cores=4")):
        words = ("--workload", log, "--platform", platform, "--report", "--out", log.partition(".")[0])
        assert "the report is" in done("run", *words).stdout
        assert "the report is" in done("compare", *words, "--scheduler", "fcfs", "--scheduler", "easy").stdout


def test_parquet_and_report(done) -> None:
    """Tables as parquet, and a page with the chart."""
    pytest.importorskip("pyarrow")
    result = done(*LAB, "--format", "parquet", "--report")
    assert len(pd.read_parquet("out/jobs.parquet")) == 8
    assert "the report is out/report.html" in result.stdout
    assert "<html" in Path("out/report.html").read_text()


def test_results_join_what_is_in_the_folder(done) -> None:
    """A run replaces the files it makes and leaves all others alone, without leftovers."""
    Path("out").mkdir()
    Path("out/notes.txt").write_text("mine")
    done(*LAB)
    done(*LAB)
    assert Path("out/notes.txt").read_text() == "mine"
    assert len(list(Path("out").iterdir())) == 8


def test_two_runs_are_byte_identical(done) -> None:
    """Same input, same seed: the same tables."""
    for folder in ("a", "b"):
        done(*LAB[:-1], folder, "--scheduler", "list:random/random", "--seed", "3")
    assert Path("a/jobs.csv").read_bytes() == Path("b/jobs.csv").read_bytes()
    assert Path("a/power.csv").read_bytes() == Path("b/power.csv").read_bytes()


# ---------------------------------------------------------------------- configurations


@pytest.mark.parametrize("name", ["study.yaml", "study.json"])
def test_a_configuration_is_options_in_a_file(done, name) -> None:
    """The same run, from options and from a file; files named in it are beside it."""
    Path("deep").mkdir()
    for file in ("lab.json", "jobs.json"):
        Path("deep", file).write_bytes(Path(file).read_bytes())
    settings = {"platform": "lab.json", "workload": "jobs.json", "scheduler": "sjf", "quirks": ["textual-node-order"]}
    Path("deep", name).write_text(json.dumps(settings))
    done("run", f"deep/{name}", "--out", "a")
    done(*LAB[:-1], "b", "--scheduler", "sjf", "--quirk", "textual-node-order")
    assert Path("a/jobs.csv").read_bytes() == Path("b/jobs.csv").read_bytes()
    assert set(summary("a")["inputs"]) == {"deep/lab.json", "deep/jobs.json", f"deep/{name}"}
    assert summary("a")["quirks"] == ["textual-node-order"]


def test_options_override_a_configuration(done) -> None:
    """What is typed counts more than what is in the file."""
    Path("study.yaml").write_text(
        "workload: log.swf\nseed: 3\nfirst: 2\nscheduler: sjf\nuntil: 5000\nreport: false\nformat: csv\n"
        "time_unit: min\nenforce_walltime: true\npower_policy: always-on\ncontention_model: none\npower_model: linear\n"
    )
    done("run", "study.yaml", "--scheduler", "ljf", "--first", "1", "--out", "out")
    said = summary("out")
    assert (said["scheduler"], said["seed"], said["jobs_submitted"], said["until_s"]) == ("ljf", 3, 1, 5000.0)
    assert said["enforce_walltime"] is True


OPTIONS = {"platform_file": "irmasim.json", "platform_name": "small", "workload_file": "jobs.json", "seed": 1995}
HIGH_GFLOPS = {"actions": {"selection": [{"first": ["high_gflops"]}]}}


def irmasim_platform() -> dict[str, Any]:
    """Two platforms in IRMaSim's layout, of which the options choose one."""
    clusters = [{"nodes": [{"type": "n", "number": 3}]}]
    return {
        "platform": {name: {"clusters": clusters, "model_name": "modelV1"} for name in ("small", "other")},
        "node": {"n": {"processors": [{"type": "p", "number": 1}], "memory": {"capacity": 32}}},
        "processor": {"p": {"cores": 4, "clock_rate": 2.5, "static_power": 10, "dynamic_power": 2, "min_power": 0.1}},
    }


@pytest.mark.parametrize(
    ("more", "scheduler", "warned"),
    [
        ({}, "fcfs", "Minimal"),
        ({"workload_manager": {"type": "Minimal"}, "log_level": "DEBUG", "output_dir": "."}, "fcfs", "Minimal"),
        ({"workload_manager": {"type": "Heuristic"}}, "list:first/first", ""),
        (
            {"workload_manager": {"type": "Heuristic", "job_selection": "smallest", "resource_selection": "high_mem"}},
            "list:smallest/most_used_mem",
            "high_mem is run as most_used_mem",
        ),
        ({"workload_manager": {"type": "Policy", "environment": HIGH_GFLOPS}}, "list:first/high_gflops", ""),
        ({"agent": {"type": "CLASSIC", "policy_pair": "shortest-low_power"}}, "list:shortest/low_power", ""),
        ({"trajectory_length": "0", "nbtrajectories": 1, "trajectory_origin": 0}, "fcfs", "Minimal"),
    ],
)
def test_irmasims_options_are_read(done, more, scheduler, warned) -> None:
    """Platform, workload, seed and heuristic of an options.json; what is run in another way is said."""
    Path("irmasim.json").write_text(json.dumps(irmasim_platform()))
    Path("options.json").write_text(json.dumps(OPTIONS | more))
    result = done("run", "options.json", "--out", "out")
    said = summary("out")
    assert (said["scheduler"], said["platform"], said["seed"]) == (scheduler, "small", 1995)
    assert said["jobs_completed"] == 8
    assert warned in result.stderr
    assert bool(result.stderr) == bool(warned)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"workload_manager": {"type": "Backfill"}}, "workload_manager.type: expected Minimal, Heuristic or Policy"),
        ({"workload_manager": {"type": "Policy"}}, "workload_manager.environment.actions.selection: expected one"),
        ({"workload_manager": "Minimal"}, "workload_manager: expected an object"),
        ({"workload_manager": {"type": "Heuristic", "job_selection": 3}}, "workload_manager.job_selection: expected"),
        ({"workload_manager": {"type": "Heuristic", "job_selection": "tallest"}}, "job order: expected one of edf"),
        ({"agent": {"policy_pair": "shortest"}}, "agent.policy_pair: expected a pair"),
        ({"trajectory_length": "random"}, "trajectory_length: expected 0 or none"),
        ({"seed": "now"}, "seed: expected an integer >= 0, found now"),
        ({"platform_name": "none"}, "expected one of the platforms small, other"),
        ({"platform_file": None}, "platform_file: expected text"),
        ({"workload_file": ["a"]}, "workload_file: expected text"),
    ],
)
def test_irmasims_options_can_be_wrong(refused, more, told) -> None:
    """What cannot be run as it says is refused by key."""
    Path("irmasim.json").write_text(json.dumps(irmasim_platform()))
    Path("options.json").write_text(json.dumps(OPTIONS | more))
    assert told in refused("run", "options.json", "--out", "out")


def test_a_published_experiment_from_its_files(done, shared) -> None:
    """Experiment 3 of López (2023) under smallest–high_mem, as its program ran it: 315,245 J."""
    case = shared / "cases/irmasim/experiment3"
    files = {"platform_file": str(case / "platform.json"), "workload_file": str(case / "workload.json")}
    manager = {"type": "Heuristic", "job_selection": "smallest", "resource_selection": "high_mem"}
    Path("options.json").write_text(json.dumps(files | {"workload_manager": manager}))
    done("run", "options.json", "--out", "out")
    said = summary("out")
    assert said["energy_j"] == pytest.approx(315_245, rel=1e-5)
    assert said["makespan_s"] == pytest.approx(158.126, rel=1e-5)


def test_one_scheduler_is_run(done, refused) -> None:
    """Of two none is meant more than the other; the same one twice is one."""
    words = ("run", "-w", "log.swf", "--out", "out", "--scheduler", "easy", "--scheduler")
    told = "expected one scheduler (cluster-sim compare takes several), found easy and fcfs"
    assert told in refused(*words, "fcfs")
    assert "easy" in done(*words, "easy").stdout


def test_think_times_that_are_not_there_are_told(done) -> None:
    """A log whose jobs name no preceding one runs as it would without the option; one in which they do says nothing."""
    told = "log.swf: no job names a job of the workload as its preceding_job"
    assert told in done("run", "-w", "log.swf", "--think-times", "--out", "out").stderr
    log = Path("log.swf").read_text()
    Path("log.swf").write_text(log.replace("2 1 1 1 1 -1 -1", "2 1 1 1 1 1 5"))
    assert told not in done("run", "-w", "log.swf", "--think-times", "--out", "out").stderr


def test_a_time_that_is_none_is_told_how_to_write_one(refused) -> None:
    """Days and hours are hinted at."""
    told = refused("run", "-w", "log.swf", "--until", "5x", "--out", "out")
    assert "expected a number above 0, or a time such as 5d, 12h or 2d12h, found 5x" in told
