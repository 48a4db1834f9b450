"""``compare``, ``demo``, ``topology``, ``gantt``, ``convert``, ``validate`` and ``list``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest

from cluster_sim import Platform, Workload
from cluster_sim.cli import main
from cluster_sim.cli.commands.demo import PLATFORM, PROFILES, REFERENCE_GFLOPS, SCHEDULERS, WORKLOAD
from cluster_sim.cli.commands.listing import COMMANDS, CONFIGURATIONS, FILES, KINDS, REGISTRIES
from cluster_sim.cli.comparisons import folders

LAB = ("--platform", "lab.json", "--workload", "jobs.json")


# ---------------------------------------------------------------------- compare


def test_schedulers_are_compared(done) -> None:
    """A folder per run, the metrics beside each other in a file and on stdout."""
    result = done("compare", *LAB, "--scheduler", "fcfs", "--scheduler", "list:smallest/high_gflops", "--out", "out")
    assert len(pd.read_csv("out/fcfs/jobs.csv")) == 8
    table = pd.read_csv("out/comparison.csv", index_col="metric")
    summary = json.loads(Path("out/list-smallest-high_gflops/summary.json").read_text())
    assert float(table.loc["energy_j", "list:smallest/high_gflops"]) == pytest.approx(summary["energy_j"])
    assert summary["scheduler"] == "list:smallest/high_gflops"
    header = result.stdout.splitlines()[0]
    assert "fcfs" in header
    assert "list:smallest/high_gflops" in header


def test_a_scheduler_that_does_not_suit_the_machine_is_refused_before_another_runs(refused) -> None:
    """Though only its run would find that out; a log of which a job is dropped is not warned of before."""
    Path("log.swf").write_text(Path("log.swf").read_text() + "4 30 -1 -1 1 -1 -1 1 20 -1 5 2 1 1 1 1 -1 -1\n")
    Path("slurm.conf").write_text("NodeName=n[1-3] CPUs=4\nPartitionName=p Nodes=n[1-3] Default=YES\n")
    line = refused("compare", "-w", "log.swf", "-s", "fcfs", "-s", "slurm:conf=slurm.conf", "--out", "out")
    assert line.startswith("scheduler 'slurm', option conf: expected the slurm.conf of the platform, found 8 nodes")
    assert not Path("out").exists()


def test_a_scheduler_may_bring_a_power_policy(done, refused) -> None:
    """Each run of a comparison switches nodes by its own rule, with the figures of the run that names both."""
    done("compare", *LAB, "-s", "easy", "-s", "easy + timeout:0", "--out", "out")
    done("run", *LAB, "-s", "easy", "--power-policy", "timeout:0", "--out", "both")
    own, other, both = (
        json.loads(Path(f"{at}/summary.json").read_text()) for at in ("out/easy-timeout-0", "out/easy", "both")
    )
    assert (own["scheduler"], own["power_policy"]) == ("easy", "timeout:0")
    assert own["energy_j"] == both["energy_j"] != other["energy_j"]
    told = refused("run", *LAB, "-s", "easy + timeout:0", "--power-policy", "timeout:300", "--out", "no")
    assert told.endswith("beside easy, which brings its own (as easy + timeout:300 does), found timeout:300")
    assert "expected one of" in refused("run", *LAB, "-s", "easy + timeoutt:0", "--out", "no")


def test_a_comparison_with_report(done) -> None:
    """The page has one chart of both runs, one above the other, before what compares them."""
    done("compare", *LAB, "-s", "fcfs", "-s", "sjf", "--report", "--out", "out")
    page = Path("out/report.html").read_text()
    places = [page.index(text) for text in (">Schedules</h2>", ">Over time</h2>")]
    assert places == sorted(places)
    assert page.count('class="plotly-graph-div"') > 2


def test_a_scheduler_given_twice_runs_once(done) -> None:
    """Naming one run twice would tell nothing."""
    done("compare", *LAB, "-s", "fcfs", "-s", "fcfs", "--out", "out")
    assert [path.name for path in Path("out").iterdir() if path.is_dir()] == ["fcfs"]


def test_folders_are_different_and_plain() -> None:
    """Specs that differ in odd letters only get different folders, none of them outside of the given one."""
    assert folders(["a:b/c", "a:b,c", "../..", "...", "x" * 200]) == ["a-b-c", "a-b-c+2", "run", "run+2", "x" * 80]


def test_replications_are_paired_by_seed(done) -> None:
    """Five generated workloads, the same for both schedulers: a folder per seed, the intervals, every value in a file."""
    words = ("-p", "homogeneous:nodes=16,cores=1", "-w", "lublin:jobs=40,nodes=16,seed=5", "--seed", "2")
    result = done("compare", *words, "-s", "fcfs", "-s", "easy", "--replications", "5", "--report", "--out", "out")
    assert sorted(path.name for path in Path("out/easy").iterdir()) == [f"seed-{seed}" for seed in range(2, 7)]
    rows = (
        pd.read_csv("out/replications.csv")
        .query("metric == 'mean_wait_s'")
        .assign(value=lambda t: t["value"].astype(float))
    )
    waits = rows.pivot_table(index="seed", columns="scheduler", values="value")
    assert waits["fcfs"].nunique() == 5
    for seed in range(2, 7):
        names = [pd.read_csv(f"out/{name}/seed-{seed}/jobs.csv")["submit_time"].tolist() for name in ("fcfs", "easy")]
        assert names[0] == names[1]
    table = pd.read_csv("out/comparison.csv", index_col="metric").loc["mean_wait_s"]
    difference = waits["easy"] - waits["fcfs"]
    assert float(table["fcfs"]) == pytest.approx(waits["fcfs"].mean())
    assert float(table["easy vs first, %"]) == pytest.approx(100 * difference.mean() / waits["fcfs"].mean())
    around = 2.776445 * difference.std() / np.sqrt(5)  # Student's t for 95 % and four degrees of freedom
    assert float(table["easy vs first, % ±"]) == pytest.approx(100 * around / waits["fcfs"].mean(), rel=1e-6)
    assert " ± " in result.stdout
    assert "paired by seed" in Path("out/report.html").read_text()


def test_equal_replications_are_told(done) -> None:
    """A log does not change with the seed: an interval of width 0 would look like certainty."""
    result = done("compare", "-w", "log.swf", "-s", "fcfs", "-s", "sjf", "--replications", "2", "--out", "out")
    assert "all 2 are equal, for the seed changes nothing" in result.stderr


def test_a_log_that_is_shaken_is_another_in_each_replication(done) -> None:
    """Submissions move alike under every scheduler, drawn with the seed of the replication."""
    options = ("-w", "log.swf", "-s", "fcfs", "-s", "sjf", "--shake", "100", "--replications", "3", "--out", "out")
    assert "equal" not in done("compare", *options).stderr
    log = Workload.read("log.swf")
    for seed in range(3):
        expected = log.shaken(100.0, seed).jobs["submit_time"].tolist()
        for name in ("fcfs", "sjf"):
            jobs = pd.read_csv(f"out/{name}/seed-{seed}/jobs.csv")["submit_time"].tolist()
            assert sorted(jobs) == pytest.approx(expected)
            assert json.loads(Path(f"out/{name}/seed-{seed}/summary.json").read_text())["shaken_s"] == 100.0


# ---------------------------------------------------------------------- topology


def test_topology_of_a_platform(done) -> None:
    """Alike nodes in one line, with their processors."""
    lines = done("topology", "machine:econome").stdout.splitlines()
    assert lines[0] == "econome: 22 nodes, 352 cores"
    assert lines[-1].split(": ", 1)[0].strip() == "node0 to node21"
    assert "2 × econome-cpu of 8 cores at 2.2 GHz" in lines[-1]


def test_the_page_of_a_topology(done, refused) -> None:
    """Written where it is told, by a name that a browser knows."""
    done("topology", "homogeneous:nodes=2,cores=3", "--out", "tree.html")
    assert "homogeneous: 2 nodes, 6 cores" in Path("tree.html").read_text()
    assert (
        refused("topology", "lab.json", "--out", "tree.txt")
        == "topology, --out: expected a name ending in .html, found tree.txt"
    )


# ---------------------------------------------------------------------- demo


def test_the_demo(done) -> None:
    """A real week under two schedulers: comparison on stdout, report and tables in the folder."""
    result = done("demo")
    assert "1,692 jobs" in result.stdout
    assert "Joseph Emeras" in result.stdout
    page = Path("cluster-sim-demo/report.html").read_text()
    assert page.count(">Schedules<") == 2  # a section, and the link to it
    table = pd.read_csv("cluster-sim-demo/comparison.csv", index_col="metric")
    first, second = (table[name].astype(float) for name in SCHEDULERS)
    assert first["jobs_completed"] == second["jobs_completed"] == 1692
    assert second["mean_wait_s"] < first["mean_wait_s"]
    assert second["energy_j"] < first["energy_j"]
    # Cores of every speed are used, and memory-bound jobs take longer than on the slowest core alone.
    jobs = pd.read_csv("cluster-sim-demo/fcfs/jobs.csv", dtype={"job_id": str})
    assert set(jobs["profile"]) == set(PROFILES)
    recorded = Workload.read(WORKLOAD).jobs.set_index("job_id")["recorded_run_time"]
    factor = jobs["run_time"] / jobs["job_id"].map(recorded).clip(lower=1.0)
    uncontended = [REFERENCE_GFLOPS / kind.gflops for kind in Platform.read(PLATFORM).processor_types]
    assert all(np.isclose(factor, one, rtol=1e-6).any() for one in uncontended)
    assert factor[jobs["profile"] == "memory"].median() > max(uncontended)


# ---------------------------------------------------------------------- gantt


def test_a_chart_of_saved_results(done) -> None:
    """From the folder of a run, or of one run of a comparison, into it or elsewhere."""
    done("run", *LAB, "--out", "out")
    assert done("gantt", "out").stdout == "The chart is out/gantt.html\n"
    done("gantt", "out", "--out", "chart.html", "--colour-by", "profile")
    assert "plotly" in Path("chart.html").read_text()


# ---------------------------------------------------------------------- convert


@pytest.mark.parametrize("target", ["a.csv", "a.json", "a.swf", "a.csv.gz", "a.json.gz", "a.swf.gz"])
@pytest.mark.parametrize("source", ["jobs.json", "log.swf"])
def test_workloads_are_converted(done, source, target) -> None:
    """Each format to each, and what they share stays: jobs, submissions, cores."""
    assert done("convert", source, target).stdout.startswith(f"{target}: workload of ")
    before, after = Workload.read(source).jobs, Workload.read(target).jobs
    for column in ("submit_time", "requested_cores"):
        assert after[column].tolist() == before[column].tolist()


def test_a_round_trip_through_csv_is_exact(done) -> None:
    """Own CSV holds everything: a log comes back as it was."""
    done("convert", "log.swf", "a.csv")
    done("convert", "a.csv", "b.swf")
    assert Workload.read("b.swf").jobs.equals(Workload.read("log.swf").jobs)


@pytest.mark.parametrize("target", ["a.yaml", "a.json", "a.yml.gz"])
@pytest.mark.parametrize("source", ["lab.json", "mixed:1x8@4.2,2x64@3.0", "homogeneous:nodes=3,cores=2"])
def test_platforms_are_converted(done, source, target) -> None:
    """Files and specs become files in the own format that say the same."""
    done("convert", source, target)
    assert Platform.read(target) == Platform.read(source)


def test_irmasims_platform_becomes_our_own(done) -> None:
    """IRMaSim's layout is read, ours is written."""
    entry = {"cores": 2, "clock_rate": 1.0, "static_power": 1, "dynamic_power": 1, "min_power": 0.5}
    document = {
        "platform": {"p": {"clusters": [{"nodes": [{"type": "n", "number": 2}]}]}},
        "node": {"n": {"processors": [{"type": "c"}]}},
        "processor": {"c": entry},
    }
    Path("theirs.json").write_text(json.dumps(document))
    done("convert", "theirs.json", "ours.json")
    assert "processor_types" in json.loads(Path("ours.json").read_text())
    assert Platform.read("ours.json").core_count == 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("lab.json", "lab.csv"), "lab.csv: expected a file name ending in .yaml, .yml or .json"),
        (("jobs.json", "jobs.yaml"), "jobs.yaml: expected a file name ending in .swf"),
        (("jobs.json", "jobs"), "jobs: expected a file name ending in .swf"),
        (("jobs.json", "no/such/folder/jobs.csv"), "no/such/folder/jobs.csv: expected a file that can be written"),
        (("lab.json", "a.yaml", "--time-unit", "min"), "--time-unit: expected a workload"),
        (("study.yaml", "a.yaml"), "study.yaml: expected a workload, a platform or results, found a configuration"),
        (("nothing.swf", "a.csv"), "nothing.swf: expected"),
    ],
)
def test_conversions_that_cannot_be(refused, words, told) -> None:
    """The line names the file that is wrong, and nothing is left behind."""
    Path("study.yaml").write_text("workload: log.swf\n")
    files = set(Path().iterdir())
    assert refused("convert", *words).startswith(told)
    assert set(Path().iterdir()) == files


