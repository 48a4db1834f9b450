"""Process behind ``grading``: runs one file that a student handed in, piece by piece, and notes its checks.

``python -P -m analysis.lessons.handed_in FILE RECORD [--exercises FILE] [--without 3,7]`` runs in the folder of FILE. A
piece is a cell of a notebook, or a statement of a script. RECORD gets a line of JSON when all is loaded, when a piece
begins, for every check, for every error, and at the end. So it shows how far a stopped process came.

This is no sandbox: the code runs with the rights of the teacher, and could write points of its own.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from analysis.tables.wording import shortened

Note = Callable[..., None]
MOST_BYTES = 2**30
"""Greatest size of a file that the code may write, bytes."""
LONGEST = 1000
"""Number of characters of a message that are kept."""


def pieces(path: Path) -> list[tuple[str, str]]:
    """Return name and source of each piece. Raises ValueError or SyntaxError for other than a notebook or Python."""
    text = path.read_text(encoding="utf-8")
    found = []
    if path.suffix == ".py":
        for node in ast.parse(text, path.name).body:
            decorators = getattr(node, "decorator_list", [])
            if decorators:  # the piece begins with its first decorator
                node.lineno, node.col_offset = decorators[0].lineno, 0
            source = "\n" * (node.lineno - 1) + str(ast.get_source_segment(text, node))
            found.append((f"line {node.lineno}", source))
        return found
    document = json.loads(text)
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise ValueError("it has no cells")
    sources = ["".join(cell["source"]) for cell in document["cells"] if cell.get("cell_type") == "code"]
    for number, source in enumerate(sources, 1):
        # Only Jupyter understands lines that begin with % or !.
        lines = [] if source.startswith("%%") else source.splitlines()
        found.append((f"code cell {number}", "\n".join("" if line.startswith(("%", "!")) else line for line in lines)))
    return found


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
    """Run the pieces in one namespace; note each one that fails, and go on with the next."""
    names: dict[str, Any] = {"__name__": "__main__", "display": lambda *_, **__: None}
    for number, (name, source) in enumerate(pieces(path)):
        if number in without:
            continue
        note(piece=number, name=name)
        try:
            exec(compile(source, path.name, "exec"), names)
        except BaseException as error:
            # A student's code may raise anything, also by sys.exit(): the teacher is told, and the class goes on.
            note(failed=name, error=shortened(f"{type(error).__name__}: {error}", LONGEST))


def main() -> None:
    """Run the file that the command line names."""
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
        with suppress(ImportError):  # Windows has no limits
            import resource

            # No file that the code writes becomes so large that the disk is full for the others.
            resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
        sys.path.append(str(asked.file.parent))  # last: a student's modules must not hide others
        note(ready=True)  # the time limit begins
        try:
            run(asked.file, {int(number) for number in asked.without.split(",") if number}, note)
        except (ValueError, SyntaxError, KeyError, TypeError, RecursionError) as error:
            note(failed="all of it", error=shortened(f"no notebook or Python file: {error}", LONGEST))
        note(done=True)
        record.flush()
        os._exit(0)  # threads of a student's code would keep the process alive


if __name__ == "__main__":
    main()
