"""Files that are empty, cut off or of one row, given to every command: read, or refused in one line; never a traceback."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_sim.cli import main

from .test_streams import SWEEP

HEAD = "job_id,submit_time,requested_cores,recorded_run_time,requested_time\n"
SACCT = "JobID|User|Submit|Start|End|Elapsed|Timelimit|State|ReqCPUS|AllocCPUS\n"
CONF = "ClusterName=lab\nNodeName=n[1-3] CPUs=8\nPartitionName=batch Nodes=ALL Default=YES\n"
TRAINING = """\
iterations: 1
episodes: 1
environment: {platform: lab.yaml, workload: jobs.csv, reward: energy}
seeds: 1
"""
WORKLOAD = (
    "run --platform lab.yaml --workload FILE --out OUT --report",
    "compare --platform lab.yaml --workload FILE -s fcfs -s easy --replications 2 --out OUT",
    "optimum --platform lab.yaml --workload FILE --out OUT",
    "convert FILE OUT.swf",
    "validate FILE",
)
RESULT = (
    "gantt FOLDER --out OUT.html",
    "gantt FOLDER --view steps --out OUT.html",
    "explain FOLDER 3",
    "convert FOLDER OUT.swf",
    "validate FOLDER",
)
AGENT = (
    "run --platform lab.yaml --workload jobs.csv --scheduler learned:agent --out OUT",
    "train train.yaml --out agent --resume --report --workers 1 --iterations 2",
    "validate agent",
)
SWEPT = ("sweep sweep.yaml --out swept --resume --workers 1",)
SLURM = (
    "whatif jobs.txt --conf slurm.conf --out OUT",
    "run --platform slurm.conf --workload jobs.txt --scheduler slurm:conf=slurm.conf --out OUT",
    "validate FILE",
)
COMMANDS: dict[str, tuple[str, ...]] = {
    "jobs.csv": WORKLOAD,
    "log.swf": WORKLOAD,
    "lab.yaml": ("run --platform lab.yaml --workload jobs.csv --out OUT", "convert lab.yaml OUT.json", "validate FILE"),
    "jobs.txt": SLURM,
    "slurm.conf": SLURM,
    "sweep.yaml": ("sweep sweep.yaml --out OUT --workers 1",),
    "result/*": RESULT,
    "parquet/*": RESULT,
}
SLOW = {
    "train.yaml": ("train train.yaml --out OUT --workers 1",),
    "swept/**/*": SWEPT,
    "agent/**/*": AGENT,
}
"""The commands that read the files of a pattern."""


def command(*words: str) -> tuple[int, list[str]]:
    """Exit status, and what is on stderr. Raises what the command raised."""
    result = CliRunner().invoke(main, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stderr.splitlines()


def make(folder: Path, with_agent: bool) -> None:
    """One right input of every kind, and what the commands leave of them."""
    rows = [f"{i},{10 * i},{1 + i % 4},{50 + i},100\n" for i in range(6)]
    (folder / "jobs.csv").write_text(HEAD + "".join(rows))
    day = "2026-03-0{}T10:0{}:00"
    (folder / "jobs.txt").write_text(
        SACCT
        + "".join(
            f"{i}|ann|{day.format(i + 1, 0)}|{day.format(i + 1, 0)}|{day.format(i + 1, 5)}|00:05:00|01:00:00|COMPLETED|4|4\n"
            for i in range(6)
        )
    )
    (folder / "slurm.conf").write_text(CONF)
    (folder / "sweep.yaml").write_text(SWEEP.replace("lublin:jobs=20,nodes=8", "jobs.csv"))
    (folder / "train.yaml").write_text(TRAINING)
    run = "run --platform lab.yaml --workload jobs.csv"
    made = [
        "convert jobs.csv log.swf",
        "convert homogeneous:nodes=4,cores=4 lab.yaml",
        f"{run} --out result --explain",
        f"{run} --out parquet --format parquet",
    ]
    if with_agent:
        made += ["sweep sweep.yaml --out swept --workers 1 --report", "train train.yaml --out agent --workers 1"]
    for words in made:
        status, told = command(*words.split())
        assert status == 0, (words, told)


def variants(content: bytes) -> Iterator[tuple[str, bytes]]:
    """The file without anything in it, cut off, and with its first lines only."""
    yield "empty", b""
    yield "half", content[: len(content) // 2]
    if not (b"\x00" in content or content.startswith(b"{")):  # to a table of numbers or a document all cuts are one
        yield "cut", content[:-3]
    lines = content.splitlines(keepends=True)
    notes = sum(line.startswith((b"#", b";")) for line in lines)
    if b"\x00" not in content and len(lines) > notes + 2:
        yield "no row", b"".join(lines[: notes + 1])
        yield "one row", b"".join(lines[: notes + 2])


def there() -> dict[Path, tuple[int, int]]:
    """Return size and time of change of each file in the working directory."""
    files = [path for path in Path().rglob("*") if path.is_file()]
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def lay_out(source: Path) -> None:
    """Make the working directory a copy of ``source``."""
    for left in Path().iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    shutil.copytree(source, ".", dirs_exist_ok=True)


def check(source: Path, pattern: str, commands: tuple[str, ...]) -> None:
    """Every file of a pattern in every variant, given to every command."""
    files = [
        path.relative_to(source) for path in sorted(source.glob(pattern)) if path.is_file() and path.suffix != ".html"
    ]
    assert files
    for file in files:
        for kind, content in variants((source / file).read_bytes()):
            laid_out: dict[Path, tuple[int, int]] | None = None
            for words in commands:
                if there() != laid_out:
                    lay_out(source)
                    file.write_bytes(content)
                    laid_out = there()
                case = words.replace("FILE", str(file)).replace("FOLDER", str(file.parent))
                status, told = command(*case.split())
                assert status in (0, 2), (file, kind, case, told)
                if status == 2:
                    assert len(told) == 1, (file, kind, case, told)
                    assert not list(Path().glob("OUT*")), (file, kind, case)
                for left in Path().glob("OUT*"):
                    shutil.rmtree(left) if left.is_dir() else left.unlink()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a right input of every quick kind."""
    return made_in(tmp_path_factory.mktemp("inputs"), with_agent=False)