def test_results_are_converted(done, refused) -> None:
    """The schedule as SWF, Batsim's files, and from these a folder again; the chart is drawn from them, too."""
    done("run", *LAB, "--out", "out")
    assert "schedule of 8 jobs" in done("convert", "out", "schedule.swf").stdout
    assert "x_machine_states.csv" in done("convert", "out", "x_jobs.csv").stdout
    done("convert", "x_jobs.csv", "again")
    first, second = (pd.read_csv(f"{folder}/jobs.csv")["finish_time"].tolist() for folder in ("out", "again"))
    assert first == pytest.approx(second)
    done("gantt", "x_jobs.csv", "--out", "chart.html")
    assert Path("chart.html").stat().st_size > 1000
    assert "a file name ending in .swf, .swf.gz or _jobs.csv, or a folder" in refused("convert", "out", "x.json")
    assert "--time-unit" in refused("convert", "out", "x.swf", "--time-unit", "min")


def test_one_job_is_no_jobs(done) -> None:
    """What a result holds is counted in words that fit."""
    Path("one.csv").write_text("submit_time,requested_cores,recorded_run_time\n0,1,5\n")
    assert done("convert", "one.csv", "one.swf").stdout == "one.swf: workload of 1 job\n"


# ---------------------------------------------------------------------- validate


