"""Points for a class: every file that was handed in is run in a process of its own, with a time limit.

::

    from analysis.lessons.grading import grade

    marks = grade("week1")           # a subfolder or a file for each student
    marks.table()                    # a row for each student, a column for each exercise

What students handed in is code, and it is run: with the rights of who grades, on this machine. A process of its own keeps an
endless loop or a crash of one student from the others; it does not keep malice away.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import pandas as pd

from analysis.lessons.catalogue import add_exercises, exercises
from cluster_sim.errors import InputError, counted, printable

SUFFIXES = (".ipynb", ".py")
LIMIT_S = 120.0
"""Lesson 9 trains for most of a minute."""
LOADING_S = 60.0
"""What loading the simulator may take beside it, on a machine that has much else to do."""
POLL_S = 0.05
MOST_ENDED = 5
"""After so many pieces that ended the process a file is given up."""
MOST_FAILED = 50
"""So many pieces that failed are told of."""
MOST_BYTES = 4_000_000
"""So much of a record is read: some ten thousand checks."""
_LESSON = re.compile(r"lesson-(\d\d)")


@dataclass
class Marks:
    """What a student gets: of each exercise whether the last check of it was right; those without an answer are left out."""

    student: str
    right: dict[str, bool] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)  #: Exercises that the files check, with or without an answer.

    @property
    def points(self) -> int:
        """One for each right answer."""
        return sum(self.right.values())


@dataclass(frozen=True)
class ClassMarks:
    """The marks of all students, by name, and the exercises that there were."""

    students: list[Marks]
    exercises: list[str]

    def table(self) -> pd.DataFrame:
        """A row for each student: 1, 0, or nothing where there was no answer; points, of how many, and remarks."""
        rows = [
            {"student": marks.student}
            | {name: marks.right.get(name) for name in self.exercises}
            | {"points": marks.points, "of": len(self.exercises), "remarks": "; ".join(marks.remarks)}
            for marks in self.students
        ]
        table = pd.DataFrame(rows)
        return table.astype(dict.fromkeys(self.exercises, "Int64"))

    def csv(self) -> bytes:
        """The table as CSV for a spreadsheet; a text that it would take for a formula begins with an apostrophe."""
        table = self.table()
        for column in ("student", "remarks"):
            table[column] = [f"'{text}" if text.startswith(tuple("=+-@")) else text for text in table[column]]
        return bytes(table.to_csv(index=False), "utf-8")


def grade(
    folder: str | Path,
    limit_s: float = LIMIT_S,
    exercises_file: str | None = None,
    workers: int = 1,
    tell: Callable[[Marks], None] = lambda _: None,
) -> ClassMarks:
    """Run all that was handed in; ``tell`` is called with each student's marks when they are there.

    A subfolder of ``folder`` is a student, and so is a notebook or Python file in it; their names are the students'. A file has
    ``limit_s`` seconds. ``exercises_file`` has exercises of your own. Raises InputError for a folder without students.
    """
    own = add_exercises(exercises_file) if exercises_file is not None else []
    handed_in = students_in(Path(folder), exercises_file)
    grader = _Grader(Path(folder), limit_s, exercises_file)
    students = []
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(grader.marks, student, files) for student, files in handed_in.items()]
        try:
            for future in futures:
                students.append(future.result())
                tell(students[-1])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            grader.stop()
            raise
    return ClassMarks(students, _exercises(students, handed_in.values(), own))


def students_in(folder: Path, exercises_file: str | None = None) -> dict[str, list[Path]]:
    """The files of each student, by name. Raises InputError for no folder, an empty one, or a student who is there twice."""
    if not folder.is_dir():
        raise InputError(folder, "a folder with a subfolder or a file for each student", "no folder")
    leave_out = Path(exercises_file).name if exercises_file else ""
    found: dict[str, list[Path]] = {}
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "__")) or entry.name == leave_out or entry.is_symlink():
            continue
        name = printable(entry.stem if entry.is_file() else entry.name)
        if entry.is_dir():
            files = []
            with suppress(OSError):  # a folder that cannot be read has nothing to grade
                files = [path for path in sorted(entry.iterdir()) if _is_answer(path, leave_out)]
        elif _is_answer(entry, leave_out):
            files = [entry]
        else:
            continue
        if name in found:
            raise InputError(folder, "one subfolder or one file for each student", f"two for {name}")
        found[name] = files
    if not found:
        raise InputError(folder, f"a subfolder or a file ({', '.join(SUFFIXES)}) for each student", "none")
    return found


def _is_answer(path: Path, leave_out: str) -> bool:
    hidden = path.name.startswith((".", "__")) or path.name == leave_out
    return path.suffix in SUFFIXES and path.is_file() and not path.is_symlink() and not hidden


def _exercises(students: Iterable[Marks], files: Iterable[list[Path]], own: Sequence[str]) -> list[str]:
    """All exercises of the lessons that anybody handed in, and those of one's own."""
    asked = {name for marks in students for name in marks.asked}
    numbers = {str(int(match[1])) for paths in files for path in paths if (match := _LESSON.search(path.name))}
    numbers |= {name.partition(".")[0] for name in asked.difference(own)}
    return [name for name in exercises() if name.partition(".")[0] in numbers and name not in own] + [*own]


