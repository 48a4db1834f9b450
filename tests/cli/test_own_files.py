"""FILE.py:NAME stands wherever a registered name does, and --process starts a user's own SimPy processes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest

from cluster_sim import Platform, Result, Simulation, Workload, make_scheduler
from cluster_sim.cli import main
from cluster_sim.errors import InputError, SpecError
from cluster_sim.files.source import running_no_new_files
from cluster_sim.models.contention import contention_models
from cluster_sim.models.power import power_models
from cluster_sim.workload.workload import WORKLOAD_GENERATORS

OWN = """\
from cluster_sim import Platform, Workload
from cluster_sim.models.power import power_models

class Share:
    "A share of the watts of the linear model."

    def __init__(self, k: float = 0.5):
        self.k, self.linear = k, power_models.make("linear")

    def idle_watts(self, *args):
        return self.k * self.linear.idle_watts(*args)

    def shared_watts(self, *args):
        return self.k * self.linear.shared_watts(*args)

    def core_watts(self, *args):
        return self.k * self.linear.core_watts(*args)

    def __getattr__(self, name):
        return getattr(self.linear, name)

class Nothing:
    pass

def lab(nodes: int = 1):
    return Platform.homogeneous(nodes=nodes, cores=4)

def longest(job, now):
    return -job.requested_time

def broken(job, now):
    return 1 / 0

def constant(jobs: int = 3):
    return Workload({"submit_time": [0] * jobs, "requested_cores": [1] * jobs, "recorded_run_time": [5] * jobs})

def backup(simulation):
    yield simulation.env.timeout(5)
    processor = simulation.node(0).processors[0]
    with processor.request(2, owner="backup", expected_s=50) as held:
        yield held
        yield processor.load(2, 50, owner="backup")

def note(simulation):
    simulation.noted = True

def fails(simulation):
    yield simulation.env.timeout(5)
    raise ValueError("no")

def wrong(simulation):
    return 5
"""
INPUTS = ("--platform", "homogeneous:nodes=2,cores=4", "--workload", "lublin:jobs=30,nodes=8,seed=1")


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file own.py in the working directory."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


def shell(*words: str) -> int:
    """The exit status of a command."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


def test_models_and_orders_of_a_file_run(own: Path) -> None:
    """A power model with an option, and an order that is a plain function, as in Python; both stand in the records."""
    words = ("--power-model", "own.py:Share,k=0.25", "--scheduler", "easy:order=own.py:longest")
    assert shell("run", *INPUTS, *words, "--out", "a") == 0
    summary = json.loads(Path("a/summary.json").read_text())
    assert summary["power_model"] == "own.py:Share,k=0.25"
    assert summary["inputs"] == {"own.py": hashlib.sha256(own.read_bytes()).hexdigest()}
    assert shell("run", *INPUTS, "--scheduler", "easy:order=longest", "--out", "b") == 0
    other = json.loads(Path("b/summary.json").read_text())
    assert summary["energy_j"] == pytest.approx(other["energy_j"] / 4)
    assert summary["mean_wait_s"] == other["mean_wait_s"]


def test_machines_and_jobs_of_a_file(own: Path) -> None:
    """Functions that return a Platform and a Workload, with options."""
    words = ("--platform", "own.py:lab,nodes=2", "--workload", "own.py:constant,jobs=5")
    assert shell("run", *words, "--out", "a") == 0
    result = Result.load("a")
    assert (result.platform.node_count, len(result.jobs), list(result.meta["inputs"])) == (2, 5, ["own.py"])
    assert shell("run", "--platform", "own.py:constant", "--workload", "own.py:constant", "--out", "b") == 2