def test_a_workload_is_described(done) -> None:
    """What a log holds, in a few lines."""
    text = done("validate", "log.swf").stdout
    assert text.startswith("log.swf: workload, valid\n")
    assert "1 to 8, mean 4.33" in text
    assert "0.2" in text  # 400 + 400 + 10 core-seconds
    assert "cores of the log's machine  8" in text
    assert re.search(r"users +2\n", text)
    log = Path("log.swf").read_text()
    Path("log.swf").write_text(re.sub(r"1 [12] 1 1 1 1 -1 -1", "1 -1 1 1 1 1 -1 -1", log))
    assert re.search(r"users +not known\n", done("validate", "log.swf").stdout)


def test_a_header_that_does_not_say_the_machines_size(done) -> None:
    """Digits of a number may be in groups; what is no number is told, by ``validate`` and by a run on the widest job's cores."""
    log = Path("log.swf").read_text()
    Path("log.swf").write_text(log.replace("MaxProcs: 8", "MaxProcs: 1,152"))
    assert "cores of the log's machine  1,152\n" in done("validate", "log.swf").stdout
    Path("log.swf").write_text(log.replace("MaxProcs: 8", "MaxProcs: unknown"))
    text = "MaxProcs in the header is no number of cores (unknown)"
    assert f"not known, {text}; the widest job has 8\n" in done("validate", "log.swf").stdout
    assert f"{text}: the platform gets as many" in done("run", "--workload", "log.swf", "--out", "out").stderr


