"""Files as bytes and text: whole, packed, endless, and what is no file at all."""

from __future__ import annotations

import gzip
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import FormatError, ModelWarning
from cluster_sim.files import reading as files
from cluster_sim.files.documents import read_document
from cluster_sim.files.reading import read_bytes
from cluster_sim.formats.irmasim_platform import platform_from
from cluster_sim.records import Result
from learning.training.configuration import read_config as read_training
from learning.training.training import check

SWF = b"; MaxProcs: 8\n" + b"1 0 -1 10 2 -1 -1 2 20 -1 1 3 1 -1 -1 -1 -1 -1\n"
READERS = [Workload.read, Platform.read, Result.load, read_document, read_training]


def test_packed_files_that_grow_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 MB of blanks in a kilobyte is refused in one line, and no more than the limit is unpacked."""
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 2**19)
    path = tmp_path / "bomb.swf.gz"
    path.write_bytes(gzip.compress(SWF + b" " * 2**20))
    with pytest.raises(FormatError, match=r"bomb.swf.gz: expected at most 524,288 bytes when unpacked .*, found more"):
        Workload.read(path)


def test_large_files_that_shrink_as_logs_do_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit in bytes, a file may still unpack to a hundred times its size."""
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 1000)
    content = os.urandom(5000) * 30
    (tmp_path / "log.gz").write_bytes(gzip.compress(content))
    assert read_bytes(tmp_path / "log.gz") == content


def test_packed_files_of_several_parts(tmp_path: Path) -> None:
    """Gzip files that were joined, and padded with zeros, are read to the end; with the last part cut off, refused."""
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"one ") + gzip.compress(b"two") + b"\0" * 512)
    assert read_bytes(path) == b"one two"
    path.write_bytes(gzip.compress(b"one ") + gzip.compress(b"two")[:-3])
    with pytest.raises(FormatError, match="expected a complete gzip file, found a file that was cut off"):
        read_bytes(path)


@pytest.mark.parametrize("read", READERS)
def test_pipes_are_no_files(tmp_path: Path, read: Callable[[str], object]) -> None:
    """A pipe in the place of a file is refused at once; nothing waits for somebody to write into it."""
    path = tmp_path / "pipe.swf"
    os.mkfifo(path)
    with pytest.raises(FormatError, match=r"pipe\.swf.*: expected .*, found (a pipe|a file of something else)"):
        read(str(path))


def test_pipes_in_the_folder_of_a_result(tmp_path: Path) -> None:
    """So is one in the place of a result's file."""
    os.mkfifo(tmp_path / "summary.json")
    with pytest.raises(FormatError, match=r"summary\.json: expected a readable file, found a pipe"):
        Result.load(tmp_path)


def test_what_else_is_no_file(tmp_path: Path) -> None:
    """Folders, devices and sockets are named for what they are."""
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(tmp_path)  # names of sockets are short
        server.bind("socket")
        for path, found in ((tmp_path, "a folder"), ("/dev/null", "a device"), ("socket", "a socket")):
            with pytest.raises(FormatError, match=f"expected a readable file, found {found}"):
                read_bytes(path)


def test_a_name_that_no_file_can_have_is_refused_with_the_configuration(tmp_path: Path) -> None:
    """A zero byte in what a training calls its workload ends in one line, not in an error of the system's."""
    config = tmp_path / "training.json"
    config.write_text('{"environment": {"platform": "homogeneous:nodes=1,cores=1", "workload": "a\\u0000b.csv"}}')
    with pytest.raises(FormatError, match="found"):
        check(read_training(config))


def test_a_key_that_is_no_text_among_platforms_is_refused() -> None:
    """YAML has keys of all kinds; names of machines are text."""
    with pytest.raises(FormatError, match="expected names that are text, found a name of type NoneType"):
        platform_from({"platform": {None: {"clusters": []}}}, "platform.json")


def test_a_number_beyond_all_floats_in_a_summary_is_refused(tmp_path: Path) -> None:
    """400 digits are found when the result is loaded, with the key, and not when a table is made of it."""
    workload = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [1.0]})
    Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("fcfs")).run().save(tmp_path)
    summary = tmp_path / "summary.json"
    summary.write_text(summary.read_text().replace('"seed": 0', f'"seed": {10**400}'))
    with pytest.raises(FormatError, match=r"summary\.json, seed: expected a number that a float can hold"):
        Result.load(tmp_path)


_SWF = "1 0 -1 10 2 -1 -1 2 20 -1 1 3 1 -1 -1 -1 -1 -1\n2 5 -1 -1 2 -1 -1 2 20 -1 1 3 1 -1 -1 -1 -1 -1\n"
_SACCT = (
    "JobID|Submit|Start|End|Elapsed|State|NCPUS|Odd\n"
    "1|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:10:00|00:10:00|COMPLETED|4|x\n"
    "2|2026-03-01T10:00:00|Unknown|Unknown||PENDING|4|x\n"
)
_TASKS = (
    {"type": "pfs_write", "bytes": 9, "pattern": "uniform"},
    {
        "type": "cpu",
        "flops": 8,
        "computation_pattern": "uniform",
    },
)
_DOUBTFUL: dict[str, str | dict[str, object]] = {
    "log.swf": _SWF,
    "sacct.txt": _SACCT,
    "irmasim.json": {
        "profiles": {"A": {"req_ops": 2e9, "ipc": 1, "req_time": 30, "mem": 10, "mem_vol": 100}},
        "jobs": [{"id": "a", "subtime": 0, "res": 1, "profile": "A", "colour": "red"}],
    },
    "batsim.json": {
        "nb_res": 4,
        "profiles": {"talks": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 5e6}},
        "jobs": [{"id": 0, "subtime": 1, "walltime": 100, "res": 4, "profile": "talks"}],
    },
    "elastisim.json": {
        "jobs": [{"type": "rigid", "submit_time": 0, "num_nodes": 2, "application": {"phases": [{"tasks": _TASKS}]}}]
    },
    "late.csv": "job_id,submit_time,requested_cores,recorded_run_time\na,1e9,1,10\n",
}


@pytest.mark.parametrize("name", _DOUBTFUL)
def test_what_a_reader_warns_of_points_at_the_line_that_reads(tmp_path: Path, name: str) -> None:
    """In a script of the user's, of each format, however many of the toolkit's functions lie between."""
    text = _DOUBTFUL[name]
    (tmp_path / name).write_text(text if isinstance(text, str) else json.dumps(text))
    with pytest.warns(ModelWarning) as told:
        Workload.read(tmp_path / name)
    assert {one.filename for one in told} == {__file__}


def test_what_a_writer_warns_of_points_at_the_line_that_writes(tmp_path: Path) -> None:
    """Parts of a job, which SWF cannot say."""
    jobs = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [9.0], "parts": ["3"]})
    with pytest.warns(ModelWarning) as told:
        jobs.write(tmp_path / "jobs.swf")
    assert {one.filename for one in told} == {__file__}