class _Grader:
    """Runs files of a class in processes of their own."""

    def __init__(self, folder: Path, limit_s: float, exercises_file: str | None):
        self._folder, self._limit_s = folder, limit_s
        self._exercises_file = Path(exercises_file) if exercises_file is not None else None
        self._known = list(exercises())
        self._stopped = False
        self._running: set[subprocess.Popen[bytes]] = set()

    def stop(self) -> None:
        """End what runs; no more is begun."""
        self._stopped = True
        for process in tuple(self._running):
            _stop(process)

    def marks(self, student: str, files: Sequence[Path]) -> Marks:
        """Run a student's files, one after the other. An exercise is right if it is so in one of them."""
        marks = Marks(student)
        if not files:
            marks.remarks.append(f"no {' or '.join(SUFFIXES)} file")
        for path in files:
            right: dict[str, bool] = {}
            try:
                checks = self._checks(path, marks.remarks)
            except Exception as error:  # whatever a student's files do: the teacher is told, and the class goes on
                marks.remarks.append(f"{path.name}: not graded, {type(error).__name__}: {error}")
                continue
            for entry in checks:
                marks.asked.add(entry["exercise"])
                if entry["answered"]:
                    right[entry["exercise"]] = entry["right"]
            for name, is_right in right.items():
                marks.right[name] = marks.right.get(name, False) or is_right
        marks.remarks = [printable(remark) for remark in marks.remarks]
        return marks

    def _checks(self, path: Path, remarks: list[str]) -> list[dict[str, Any]]:
        """Run a copy of the file, again without each piece that ended the process; what the checks of the last run noted.

        Why pieces were left out, and which failed, goes to the remarks.
        """
        without: list[int] = []
        while True:
            with _folder("grading-") as place:
                # Copy a file, what lies beside it in a student's subfolder, and the teacher's own exercises.
                beside = [path] if path.parent == self._folder else path.parent.iterdir()
                for source in [other for other in beside if other.is_file() and not other.is_symlink()]:
                    shutil.copyfile(source, place / source.name)
                if self._exercises_file is not None:
                    shutil.copyfile(self._exercises_file, place / self._exercises_file.name)
                record, why = self._run(place, path.name, without)
            entries = record.entries
            remarks += [f"{path.name}: {what}" for what in record.remarks]
            begun = [entry for entry in entries if "piece" in entry]
            if not why or not begun or len(without) == MOST_ENDED or self._stopped:
                break
            without.append(begun[-1]["piece"])
            remarks.append(f"{path.name}, {begun[-1]['name']}: {why}")
        if why:
            remarks.append(f"{path.name}: given up, {why}")
        failed = [entry for entry in entries if "failed" in entry]
        remarks += [f"{path.name}, {entry['failed']}: {entry['error']}" for entry in failed[:MOST_FAILED]]
        if len(failed) > MOST_FAILED:
            remarks.append(f"{path.name}: {len(failed) - MOST_FAILED:,} more failed")
        checks = [entry for entry in entries if "exercise" in entry]
        if not all(entry["exercise"] in self._known for entry in checks):
            remarks.append(f"{path.name}: exercises that neither a lesson nor the teacher has are not counted")
        return [entry for entry in checks if entry["exercise"] in self._known]

    def _run(self, place: Path, name: str, without: Sequence[int]) -> tuple[_Record, str]:
        """What one run noted, and why it did not come to its end (empty: it did)."""
        # Not in the folder in which the code runs, new for each run, and ours to read whatever becomes of its name.
        with _folder("grading-record-") as folder, open(folder / "record.jsonl", "wb+") as record:
            command = [sys.executable, "-P", "-m", "analysis.lessons.handed_in", str(place / name), record.name]
            command += ["--without", ",".join(map(str, without))] if without else []
            if self._exercises_file is not None:
                command += ["--exercises", str(place / self._exercises_file.name)]
            process = _started(command, place)
            self._running.add(process)
            try:
                if self._stopped:  # since it was started
                    _stop(process)
                status = _wait(process, record, self._limit_s)
                why = f"stopped after {self._limit_s:g} s" if status is None else f"it ended with status {status}"
            finally:
                _stop(process)
                self._running.discard(process)
            noted = _Record.of(record)
        return noted, "" if noted.entries and noted.entries[-1].get("done") else why