def test_a_platform_is_described(done) -> None:
    """What a platform holds, with its watts."""
    text = done("validate", "lab.json").stdout
    assert text.startswith("lab.json: platform, valid\n")
    assert "2 × thin" in text
    assert "5.0 W idle, 18.0 W busy" in text  # 0.5 · 10, and 10 + 4 · 2


def test_a_configuration_is_checked_with_what_it_names(done, refused) -> None:
    """The files, the scheduler and the models of a configuration are checked, too."""
    Path("study.yaml").write_text("workload: log.swf\nscheduler: sjf\n")
    assert "log.swf: 3 jobs" in done("validate", "study.yaml").stdout
    Path("study.yaml").write_text("workload: log.swf\nscheduler: best\n")
    assert refused("validate", "study.yaml").startswith("study.yaml: scheduler: expected one of adaptive-pcbe")
    Path("study.yaml").write_text("workload: log.swf\ncontention_model: unheard-of\n")
    assert refused("validate", "study.yaml").startswith("study.yaml: contention model: expected one of")
    Path("study.yaml").write_text("workload: gone.swf\n")
    assert refused("validate", "study.yaml").startswith("study.yaml: gone.swf: expected")


def test_every_kind_of_file_is_known(done, refused) -> None:
    """Reservations, configurations of sweeps, results and Batsim's tables are told by their content and described."""
    Path("reserved.yaml").write_text("reservations:\n  - {name: course, start: 0, end: 7200, nodes: [0-1]}\n")
    assert "course" in done("validate", "reserved.yaml").stdout
    Path("sweep.yaml").write_text("factors: {workload: log.swf, scheduler: [fcfs, easy]}\nreplications: 3\n")
    assert "runs          6" in done("validate", "sweep.yaml").stdout
    done("run", *LAB, "--out", "out")
    assert "results, valid" in done("validate", "out").stdout
    done("convert", "out", "x_jobs.csv")
    assert "jobs            8 rows" in done("validate", "x_jobs.csv").stdout
    Path("reserved.yaml").write_text("reservations:\n  - {name: course, start: 0, end: never, nodes: [0-1]}\n")
    assert refused("validate", "reserved.yaml").startswith(
        "reserved.yaml: reservations[0].end: expected a valid number"
    )
    Path("sweep.yaml").write_text("factors: {workload: log.swf, scheduler: [fcfs, best]}\n")
    assert refused("validate", "sweep.yaml").startswith("sweep.yaml: scheduler: expected one of")
    Path("out/power.csv").unlink()
    assert refused("validate", "out").startswith("out/power.csv: expected a table of results, found no such file")
    assert refused("validate", ".").startswith(".: expected a folder that run or train left")


