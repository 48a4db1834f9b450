"""A class is graded: who is right, who is wrong, who hands in nothing, crashes or never ends; nobody keeps the others."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from analysis.lessons import add_exercises, exercise, grading, lesson, notebook
from analysis.lessons.handed_in import pieces
from cluster_sim.cli import main
from cluster_sim.errors import InputError
from schedulers import Fcfs, Sjf

DOCS = Path(__file__).resolve().parents[2] / "docs"
HEAD = "from analysis.lessons import exercise\n"
OWN = """
from analysis.lessons.checks import Number
EXERCISES = [Number("W.1", 5, 5, "13 - 8", ["When is a core free?", "Then subtract."])]
"""


def cells(*sources: str) -> str:
    """A notebook with these code cells."""
    return json.dumps({"cells": [{"cell_type": "code", "source": [source]} for source in (HEAD, *sources)]})


def cli(*words: object) -> Result:
    """One call of the command line."""
    return CliRunner().invoke(main, ["lesson", "grade", *map(str, words)])


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, pd.DataFrame]:
    """Seven students, as a teacher would grade them: what was printed, and the CSV."""
    folder = tmp_path_factory.mktemp("class")
    own = folder.parent / "week3.py"
    own.write_text(OWN)
    right = ['%matplotlib inline\nexercise("1.1").check(5)', 'exercise("1.2").check("c")', 'exercise("W.1").check(5)']
    (folder / "right").mkdir()
    (folder / "right" / "lesson-01.ipynb").write_text(cells(*right))
    (folder / "right" / "week3.py").write_text("raise SystemExit")  # the teacher's own file is used
    (folder / "empty").mkdir()
    # Right, then wrong: the last counts. A module of one's own is found, and exit() ends nothing.
    (folder / "wrong").mkdir()
    (folder / "wrong" / "helper.py").write_text("answer = 'a'\n")
    checks = 'exercise("1.1").check(5)\nexercise("1.1").check(13)\nimport helper\nexit()\n'
    checks += 'exercise("1.2").check(helper.answer)\nexercise("1.3").check()\n'
    (folder / "wrong" / "a.py").write_text(HEAD + checks)
    own_check = 'from analysis.lessons.checks import Number\nNumber("=1+1", 5, 5, "5", ["a", "b"]).check(5)\n'
    (folder / "inventive.py").write_text(own_check)
    (folder / "=crash.ipynb").write_text(cells('exercise("1.1").check(5)', "import os; os._exit(3)", right[1], "1 / 0"))
    (folder / "endless.ipynb").write_text(cells(right[0], "import time\nwhile True: time.sleep(9)", right[1]))
    (folder / "broken.ipynb").write_text("{")
    out = folder.parent / "points.csv"
    done = cli(folder, "--out", out, "--exercises", own, "--limit", 2, "--workers", 2)
    assert done.exit_code == 0, done.output
    return done, pd.read_csv(out, keep_default_na=False).set_index("student")


def test_points(graded: tuple[Result, pd.DataFrame]) -> None:
    """One for each right answer, of the lesson's exercises and the teacher's own; nothing where there was no answer."""
    _, table = graded
    assert table.loc["right", ["1.1", "1.2", "1.3", "1.4", "W.1"]].tolist() == ["1", "1", "", "", "1"]
    assert table.loc["wrong", ["1.1", "1.2", "1.3"]].tolist() == ["0", "0", ""]
    points = {"right": 3, "empty": 0, "wrong": 0, "'=crash": 2, "endless": 2, "broken": 0, "inventive": 0}
    assert table["points"].astype(int).to_dict() == points
    assert set(table["of"].astype(int)) == {5}


def test_what_went_wrong_is_said(graded: tuple[Result, pd.DataFrame]) -> None:
    """Which cell did not end, ended the process, or failed; a student without files; one whose notebook is none."""
    done, table = graded
    remarks = table["remarks"].to_dict()
    assert remarks["right"] == ""
    assert remarks["empty"] == "no .ipynb or .py file"
    assert "=crash.ipynb, code cell 3: it ended with status 3" in remarks["'=crash"]
    assert "=crash.ipynb, code cell 5: ZeroDivisionError: division by zero" in remarks["'=crash"]
    assert remarks["endless"] == "endless.ipynb, code cell 3: stopped after 2 s"
    assert remarks["broken"].startswith("broken.ipynb, all of it: no notebook or Python file")
    assert remarks["inventive"] == "inventive.py: exercises that neither a lesson nor the teacher has are not counted"
    assert remarks["wrong"].startswith("a.py, line 5: SystemExit")
    assert "cluster-sim: endless: endless.ipynb, code cell 3: stopped after 2 s" in done.output
    assert "week3" not in "".join(remarks.values())


def test_the_table_is_printed(graded: tuple[Result, pd.DataFrame]) -> None:
    """A row for each student, without the remarks, which have been told."""
    lines = [line.split() for line in graded[0].output.splitlines()]
    assert ["1.1", "1.2", "1.3", "1.4", "W.1", "points", "of"] in lines
    assert ["right", "1", "1", "-", "-", "1", "3", "5"] in lines


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nowhere",), "nowhere: expected a folder with a subfolder or a file for each student, found no folder"),
        (("none",), "none: expected a subfolder or a file (.ipynb, .py) for each student, found none"),
        (("twice",), "twice: expected one subfolder or one file for each student, found two for ann"),
        (("class", "--limit", "0"), "expected a number above 0, found 0"),
        (("class", "--exercises", "no.py"), "no.py: expected a Python file, found no such file"),
        (("class", "--exercises", "empty.py"), "empty.py: expected EXERCISES, a list of exercises"),
        (("class", "--exercises", "taken.py"), "taken.py: expected exercises with names that no lesson has, found 1.1"),
        (("class", "--out", "no/where.csv"), "no/where.csv: expected a file in a folder that is there"),
        (("class", "--out", "-"), "lesson grade, --out: expected the name of what to write"),
    ],
)
def test_wrong_calls_end_in_one_line(
    words: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit status 2, what was expected and what was found; nobody's code is run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(grading, "_started", lambda *_: pytest.fail("a process was started"))
    for name in ("none", "twice/ann", "class"):
        Path(name).mkdir(parents=True)
    for name in ("twice/ann.py", "class/ann.py", "empty.py"):
        Path(name).write_text("")
    Path("taken.py").write_text(OWN.replace("W.1", "1.1"))
    done = cli(*words)
    assert done.exit_code == 2
    assert told in done.output
    assert "Traceback" not in done.output


def test_pieces_are_statements_and_cells(tmp_path: Path) -> None:
    """A script's statements keep their lines and decorators; a written lesson's cells are all there."""
    script = tmp_path / "a.py"
    script.write_text("x = 1\n\n@property\ndef f(self):\n    return 1\n")
    assert pieces(script) == [("line 1", "x = 1"), ("line 3", "\n\n@property\ndef f(self):\n    return 1")]
    written = tmp_path / "lesson-01.ipynb"
    written.write_text(notebook.as_ipynb(lesson(1)))
    assert [source for _, source in pieces(written)] == [
        cell.source for cell in notebook.cells_of(lesson(1)) if cell.is_code
    ]


def test_own_exercises_are_found_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the page for teachers has it: a file, used beside a notebook."""
    page = (DOCS / "lessons/class.md").read_text(encoding="utf-8")
    own, beside = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("week3.py").write_text(own)
    exec(beside, {})
    printed = capsys.readouterr().out
    assert printed == "".join(f"{line}\n" for line in re.findall(r"^    (W3.*)$", page, re.MULTILINE))
    for name, answer in (("W3.1", 5), ("W3.2", "b"), ("W3.3", lambda wait_s, run_s: 1 + wait_s / run_s)):
        assert exercise(name).check(answer)
    assert exercise("W3.4").check({"a": 0, "b": 3, "c": 0, "d": 2, "e": 4})
    assert exercise("W3.5").check(Sjf())
    assert not exercise("W3.5").check(Fcfs())
    with pytest.raises(InputError, match=r"nowhere\.py"):
        add_exercises("nowhere.py")