def _started(command: Sequence[str], place: Path) -> subprocess.Popen[bytes]:
    """A process that says nothing, in a group of its own so that it can be ended with those that it starts."""
    return subprocess.Popen(
        command,
        cwd=place,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _wait(process: subprocess.Popen[bytes], record: IO[bytes], limit_s: float) -> int | None:
    """The status of a process at its end; None if it takes longer than the limit from its first note on, or never notes any."""
    deadline = time.monotonic() + limit_s + LOADING_S
    begun = False
    while time.monotonic() < deadline:
        try:
            return process.wait(POLL_S)
        except subprocess.TimeoutExpired:
            if not begun and os.fstat(record.fileno()).st_size:
                begun, deadline = True, time.monotonic() + limit_s
    return None


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the process, and those that it started."""
    if hasattr(os, "killpg"):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
    else:
        process.kill()
    process.wait()


@contextmanager
def _folder(prefix: str) -> Iterator[Path]:
    """A folder of one's own, and of what is run there: whatever is left of it in the end goes as far as it can."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        with suppress(RecursionError):  # of folders within folders
            shutil.rmtree(folder, ignore_errors=True)


_IS_TEXT, _IS_TRUTH = (lambda value: isinstance(value, str)), (lambda value: isinstance(value, bool))
_FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "piece": {"piece": lambda value: type(value) is int and value >= 0, "name": _IS_TEXT},
    "exercise": {"exercise": _IS_TEXT, "right": _IS_TRUTH, "answered": _IS_TRUTH},
    "failed": {"failed": _IS_TEXT, "error": _IS_TEXT},
    "ready": {"ready": _IS_TRUTH},
    "done": {"done": _IS_TRUTH},
}
"""What ``handed_in`` notes, by the first field of a line."""


@dataclass(frozen=True)
class _Record:
    """What a run noted: the student's code can write there, too, so nothing is taken to be as ``handed_in`` writes it."""

    entries: list[dict[str, Any]]
    remarks: list[str]

    @classmethod
    def of(cls, file: IO[bytes]) -> _Record:
        """The whole lines of a record."""
        file.seek(0)
        content = file.read(MOST_BYTES + 1)
        entries, remarks, others = [], [], 0
        if len(content) > MOST_BYTES:
            remarks.append(f"it noted more than {MOST_BYTES:,} bytes, of which the rest is not read")
        for line in content[:MOST_BYTES].splitlines(keepends=True):
            entry = _entry(line) if line.endswith(b"\n") else {}  # the last of a process that was ended
            if entry is None:
                others += 1
            elif entry:
                entries.append(entry)
        if others:
            remarks.append(f"{counted(others, 'line')} in the record of its checks that no check writes")
        return cls(entries, remarks)


def _entry(line: bytes) -> dict[str, Any] | None:
    """A line of a record; None if it is none of what is noted there."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    fields = _FIELDS.get(next(iter(entry), ""), {}) if isinstance(entry, dict) else {}
    is_one = (
        fields and entry.keys() == fields.keys() and all(is_right(entry[name]) for name, is_right in fields.items())
    )
    return entry if is_one else None