def test_doubtful_parameters_warn(done) -> None:
    """Contention parameters that mean nothing are valid with a warning."""
    text = Path("lab.json").read_text().replace('"dd": 500', '"dd": 10000')
    Path("lab.json").write_text(text)
    result = done("validate", "lab.json")
    (line,) = result.stderr.splitlines()
    assert line.startswith("cluster-sim: warning: lab.json: ")
    assert "slow" in line


# ---------------------------------------------------------------------- list


@pytest.mark.parametrize("kind", [*REGISTRIES, COMMANDS, FILES])
def test_names_are_listed(done, kind) -> None:
    """Every name with a word about it, aligned."""
    lines = done("list", kind).stdout.splitlines()
    assert lines
    column = max(len(line.partition("  ")[0]) for line in lines) + 2
    assert all(line[column - 1] == " " and line[column] != " " for line in lines)


def test_the_help_of_list_names_every_kind(done) -> None:
    """Lines may break at a hyphen."""
    told = "".join(done("list", "--help").stdout.split())
    assert [
        kind for kind in KINDS if f"{kind}," not in told and f"{kind}." not in told and f"{kind}and" not in told
    ] == []


def test_listed_schedulers_can_be_run(done) -> None:
    """What ``list schedulers`` names, ``run`` takes."""
    done("run", *LAB, "--scheduler", "fcfs", "--out", "recorded")
    for line in done("list", "schedulers").stdout.splitlines():
        name = line.split()[0]
        if name == "learned":  # needs an agent: tests/cli/test_train.py
            continue
        if name == "slurm":  # needs the slurm.conf of the platform: tests/conformance/test_slurm.py
            continue
        spec = "replay:recorded/jobs.csv" if name == "replay" else name
        done("run", *LAB, "--scheduler", spec, "--out", "out")


@pytest.mark.parametrize("name", ["chart.png", "chart.pdf", "chart"])
def test_a_chart_is_a_page(done, refused, name: str) -> None:
    """A picture cannot be written: one line says what can, and nothing is left."""
    done("run", "-w", "log.swf", "-p", "lab.json", "--out", "out")
    assert refused("gantt", "out", "--out", name) == f"gantt, --out: expected a name ending in .html, found {name}"
    assert not Path(name).exists()


