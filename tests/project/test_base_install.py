"""The wheel beside nothing but what it asks for: every command works there, or says what to install."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from .test_packaging import ROOT, required_by, wheel_file

Command = Callable[..., "subprocess.CompletedProcess[str]"]

TRAINING = """\
environment: {platform: "homogeneous:nodes=2,cores=2", workload: "lublin:jobs=10,nodes=4,seed=1"}
iterations: 1
"""
GRID = (
    "factors: {platform: 'homogeneous:nodes=2,cores=2', workload: 'lublin:jobs=5,nodes=4', scheduler: [fcfs, easy]}\n"
)
JOBS = ("--platform", "homogeneous:nodes=4,cores=4", "--workload", "lublin:jobs=20,nodes=16,seed=1")


@pytest.fixture
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a fresh virtual environment with the wheel and what it asks for without extras."""
    folder = tmp_path_factory.mktemp("base")
    venv.create(folder / "venv")
    wheel = wheel_file(tmp_path_factory.mktemp("source"))
    program = [sys.executable, "-m", "pip", "--python", str(folder / "venv"), "--quiet", "--disable-pip-version-check"]
    line = [*program, "install", "--no-compile", "--no-index", "--no-deps", str(wheel)]
    run = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    add(folder, required_by(wheel))
    return folder


def add(folder: Path, wanted: Iterable[Requirement]) -> None:
    """Link libraries, and all that they ask for, from our environment to that one: they are there, and compiled."""
    [site] = (folder / "venv").glob("lib/python*/site-packages")
    todo, linked = list(wanted), set()
    while todo:
        library = todo.pop()
        found = distribution(library.name)
        assert library.specifier.contains(found.version, prereleases=True), library
        if (library.name, *library.extras) in linked:
            continue
        linked.add((library.name, *library.extras))
        asked = map(Requirement, found.requires or ())
        extras = ["", *library.extras]
        todo += [each for each in asked if not each.marker or any(each.marker.evaluate({"extra": e}) for e in extras)]
        for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(found.locate_file(name))


@pytest.fixture
def command(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The installed command, in a folder outside the clone."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "training.yaml").write_text(TRAINING)
    (tmp_path / "grid.yaml").write_text(GRID)
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "agent.json").write_text("{}")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        line = [str(base / "venv/bin/cluster-sim"), *words]
        return subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


WORK = (
    ["run", *JOBS, "--scheduler", "easy", "--report", "--explain", "--out", "run"],
    ["lesson"],
    ["train", "--help"],
)
ASK = {
    "learning": (
        ["train", "training.yaml", "--out", "out"],
        ["evaluate", "agent", "--workload", "lublin:jobs=5,nodes=4", "--out", "out"],
        ["run", *JOBS, "--scheduler", "learned:agent", "--out", "out"],
        ["validate", "training.yaml"],
        ["validate", "agent"],
        ["list", "environments"],
    ),
    "app": (["explore", "--no-browser"],),
    "lessons": (["lesson", "1"],),
    "parquet": (["run", *JOBS, "--format", "parquet", "--out", "out"], ["sweep", "grid.yaml", "--out", "out"]),
}

# In one process, since starting it and importing pandas takes longest: what is not installed is so for all lines.
EACH_LINE = """
import json, sys
from click.testing import CliRunner
from cluster_sim.cli import main
for words in json.loads(sys.argv[1]):
    ended = CliRunner().invoke(main, words)
    print(json.dumps([ended.exit_code, ended.stdout, ended.stderr]))
"""


# One test, not many: each process of pytest would make an environment of its own.
def test_every_command_works_on_the_base_install_or_says_what_to_install(
    base: Path, command: Command, tmp_path: Path
) -> None:
    """Simulating needs no extra; the rest ends in one line with the libraries to install, with which it works."""
    for words in WORK:
        done = command(*words)
        assert done.returncode == 0, words
        # What the run assumes is told; nothing else is.
        assert all(
            re.match(r"cluster-sim: warning: (requested time|watts): ", line) for line in done.stderr.splitlines()
        ), done.stderr
    asked = [(extra, words) for extra, lines in ASK.items() for words in lines]
    for (extra, words), (status, out, err) in zip(asked, refusals(base, tmp_path, asked), strict=True):
        assert (status, out) == (2, ""), words
        match = re.fullmatch(rf"cluster-sim: .* to be installed \(cluster-sim\[{extra}\]\): pip install (.*)\n", err)
        assert match, err
        assert {Requirement(library) for library in shlex.split(match[1])} == asked_by(extra)
    assert not (tmp_path / "out").exists(), "nothing is half-written"
    explore = ("explore", "--host", "no.such.address.")
    add(base, map(Requirement, shlex.split(command(*explore).stderr.partition("pip install ")[2])))
    assert "an address to listen on" in command(*explore).stderr


def refusals(base: Path, folder: Path, asked: list[tuple[str, list[str]]]) -> list[tuple[int, str, str]]:
    """Exit status, stdout and stderr of each command, one after the other in one process of that environment."""
    program = [str(base / "venv/bin/python"), "-c", EACH_LINE, json.dumps([words for _, words in asked])]
    run = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=True)
    return [tuple(json.loads(line)) for line in run.stdout.splitlines()]


def asked_by(extra: str) -> set[Requirement]:
    """What setup.cfg has an extra ask for."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return {Requirement(line) for line in config["options.extras_require"][extra].splitlines() if line}
