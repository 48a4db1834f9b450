"""Runs one file that a student handed in, piece by piece, and notes what its checks say: the process behind ``grading``.

``python -P -m analysis.lessons.handed_in FILE RECORD [--exercises FILE] [--without 3,7]`` runs in the folder of FILE. A piece is
a cell of a notebook, or a statement of a script. RECORD gets a line of JSON when all is loaded, when a piece begins, for
every check, for every error, and at the end; so it tells how far a process came that was stopped.

This is no sandbox: the code runs with the rights of who grades, and could write points of its own.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from analysis.tables.wording import shortened

Note = Callable[..., None]
MOST_BYTES = 2**30
"""Size of a file that the code may write."""
LONGEST = 1000
"""Characters of a message that are kept."""


def pieces(path: Path) -> list[tuple[str, str]]:
    """Name and source of each piece. Raises ValueError or SyntaxError for what is no notebook or no Python."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return [
            (f"line {node.lineno}", "\n" * (node.lineno - 1) + str(ast.get_source_segment(text, node)))
            for node in _with_decorators(ast.parse(text, path.name).body)
        ]
    document = json.loads(text)
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise ValueError("it has no cells")
    sources = ["".join(cell["source"]) for cell in document["cells"] if cell.get("cell_type") == "code"]
    return [(f"code cell {number}", _python(source)) for number, source in enumerate(sources, 1)]


def _with_decorators(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements, each from its first decorator on."""
    for node in body:
        decorators = getattr(node, "decorator_list", [])
        if decorators:
            node.lineno, node.col_offset = decorators[0].lineno, 0
    return list(body)


def _python(source: str) -> str:
    """A cell without what only Jupyter understands: lines that begin with % or !."""
    if source.startswith("%%"):
        return ""
    return "\n".join("" if line.startswith(("%", "!")) else line for line in source.splitlines())


def watch_checks(note: Note) -> None:
    """Note every verdict from now on."""
    from analysis.lessons.checks import Exercise, Verdict

    judged = Exercise.check

    def check(self: Exercise, answer: Any = None) -> Verdict:
        verdict = judged(self, answer)
        note(exercise=self.name, right=bool(verdict), answered=verdict.answered)
        return verdict

    Exercise.check = check  # type: ignore[method-assign]


def run(path: Path, without: set[int], note: Note) -> None:
    """Run the pieces in one namespace; what fails is noted, and the next one is run."""
    names: dict[str, Any] = {"__name__": "__main__", "display": lambda *_, **__: None}
    for number, (name, source) in enumerate(pieces(path)):
        if number in without:
            continue
        note(piece=number, name=name)
        try:
            exec(compile(source, path.name, "exec"), names)
        except BaseException as error:
            # Whatever a student's code raises, sys.exit() included: the teacher is told, and the class goes on.
            note(failed=name, error=shortened(f"{type(error).__name__}: {error}", LONGEST))


def _limit_files() -> None:
    """No file that the code writes becomes so large that the disk fills up for the others."""
    try:
        import resource
    except ImportError:  # as on Windows
        return
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))


def main() -> None:
    """Do as the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument("--exercises")
    parser.add_argument("--without", default="")
    asked = parser.parse_args()
    with open(asked.record, "a", encoding="utf-8") as record:

        def note(**entry: Any) -> None:
            record.write(json.dumps(entry) + "\n")
            record.flush()

        import plotly.io

        from analysis.lessons.catalogue import add_exercises, exercises

        exercises()
        plotly.io.show = lambda *_, **__: None  # it would open a browser
        if asked.exercises:
            add_exercises(asked.exercises)
        watch_checks(note)
        _limit_files()
        sys.path.append(str(asked.file.parent))  # modules of their own, after all else of these names
        note(ready=True)  # the time limit begins
        try:
            run(asked.file, {int(number) for number in asked.without.split(",") if number}, note)
        except (ValueError, SyntaxError, KeyError, TypeError, RecursionError) as error:
            note(failed="all of it", error=shortened(f"no notebook or Python file: {error}", LONGEST))
        note(done=True)
        record.flush()
        os._exit(0)  # threads that a student's code started would keep the process


if __name__ == "__main__":
    main()