@pytest.mark.parametrize("teachers", [False, True])
def test_students_do_not_read_the_solutions(teachers: bool) -> None:
    """The site has their page only when it is built for teachers, and no other page links there."""
    said = re.search(r"^exclude_patterns.*?^$", (DOCS / "conf.py").read_text(), re.MULTILINE | re.DOTALL)
    assert said is not None
    settings: dict[str, Any] = {"tags": SimpleNamespace(has=lambda tag: teachers and tag == "teachers")}
    exec(said[0], settings)
    assert ("lessons/solutions.md" in settings["exclude_patterns"]) is not teachers
    pages = [page for page in DOCS.rglob("*.md") if "_build" not in page.parts and page.name != "solutions.md"]
    assert [page for page in pages if re.search(r"\]\([^)]*solutions\.md", page.read_text())] == []


def test_an_interrupted_class_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is interrupted ends what runs."""
    (tmp_path / "ann.py").write_text("x = 1")
    (tmp_path / "bob.py").write_text("while True: pass")
    started = []

    real = grading._started

    def quick(*_: object) -> object:
        seconds = 60 if started else 0
        started.append(real([sys.executable, "-S", "-c", f"import time; time.sleep({seconds})"], tmp_path))
        return started[-1]

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(grading, "_started", quick)
    with pytest.raises(KeyboardInterrupt):
        grading.grade(tmp_path, limit_s=30, tell=interrupt)
    assert all(process.poll() is not None for process in started)


def test_a_syntax_error_names_the_file(tmp_path: Path) -> None:
    """The remark says where in which file, as Python does."""
    (tmp_path / "eve.py").write_text("print(1)\nprint(2\n", encoding="utf-8")
    with pytest.raises(SyntaxError, match=r"\(eve\.py, line 2\)"):
        pieces(tmp_path / "eve.py")


INTO_THE_RECORD = """
import os
for number in os.listdir("/proc/self/fd"):
    try:
        path = os.readlink("/proc/self/fd/" + number)
    except OSError:
        continue
    if "grading-record" in path:
        {deed}
