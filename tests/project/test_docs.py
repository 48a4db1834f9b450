"""What the README, the manual and the examples say runs."""

from __future__ import annotations

import multiprocessing
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
COPIED = ("_build", "project")  # what building the site leaves in docs
MANUAL = sorted(
    page for page in (ROOT / "docs").rglob("*.md") if page.relative_to(ROOT / "docs").parts[0] not in COPIED
)
LESSONS = ROOT / "analysis" / "lessons" / "texts"
PAGES = [ROOT / "README.md", *(page for page in MANUAL if not page.name.startswith("lesson-"))]
PYTHON = re.compile(r"^```(?:python|\{code-cell\} python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```yaml\n# (\S+\.yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
COMMAND = re.compile(r"^(?:    )?cluster-sim ([a-z]+)(?: (.*))?$", re.MULTILINE)
# What is long on a page or in an example is short here.
QUICK: dict[str, dict[str, str]] = {
    "own-agent": {
        "iterations=8": "iterations=1",
        "episodes=8": "episodes=2",
        "episodes=4": "episodes=1",
        "1005": "1001",
    },
    "cleanrl_style": {"updates: int = 6": "updates: int = 1", "4, 128, 4, 4": "4, 32, 2, 2"},
    "train_agent": {"iterations=4": "iterations=1", "episodes=8": "episodes=2", "episodes=4": "episodes=1"},
    "interop": {
        "n_steps=64, batch_size=64": "n_steps=16, batch_size=16",
        "learn(128)": "learn(16)",
        "range(100)": "range(9)",
    },
    "what-if": {'"--weeks", "2"': '"--weeks", "1"'},
    "sweeps": {'"replications": 3': '"replications": 2'},
}

PROCESSES = re.compile(r"\bworkers=(?!1\b)|\bsweep\(")

# Most of what a short page costs is importing pandas, plotly and torch: a server does that once, and forks for every page.
FORKS = multiprocessing.get_context("forkserver") if "forkserver" in multiprocessing.get_all_start_methods() else None
if FORKS is not None:
    FORKS.set_forkserver_preload(
        ["cluster_sim.cli", "schedulers", "analysis.gantt_chart.gantt", "learning.training.training"]
    )
RUN_IN = """
import os, runpy, sys
os.chdir({folder!r})
sys.argv = [{script!r}]
sys.stdout = open("stdout", "w"); sys.stderr = open("stderr", "w")
runpy.run_path({script!r}, run_name="__main__")
"""


def shortened(path: Path) -> str:
    """A page or an example, with what QUICK has in place of what is long."""
    text = path.read_text()
    for long, short in QUICK.get(path.stem, {}).items():
        assert long in text, f"{path} has no {long}"
        text = text.replace(long, short)
    return text


def run(path: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a folder of its own."""
    command = [sys.executable, str(path)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def run_forked(path: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a fork of a process that has imported the toolkit; in a new one where there are no forks."""
    if FORKS is None or PROCESSES.search(path.read_text()):  # a script that starts processes, which have to import it
        return run(path, cwd)
    process = FORKS.Process(target=exec, args=(RUN_IN.format(folder=str(cwd), script=str(path)),))
    process.start()
    process.join(120)
    status = process.exitcode
    if status is None:
        process.kill()
    texts = [(cwd / name).read_text() if (cwd / name).exists() else "" for name in ("stdout", "stderr")]
    return subprocess.CompletedProcess([str(path)], 1 if status is None else status, *texts)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example: Path, tmp_path: Path) -> None:
    """Every example runs to its end and prints something."""
    script = example
    if example.stem in QUICK:
        script = tmp_path / example.name
        script.write_text(shortened(example))
    finished = run_forked(script, tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.strip()


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if PYTHON.search(page.read_text()) and page.parent.name != "lessons"],
    ids=lambda page: page.stem,
)
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    """The Python blocks of a page run, one after the other, as one script, beside the YAML files that it shows."""
    for name, text in FILE.findall(page.read_text()):
        (tmp_path / name).write_text(text)
    script = tmp_path / "page.py"
    script.write_text("\n".join(PYTHON.findall(shortened(page))))
    finished = run_forked(script, tmp_path)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    """Relative links of a page point to files that exist."""
    broken = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert [link for link in broken if not (LESSONS / Path(link).name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_exist(page: Path) -> None:
    """Every command line that a page shows names a command, and options that this command has."""
    from cluster_sim.cli import main

    wrong = []
    for name, rest in COMMAND.findall(page.read_text()):
        command = main.commands.get(name)  # type: ignore[attr-defined]
        known = {text for each in getattr(command, "params", ()) for text in (*each.opts, *each.secondary_opts)}
        used = set(re.findall(r"--[a-z-]+", rest))
        wrong += [f"{name} {rest}"] * (command is None or not used <= known | {"--help"})
    assert wrong == []


def test_every_scheduler_and_power_policy_is_named() -> None:
    """Their page names every scheduler in its table, and every power policy in what it says of power."""
    from schedulers import power_policies, schedulers

    text = (ROOT / "docs" / "reference" / "policies.md").read_text()
    for heading, registry in (("Schedulers", schedulers), ("Power", power_policies)):
        section = re.search(rf"^## {heading}\n(.*?)(?:^## |\Z)", text, re.MULTILINE | re.DOTALL)
        assert section is not None
        named = {re.split(r"[:,]", spec)[0] for spec in re.findall(r"`([^`]+)`", section[1])}
        assert set(registry) - named == set()


EVERY_ROW = Path(__file__).parents[2] / "docs" / "reproductions" / "every-row.md"


def test_every_row_is_counted_and_leads_somewhere() -> None:
    """The first table counts the rows of the others, which are numbered, and paths of the source code exist."""
    head, *papers = EVERY_ROW.read_text("utf-8").split("\n## ")
    sums = [[cell.strip() for cell in line.split("|")[2:-1]] for line in head.splitlines() if line.startswith("| [")]
    assert len(sums) == len(papers) == 5
    for text, counted in zip(papers, sums, strict=True):
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[4:] if line]
        assert [row[0] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]
        verdicts = [row[2] for row in rows]
        assert counted == [
            str(len(rows)),
            *(str(verdicts.count(v)) for v in ("exact", "explained", "no input", "open")),
        ]
        for path in re.findall(r"`((?:cluster_sim|schedulers|learning|analysis|tests|examples)/[^`]*)`", text):
            assert (EVERY_ROW.parents[2] / path).exists(), path
    assert sum(int(counted[0]) for counted in sums) == 231