def test_every_registry_takes_a_file(own: Path) -> None:
    """There is one place for all: a generator of workloads, a model in a platform's file, an order of nodes."""
    assert len(WORKLOAD_GENERATORS.make("own.py:constant,jobs=2")) == 2
    assert power_models.make("own.py:Share").k == 0.5  # type: ignore[attr-defined]
    (own.parent / "nodes.py").write_text("def last(view, job):\n    return -view.free_cores\n")
    platform = Platform.homogeneous(nodes=2, cores=4)
    workload = Workload({"submit_time": [0], "requested_cores": [1], "recorded_run_time": [5]})
    made = Simulation(platform, workload, make_scheduler("fcfs:nodes=nodes.py:last")).run()
    assert made.jobs["state"].tolist() == ["completed"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--power-model", "own.py:Nothing"), "expected an object with the methods idle_watts"),
        (("--power-model", "own.py:Missing"), "NAME being one of Share, Nothing, lab, longest, broken"),
        (("--power-model", "none.py:Share"), "none.py: expected a Python file"),
        (("--power-model", "own.py:Share,j=1"), "expected an option of Share (k)"),
        (
            ("--scheduler", "easy:order=own.py:broken"),
            "own.py line 32, in broken: expected code that runs",
        ),
        (("--process", "own.py:fails"), "own.py line 49, in fails: expected code that runs, found ValueError: no"),
        (
            ("--process", "own.py:missing"),
            "NAME being one of lab, longest, broken, constant, backup, note, fails, wrong",
        ),
        (
            ("--process", "own.py:wrong"),
            "a generator, or a function that returns nothing, found 5",
        ),
        (("--process", "backup"), "process: expected a function, or FILE.py:NAME, found backup"),
    ],
)
def test_what_is_wrong_in_a_file_ends_in_a_line(
    own: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    """Exit status 2, the user's file and line, and nothing written."""
    assert shell("run", *INPUTS, *words, "--out", "a") == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "warning" not in line]
    assert told in line
    assert not Path("a").exists()


def test_a_process_is_a_guest_beside_the_jobs(own: Path) -> None:
    """A generator runs as a process, a function is called; the records name both."""
    assert shell("run", *INPUTS, "--process", "own.py:backup", "--process", "own.py:note", "--out", "a") == 0
    result = Result.load("a")
    guests = result.holds[result.holds["kind"] == "guest"]
    assert guests[["owner", "start", "end"]].values.tolist() == [["backup", 5.0, 55.0]]
    assert result.meta["process"] == ["own.py:backup", "own.py:note"]
    assert list(result.meta["inputs"]) == ["own.py"]


def test_processes_in_python_are_functions(own: Path) -> None:
    """As objects, too; what is neither is refused."""

    def guest(simulation: Simulation):
        yield simulation.env.timeout(1.0)
        with simulation.node(0).processors[0].request(1) as held:
            yield held
            yield simulation.env.timeout(2.0)

    workload = Workload({"submit_time": [0], "requested_cores": [1], "recorded_run_time": [9], "requested_time": [9]})
    platform = Platform.homogeneous(nodes=1, cores=2)
    simulation = Simulation(platform, workload, make_scheduler("fcfs"), processes=[guest])
    assert simulation.run().holds["owner"].tolist() == ["0", "guest"]
    with pytest.raises(InputError, match="a list of functions"):
        Simulation(platform, workload, make_scheduler("fcfs"), processes="own.py:backup")


def test_configurations_and_sweeps_take_processes(own: Path) -> None:
    """Beside a configuration in another folder; in a sweep a list is one value, a list of lists several."""
    folder = own.parent / "there"
    folder.mkdir()
    own.rename(folder / "own.py")
    inputs = "platform: homogeneous:nodes=2,cores=4\nworkload: lublin:jobs=30,nodes=8,seed=1\n"
    (folder / "run.yaml").write_text(inputs + "process: [own.py:backup]\n")
    assert shell("run", "there/run.yaml", "--out", "a") == 0
    assert "guest" in Result.load("a").holds["kind"].tolist()
    factors = "factors:\n" + "".join(f"  {line}\n" for line in inputs.splitlines())
    (folder / "grid.yaml").write_text(factors + "  process: [[], [own.py:backup]]\nreplications: 1\n")
    assert shell("sweep", "there/grid.yaml", "--out", "grid", "--workers", "1") == 0
    runs = pd.read_parquet("grid/runs.parquet")
    assert runs["status"].tolist() == ["done", "done"]
    assert (runs["energy_guests_j"] > 0).tolist() == [False, True]


def test_results_and_agents_run_no_file_that_they_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A platform that a folder of results has is read without its model's file; that runs only if the user names it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("open('ran', 'w').close()\n\nclass Knee:\n    def on(self, kind):\n        ...\n")
    assert shell("run", *INPUTS, "--out", "a") == 0
    platform = Path("a/platform.json")
    platform.write_text(platform.read_text().replace('"piecewise"', '"evil.py:Knee"'))
    assert Result.load("a").platform.contention_model == "evil.py:Knee"
    assert not Path("ran").exists()
    with running_no_new_files(), pytest.raises(InputError, match="a file that you name yourself"):
        contention_models.make("evil.py:Knee")
    assert not Path("ran").exists()
    contention_models.make("evil.py:Knee")  # the user names it
    assert Path("ran").exists()


def test_names_of_files_cannot_be_registered() -> None:
    """A spec with .py is always a file."""
    with pytest.raises(SpecError, match="not the name of a file"):
        contention_models.register("knee.py")