"""
NO_CHECKS = (
    r'b"5"', r'b"\xff\xfe"', 'b"[" * 100_000', 'b"1" * 100_000',
    """b'{"exercise": [], "right": true, "answered": true}'""",
    """b'{"exercise": "1.1", "right": "x", "answered": 1}'""",
    """b'{"failed": "x"}'""",
    """b'{"piece": -1, "name": 5}'""",
)  # fmt: skip
"""Lines that no check writes, as Python has them: written out they would be a long program."""
DEEDS = {
    "lines": f"[os.write(int(number), line + b'\\n') for line in ({', '.join(NO_CHECKS)})]; os.write(1, b'x' * 100_000_000)",
    "huge": 'os.write(int(number), b"x" * 10_000_000 + b"\\n")',
    "gone": "os.unlink(path); [(os.mkdir('d'), os.chdir('d')) for _ in range(2000)]",
    "empty": "os.truncate(path, 0); [os.fork() or os.execvp('sleep', ['sleep', '60']) for _ in range(50)]",
    "out-of-its-folder": "os.closerange(3, 1000); import shutil; shutil.rmtree(os.getcwd())",
    "killed": "import signal; os.kill(os.getpid(), signal.SIGKILL)",
    "endless-output": 'any(os.write(1, b"x" * 1_000_000) == 0 for _ in iter(int, 1))',
    "stopped": "import signal; os.kill(os.getpid(), signal.SIGSTOP)",
}


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="where a process finds its open files")
def test_a_student_ends_only_his_own_grading(tmp_path: Path) -> None:
    """Whatever one writes into the record, or does to the process and its files: all others have their points."""
    folder = tmp_path / "class"
    (folder / "ann").mkdir(parents=True)
    (folder / "ann" / "a.py").write_text(HEAD + 'exercise("1.1").check(5)\n')
    for name, deed in DEEDS.items():
        (folder / name).mkdir()
        (folder / name / "a.py").write_text(HEAD + INTO_THE_RECORD.format(deed=deed) + 'exercise("1.1").check(5)\n')
    (folder / "zoe.py").write_text(HEAD + 'exercise("1.1").check(5)\n')
    without_end = tmp_path / "without end"  # a limit that is short costs least where it is waited for
    without_end.mkdir()
    for name in ("endless-output", "stopped"):
        (folder / name).rename(without_end / name)
    tables = []
    for students, limit in ((folder, 20), (without_end, 1)):
        done = cli(students, "--out", tmp_path / "points.csv", "--limit", limit, "--workers", 2)
        assert done.exit_code == 0, done.output
        tables.append(pd.read_csv(tmp_path / "points.csv", keep_default_na=False).set_index("student"))
    table = pd.concat(tables)
    assert sorted(table.index) == sorted([*DEEDS, "ann", "zoe"])
    assert table.loc[["ann", "zoe"], "points"].tolist() == [1, 1]
    assert not any(table.loc[["ann", "zoe"], "remarks"])
    remarks = table["remarks"].to_dict()
    assert remarks["lines"] == f"a.py: {len(NO_CHECKS)} lines in the record of its checks that no check writes"
    assert remarks["huge"].startswith("a.py: it noted more than 4,000,000 bytes, of which the rest is not read; ")
    assert remarks["killed"] == "a.py, line 4: it ended with status -9"
    assert "stopped after 1 s" in remarks["endless-output"]
    assert "stopped after 1 s" in remarks["stopped"]
    for name in ("lines", "gone"):
        assert table.loc[name, "points"] == 1, name


def test_what_goes_wrong_with_a_file_is_a_remark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be copied, or whose process cannot be started, is not graded; the next one is."""
    for name in ("ann", "bob"):
        (tmp_path / f"{name}.py").write_text(HEAD + 'exercise("1.1").check(5)\n')
    copyfile = grading.shutil.copyfile

    def copy(source: Path, to: Path) -> None:
        if source.stem == "ann":
            raise PermissionError(13, "Permission denied", str(source))
        copyfile(source, to)

    monkeypatch.setattr(grading.shutil, "copyfile", copy)
    ann, bob = grading.grade(tmp_path, 20.0).students
    assert (ann.points, bob.points) == (0, 1)
    assert ann.remarks[0].startswith("ann.py: not graded, PermissionError: [Errno 13] Permission denied")