@pytest.fixture(scope="module")
def all_inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a sweep and a training beside them."""
    pytest.importorskip("torch")
    return made_in(tmp_path_factory.mktemp("inputs"), with_agent=True)


def made_in(folder: Path, with_agent: bool) -> Path:
    """The folder, when all is there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        make(folder, with_agent)
    return folder


@pytest.mark.parametrize("pattern", COMMANDS)
def test_files_that_are_cut_off(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    """Exit status 0 or 2, one line where it is 2, and nothing half-written then."""
    monkeypatch.chdir(tmp_path)
    check(inputs, pattern, COMMANDS[pattern])


@pytest.mark.parametrize("pattern", SLOW)
def test_sweeps_and_agents_that_are_cut_off(
    all_inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    """So with what a sweep or a training was killed over."""
    monkeypatch.chdir(tmp_path)
    check(all_inputs, pattern, SLOW[pattern])


@pytest.mark.parametrize("rows", ["a,0,1,0,20\n", "a,0,1000,10,20\n"], ids=["instant", "never"])
def test_results_of_one_job(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: str) -> None:
    """One that takes no time, one that no machine holds: every command has something to say of it."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(inputs, ".", dirs_exist_ok=True)
    Path("jobs.csv").write_text(HEAD + rows)
    for words in (
        "run --platform lab.yaml --workload jobs.csv --out one --explain --report",
        *(each.replace("FOLDER", "one").replace(" 3", " a") for each in RESULT),
        "compare --platform lab.yaml --workload jobs.csv -s fcfs -s easy --replications 2 --report --out two",
        "sweep sweep.yaml --out three --workers 1 --report",
    ):
        assert command(*words.split())[0] == 0, words


@pytest.mark.parametrize(
    "words",
    [
        "run void --out q",
        "run --platform lab.yaml --workload jobs.csv --reservations void --out q",
        "run --platform lab.yaml --workload jobs.csv --failures trace:void --out q",
        "run --platform lab.yaml --workload jobs.csv --accounts void --out q",
        "run --platform lab.yaml --workload jobs.csv --scheduler replay:void --out q",
        "run --platform lab.yaml --workload jobs.csv --scheduler slurm:conf=void --out q",
        "run --platform lab.yaml --workload jobs.csv --scheduler learned:empty --out q",
        "run --platform lab.yaml --workload empty --out q",
        "whatif void --conf slurm.conf --out q",
        "whatif jobs.txt --conf void --out q",
        "sweep void --out q",
        "train void --out q",
        "explore --workload void",
        "explore --platform void",
        "gantt void --out q.html",
        "gantt empty --out q.html",
        "explain empty a",
        "convert empty q.swf",
        "validate empty",
        "lesson grade void",
        "lesson grade empty",
        "evaluate empty --platform lab.yaml --workload jobs.csv --out q",
    ],
)
def test_nothing_is_told_as_such(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """An empty file or folder in the place of each input is refused by its name."""
    if "evaluate" in words or "train" in words or "learned" in words:
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(inputs, ".", dirs_exist_ok=True)
    Path("void").write_text("")
    Path("empty").mkdir()
    status, told = command(*words.split())
    assert (status, len(told)) == (2, 1), told
    assert "void" in told[0] or "empty" in told[0]
    assert not [path for path in os.listdir() if path.startswith("q")]