def test_the_folder_of_several_runs_names_theirs(done, refused) -> None:
    """``gantt`` and ``explain`` on what ``compare`` left, with replications too: the line says where the runs are."""
    inputs = ("-w", "log.swf", "-p", "lab.json", "-s", "fcfs", "-s", "easy")
    done("compare", *inputs, "--out", "cmp")
    told = "cmp: expected the folder of one run (the runs are in cmp/easy, cmp/fcfs), found one of several"
    assert refused("gantt", "cmp") == told
    assert refused("explain", "cmp", "1") == told
    done("compare", *inputs, "--replications", "3", "--out", "many")
    assert "(the runs are in many/easy/seed-0, " in refused("gantt", "many")
    assert "many/fcfs/seed-0 and 2 more)" in refused("gantt", "many")


def test_an_unknown_job_is_told_of_with_its_folder(done, refused) -> None:
    """The line has the folder and the job, and the ids between which it would stand."""
    done("run", "-w", "log.swf", "-p", "lab.json", "--out", "out")
    assert refused("explain", "out", "9").startswith("out, job: expected the id of a job of the run, such as 3")
    assert refused("explain", "out", "9").endswith("found 9")


def test_validate_counts_jobs_that_went_beyond(done) -> None:
    """One of three jobs ran longer than it asked for, and one asks for more cores than the log's machine had."""
    text = Path("log.swf").read_text().replace("; MaxProcs: 8", "; MaxProcs: 4").replace(" 8  60 ", " 8  40 ")
    Path("beyond.swf").write_text(text)
    facts = json.loads(done("validate", "--json", "beyond.swf").stdout)["facts"]
    assert facts["ran longer than requested"] == "1 job"
    assert facts["wider than that machine"] == "1 job"
    facts = json.loads(done("validate", "--json", "log.swf").stdout)["facts"]
    assert facts["ran longer than requested"] == facts["wider than that machine"] == "0 jobs"


def test_the_options_of_a_thing_are_listed(done, refused) -> None:
    """By its kind or its name alone, as text or JSON: what each may be, its default and its meaning."""
    lines = done("list", "schedulers", "pcbe").stdout.splitlines()
    assert lines[0].startswith("schedulers pcbe: PCBE (Cruz 2023)")
    assert lines[1].split() == ["option", "value", "default", "meaning"]
    assert lines[5].split(maxsplit=6)[:6] == ["aging", "number,", "0", "or", "more", "(s)"]
    assert done("list", "pcbe").stdout.splitlines() == [
        *lines,
        "",
        *done("list", "machines", "pcbe").stdout.splitlines(),
    ]
    [told] = json.loads(done("list", "schedulers", "easy", "--json").stdout)
    depth = {option["name"]: option for option in told["options"]}["depth"]
    assert (depth["value"], depth["default"], depth["unit"]) == ("whole number, 0 or more, or all", "1", "jobs")
    assert [each["kind"] for each in json.loads(done("list", "none", "--json").stdout)] == [
        "contention-models", "network-models", "failure-models",
    ]  # fmt: skip
    assert "(the nearest is easy)" in refused("list", "schedulers", "esy")


def test_the_options_of_commands_and_files_are_listed(done) -> None:
    """All options of all commands, and all keys of the files that commands take, have a type and a meaning."""
    listed = {name: json.loads(done("list", COMMANDS, name, "--json").stdout)[0]["options"] for name in main.commands}
    for name, options in listed.items():
        flags = {flag for option in options for flag in option["name"].split(", ")}
        assert flags == {
            flag if isinstance(parameter, click.Option) else parameter.human_readable_name
            for parameter in main.commands[name].params
            for flag in parameter.opts
        }
    seed = next(option for option in listed["run"] if option["name"] == "--seed")
    assert (seed["value"], seed["default"]) == ("whole number, 0 or more", "0")
    for name in CONFIGURATIONS:
        listed[f"{name} file"] = json.loads(done("list", FILES, name, "--json").stdout)[0]["options"]
    assert [
        option for options in listed.values() for option in options if not option["value"] or not option["meaning"]
    ] == []
    assert "factors.workload.window" in [option["name"] for option in listed["sweep file"]]
    assert "configurations run: " in done("list", "run").stdout
