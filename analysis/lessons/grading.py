"""Grading of a class: every file that was handed in is run in a process of its own, with a time limit.

::

    from analysis.lessons.grading import grade

    marks = grade("week1")           # a subfolder or a file for each student
    marks.table()                    # a row for each student, a column for each exercise

The students' code runs on this machine with the rights of the teacher. A process of its own keeps one student's endless
loop or crash from the others; it does not keep malice away.
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Any

import pandas as pd
from annotated_types import Ge, Gt, Unit
from typing_extensions import Doc

from analysis.lessons.catalogue import add_exercises, exercises
from cluster_sim.errors import InputError, counted, printable

SUFFIXES = (".ipynb", ".py")
LOADING_S = 60.0
"""Time for loading the simulator, s, in addition to the limit; on a busy machine it takes long."""
POLL_S = 0.05
MOST_ENDED = 5
"""Number of pieces that end the process, after which a file is given up."""
MOST_FAILED = 50
"""Number of failed pieces in the remarks."""
MOST_BYTES = 4_000_000
"""Bytes of a record that are read: some ten thousand checks."""
_LESSON = re.compile(r"lesson-(\d\d)")


@dataclass
class Marks:
    """Marks of a student: ``right`` has the last check of each exercise that was answered."""

    student: str
    right: dict[str, bool] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)  #: Exercises that the files check, with or without an answer.

    @property
    def points(self) -> int:
        """Return the number of right answers."""
        return sum(self.right.values())


@dataclass(frozen=True)
class ClassMarks:
    """Marks of all students, by name, and the exercises of the class."""

    students: list[Marks]
    exercises: list[str]

    def table(self) -> pd.DataFrame:
        """Return a row for each student: 1, 0, or nothing without an answer; points, of how many, and remarks."""
        rows = [
            {"student": marks.student}
            | {name: marks.right.get(name) for name in self.exercises}
            | {"points": marks.points, "of": len(self.exercises), "remarks": "; ".join(marks.remarks)}
            for marks in self.students
        ]
        table = pd.DataFrame(rows)
        return table.astype(dict.fromkeys(self.exercises, "Int64"))

    def csv(self) -> bytes:
        """Return the table as CSV for a spreadsheet; an apostrophe precedes texts that would be formulas."""
        table = self.table()
        for column in ("student", "remarks"):
            table[column] = [f"'{text}" if text.startswith(tuple("=+-@")) else text for text in table[column]]
        return bytes(table.to_csv(index=False), "utf-8")


def grade(
    folder: str | Path,
    limit_s: Annotated[
        float, Gt(0), Unit("s"), Doc("time limit of a file; lesson 9 trains for most of a minute")
    ] = 120.0,
    exercises_file: Annotated[str | None, Doc("a Python file with exercises of your own")] = None,
    workers: Annotated[int, Ge(1), Doc("students at a time")] = 1,
    tell: Callable[[Marks], None] = lambda _: None,
) -> ClassMarks:
    """Run all files that were handed in; call ``tell`` with each student's marks as soon as they are known.

    Each subfolder of ``folder``, and each notebook or Python file in it, is a student of that name. Raises InputError for
    a folder without students.
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
    # The exercises of all lessons that anybody handed in, then one's own.
    asked = {name for marks in students for name in marks.asked}
    paths = [path for files in handed_in.values() for path in files]
    numbers = {str(int(match[1])) for path in paths if (match := _LESSON.search(path.name))}
    numbers |= {name.partition(".")[0] for name in asked.difference(own)}
    lessons = [name for name in exercises() if name.partition(".")[0] in numbers and name not in own]
    return ClassMarks(students, lessons + own)


def students_in(folder: Path, exercises_file: str | None = None) -> dict[str, list[Path]]:
    """Return the files of each student, by name. Raises InputError for no folder, no students, or a student twice."""
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


class _Grader:
    """Runner of a class's files, each in a process of its own."""

    def __init__(self, folder: Path, limit_s: float, exercises_file: str | None):
        self._folder, self._limit_s = folder, limit_s
        self._exercises_file = Path(exercises_file) if exercises_file is not None else None
        self._known = list(exercises())
        self._stopped = False
        self._running: set[subprocess.Popen[bytes]] = set()

    def stop(self) -> None:
        """End all processes, and start no more."""
        self._stopped = True
        for process in tuple(self._running):
            _stop(process)

    def marks(self, student: str, files: Sequence[Path]) -> Marks:
        """Run a student's files, one after the other. An exercise is right if it is right in one of them."""
        marks = Marks(student)
        if not files:
            marks.remarks.append(f"no {' or '.join(SUFFIXES)} file")
        for path in files:
            right: dict[str, bool] = {}
            try:
                checks = self._checks(path, marks.remarks)
            except Exception as error:  # the teacher is told, and the class goes on
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
        """Run a copy of the file, and again without each piece that ended the process; return the last run's checks.

        The remarks get the pieces that were left out, why, and the pieces that failed.
        """
        without: list[int] = []
        while True:
            with _folder("grading-") as place:
                # Copy the file, the other files of a student's subfolder, and the teacher's own exercises.
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
        """Return the record of one run, and why it did not come to its end (empty: it did)."""
        # The record is outside the folder in which the code runs, new for each run, and open: it can always be read.
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
    """Start a silent process in a group of its own, so that it can be ended together with its children."""
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
    """Return the exit status of a process; None if it exceeds the limit after its first note, or writes none."""
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
    """End the process and its children."""
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
    """Make a temporary folder, and delete at the end as much of it as can be deleted."""
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
"""Fields of a line that ``handed_in`` notes, by the line's first field."""


@dataclass(frozen=True)
class _Record:
    """Record of a run. The student's code can write there, too, so every line is checked."""

    entries: list[dict[str, Any]]
    remarks: list[str]

    @classmethod
    def of(cls, file: IO[bytes]) -> _Record:
        """Return the whole lines of a record."""
        file.seek(0)
        content = file.read(MOST_BYTES + 1)
        entries, remarks, others = [], [], 0
        if len(content) > MOST_BYTES:
            remarks.append(f"it noted more than {MOST_BYTES:,} bytes, of which the rest is not read")
        for line in content[:MOST_BYTES].splitlines(keepends=True):
            entry = _entry(line) if line.endswith(b"\n") else {}  # cut when the process was ended
            if entry is None:
                others += 1
            elif entry:
                entries.append(entry)
        if others:
            remarks.append(f"{counted(others, 'line')} in the record of its checks that no check writes")
        return cls(entries, remarks)


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return a line of a record; None if ``handed_in`` writes no such line."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    fields = _FIELDS.get(next(iter(entry), ""), {}) if isinstance(entry, dict) else {}
    if not fields or entry.keys() != fields.keys():
        return None
    return entry if all(is_right(entry[name]) for name, is_right in fields.items()) else None
