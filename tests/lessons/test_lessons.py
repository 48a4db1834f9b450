"""Every cell of every lesson runs, and so does the teachers' page; as a notebook, as a page, from the command line."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from analysis.lessons import Verdict, exercises, lesson, lessons, notebook
from analysis.lessons.catalogue import Lesson
from analysis.lessons.page import page as lesson_page
from cluster_sim.cli import main
from cluster_sim.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "docs/lessons/solutions.md"
SECTIONS = ("## Exercises", "## What to remember", "**Objective.**", "**Time.**")


@cache
def run(number: int) -> list[notebook.Cell]:
    """The cells of a lesson with what they show; the quick form: one iteration of training, few replications."""
    cells = notebook.cells_of(lesson(number))
    for cell in cells:
        cell.source = re.sub(r"^iterations = \d+$", "iterations = 1", cell.source, flags=re.MULTILINE)
        cell.source = re.sub(r"(episodes|group)=64,", r"\1=16,", cell.source)
        cell.source = re.sub(r"^replications = \d+$", "replications = 3", cell.source, flags=re.MULTILINE)
    notebook.run(cells)
    return cells


@pytest.mark.parametrize("number", range(1, 15))
def test_every_cell_runs(number: int) -> None:
    """A lesson has a case by hand, a figure, a table beside it, and exercises that are still to be answered."""
    text, outputs = lesson(number).text, [output for cell in run(number) for output in cell.outputs]
    assert all(section in text for section in SECTIONS)
    assert 10 <= lesson(number).minutes <= 20
    assert any(hasattr(output, "to_plotly_json") for output in outputs)
    assert any(hasattr(output, "columns") for output in outputs)
    checked = re.findall(r'exercise\("(\d+\.\d+)"\)\.check', text)
    assert checked == [name for name in exercises() if name.startswith(f"{number}.")]
    assert [f"**{name}**" in text for name in checked] == [True] * len(checked)
    verdicts = [output for output in outputs if isinstance(output, Verdict)]
    assert len(verdicts) == len(checked)
    assert not any(verdicts)


def test_the_solutions_are_right() -> None:
    """The teachers' page answers every exercise, and every check on it says that the answer is right."""
    page = Lesson(0, "Solutions", "", 0, SOLUTIONS.read_text(encoding="utf-8"))
    cells = notebook.cells_of(page)
    notebook.run(cells)
    told = "\n".join(str(output) for cell in cells for output in cell.outputs)
    ours = [name for name in exercises() if name[0].isdigit()]  # not those that other tests have added
    assert re.findall(r"^(\d+\.\d+), right:", told, re.MULTILINE) == ours
    assert "not yet" not in told


def test_a_cell_that_fails_is_named() -> None:
    """The error says which cell it was, and shows it."""
    cells = [notebook.Cell("words", False), notebook.Cell("x = 1", True), notebook.Cell("x / 0", True)]
    with pytest.raises(notebook.CellError, match=r"cell 2: ZeroDivisionError: division by zero\n\nx / 0"):
        notebook.run(cells)


class Sources(HTMLParser):
    """Collects what a page loads from elsewhere, and its headings."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Scripts, images and styles with an address."""
        self.loaded += [f"{tag} {name}" for name, _ in attrs if name == "src" or (tag == "link" and name == "href")]


def test_a_page_needs_nothing_from_elsewhere() -> None:
    """Figures, tables and results are in it; what a cell shows is escaped."""
    cells = [*run(4), notebook.Cell("'<b>'", True, ["<script>alert(1)</script>"])]
    page = lesson_page(lesson(4), cells)
    sources = Sources()
    sources.feed(re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL))
    assert sources.loaded == []
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<h1>Lesson 4 · Heterogeneous nodes</h1>" in page
    assert page.count("Plotly.newPlot(") >= 1
    assert "4.1: no answer yet" in page


def cli(*words: str) -> Result:
    """One call of the command line."""
    return CliRunner().invoke(main, words)


def test_the_command_lists_the_lessons() -> None:
    """Number, title, minutes and objective of each."""
    told = cli("lesson").output
    for one in lessons().values():
        assert f"{one.number:>2}  {one.title} ({one.minutes} min)\n    {one.objective}" in told


def test_the_command_writes_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the lesson's cells, without results, and is not replaced: it may hold somebody's answers."""
    monkeypatch.chdir(tmp_path)
    assert "lesson-01.ipynb: open it with" in cli("lesson", "1").output
    written = json.loads(Path("lesson-01.ipynb").read_text(encoding="utf-8"))
    assert ["".join(cell["source"]) for cell in written["cells"]] == [
        cell.source for cell in notebook.cells_of(lesson(1))
    ]
    assert not any(cell.get("outputs") for cell in written["cells"])
    again = cli("lesson", "1")
    assert again.exit_code == 2
    assert "lesson-01.ipynb: expected no such file yet, or --force to replace it" in again.output
    assert cli("lesson", "1", "--run", "--out", "lesson-01.ipynb").exit_code == 2
    assert cli("lesson", "1", "--force").exit_code == 0


def test_the_command_runs_a_lesson(tmp_path: Path) -> None:
    """The page has what the cells showed."""
    page = tmp_path / "four.html"
    finished = cli("lesson", "4", "--run", "--out", str(page))
    assert finished.exit_code == 0, finished.output
    assert f"{page}: open it in a browser" in finished.output
    assert "list:first/high_gflops</th>" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("lesson", "15"), "lesson: expected a number from 1 to 14, found 15"),
        (("lesson", "--run"), "lesson: expected the number of a lesson beside --run"),
        (("lesson", "one"), "not a valid integer"),
        (("lesson", "1", "--out", "nowhere/at/all.ipynb"), "a file that can be written"),
        (
            ("lesson", "1", "--out", "page.html"),
            "expected FILE.ipynb, or --run beside the name of a page, found page.html",
        ),
    ],
)
def test_wrong_calls_end_in_one_line(words: tuple[str, ...], told: str) -> None:
    """Exit status 2, and what was expected."""
    finished = cli(*words)
    assert finished.exit_code == 2
    assert told in finished.output


def test_what_opens_a_notebook_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where JupyterLab is not there, the line that installs it stands beside the command that needs it."""
    command = sys.modules["cluster_sim.cli.commands.lesson"]  # the module, whose name in its package is the command's
    monkeypatch.chdir(tmp_path)
    for found, told in ((None, " (after pip install "), (object(), ", or in an editor")):
        monkeypatch.setattr(command, "find_spec", lambda name, found=found: found)
        assert f"open it with 'jupyter lab lesson-01.ipynb'{told}" in cli("lesson", "1", "--force").output


def test_without_jupytext_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named, whether the lesson is to be run or written."""
    monkeypatch.setitem(sys.modules, "jupytext", None)  # importing it fails
    for needs_it in (notebook.cells_of, notebook.as_ipynb):
        with pytest.raises(InputError, match=r"expected jupytext to be installed \(cluster-sim\[lessons\]\)"):
            needs_it(lesson(1))
