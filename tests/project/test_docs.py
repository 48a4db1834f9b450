"""What the README, the manual and the examples say runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def run(path: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a folder of its own."""
    command = [sys.executable, str(path)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example: Path, tmp_path: Path) -> None:
    """Every example runs to its end and prints something."""
    finished = run(example, tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.strip()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if PYTHON.search(page.read_text())], ids=lambda page: page.stem
)
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    """The Python blocks of a page run, one after the other, as one script."""
    script = tmp_path / "page.py"
    script.write_text("\n".join(PYTHON.findall(page.read_text())))
    finished = run(script, tmp_path)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    """Relative links of a page point to files that exist."""
    broken = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert broken == []


def test_the_command_table_is_complete() -> None:
    """The README's table names every command that there is."""
    from cluster_sim.cli import main

    commands = set(main.commands)  # type: ignore[attr-defined]
    named = set(re.findall(r"^\| `cluster-sim (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert named == commands
