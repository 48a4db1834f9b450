"""Files that are no workloads: always one line, naming file and place, never another kind of error."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from cluster_sim.errors import FormatError, SpecError
from cluster_sim.run.hosts import platform_of_log
from cluster_sim.workload import Workload
from schedulers import make_scheduler

SWF = "; MaxProcs: 8\n1 0 -1 10 2 -1 -1 2 20 -1 1 3 1 -1 -1 -1 -1 -1\n2 5 -1 10 2 -1 -1 2 20 -1 1 3 1 -1 -1 -1 -1 -1\n"
REST = " -1" * 13 + "\n"
"""Fields 6 to 18, unknown."""
CSV = "job_id,submit_time,requested_cores,operations\na,0,1,1e9\nb,1.5,2,2e9\n"
JSON = '{"jobs": [{"id": "a", "subtime": 0, "res": 1, "profile": "p"}], "profiles": {"p": {"req_ops": 5, "ipc": 1}}}'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.swf", "", "expected some content, found an empty file"),
        ("blank.json", " \n\n", "expected some content, found an empty file"),
        ("comments.swf", "; MaxProcs: 8\n;\n", "expected at least one job line, found none"),
        ("marks.swf", b"\xef\xbb\xbf" * 2, "line 1: expected the 18 fields of SWF, -1 for what is unknown, found 1"),
        ("short.swf", "; h\n1 0 -1 10\n", "line 2: expected the 18 fields of SWF, -1 for what is unknown, found 4"),
        ("word.swf", SWF + "3 7 -1 ten 2" + REST, "line 4, field 4: expected a finite number, found ten"),
        ("nan.swf", SWF + "3 nan -1 10 2" + REST, "line 4, field 2: expected a finite number, found nan"),
        ("inf.swf", SWF + "3 7 -1 inf 2" + REST, "line 4, field 4: expected a finite number, found inf"),
        ("huge.swf", SWF + "3 1e400 -1 10 2" + REST, "line 4, field 2: expected a finite number, found 1e400"),
        (
            "late.swf",
            SWF + "3 7 -1 10 2 -1 -1 2 nan -1 -1 -1 -1 -1 -1 -1 -1 -1\n",
            "line 4, field 9: expected a finite number, found nan",
        ),
        (
            "wide.swf",
            SWF + f"3 7 -1 10 {10**30}" + REST,
            "line 4, job 3, requested_cores: expected a whole number below",
        ),
        (
            "half.swf",
            SWF + f"3 7 -1 10 2.5 -1 -1 2.5{REST[:-9]}\n",
            "line 4, job 3, requested_cores: expected a whole number",
        ),
        (
            "early.swf",
            SWF + "3 -7 -1 10 2" + REST,
            "line 4, job 3, submit_time: expected a finite number >= 0, found -7.0",
        ),
        ("long.swf", SWF + "3 7 -1 1e25 2" + REST, r"job 3, recorded_run_time: .* >= 0, at most 1e18, found 1e\+25"),
        ("long.csv", CSV + "c,2e18,1,1\n", "job c, submit_time: expected a finite number >= 0, at most 1e18"),
        ("twice.swf", SWF + "1 9 -1 10 2" + REST, "line 4, job 1, job_id: expected an id not yet used"),
        (
            "none.swf",
            "1 0 -1 -1 2" + REST,
            "expected at least one job that can be simulated, found 1 of 1 jobs dropped",
        ),
        ("binary.swf", b"\x7fELF\x00\x01\x02\xff" * 50, "line 1"),
        ("binary.csv", b"\x7fELF\x00\x01\x02\xff" * 50, "line 1: expected text in UTF-8"),
        ("binary.json", b"\x00\x01\x02" * 50, "line 1: expected text, found binary data"),
        (
            "plain.txt",
            "JobID JobName Submit\n----- ------- ------\n7 a now\n",
            r"sacct's with JobID .* \(--parsable2, no --no",
        ),
        (
            "headless.txt",
            "7|ann|phys|batch\n",
            r"a header line of sacct's with JobID and Submit \(--parsable2, no --noh",
        ),
        ("latin.txt", b"JobID|Submit|User\n7|2026-03-01T10:00:00|m\xfcller\n", "line 2: .* UTF-8 .iconv -f latin1"),
        ("latin.csv", CSV.encode() + b"caf\xe9,1,1,1\n", "line 4: expected text in UTF-8"),
        ("broken.json", JSON[:40], "line 1 column .*: expected JSON"),
        (
            "twice.json",
            JSON.replace('"id"', '"id": "b", "id"', 1),
            "expected every key once in an object, found 'id' twice",
        ),
        ("nan.json", JSON.replace("5", "NaN"), "expected finite numbers, found NaN"),
        ("huge.json", JSON.replace("5", "1e400"), r"jobs\[0\], job a, operations: expected a finite number >= 0"),
        ("long.json", JSON.replace("5", "9" * 5000), "expected numbers of a reasonable length"),
        (
            "half.json",
            JSON.replace('"a"', '"\\ud800"'),
            r"jobs\[0\], job_id: expected text that can be written as UTF-8",
        ),
        (
            "nul.json",
            JSON.replace('"a"', '"a\\u0000b"'),
            r"jobs\[0\], job_id: expected text .*, without NUL, found a\\x00b",
        ),
        (
            "work.json",
            JSON.replace("5", "1e300"),
            "job a, operations: expected a finite number >= 0, at most 1e30, found 1e",
        ),
        ("deep.json", "[" * 100_000, "expected a document of reasonable depth"),
        ("truncated.swf.gz", gzip.compress(SWF.encode(), mtime=0)[:-9], "expected a complete gzip file"),
        ("damaged.swf.gz", gzip.compress(SWF.encode(), mtime=0)[:20] + b"\x00" * 50, "expected a complete gzip file"),
        (
            "unknown.xyz",
            "hello world",
            r"expected a workload file \(.swf\[.gz\], .json\[.gz\], .csv\[.gz\]\), found hello",
        ),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    """Malformed, truncated, empty, binary and impossible files are refused in one line."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FormatError, match=message) as caught:
        Workload.read(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_places_that_are_no_files(tmp_path: Path) -> None:
    """A folder, or nothing at all, is told what could be read."""
    for path in (tmp_path, tmp_path / "absent.swf", "absent:spec", "\x00"):
        found = "a folder" if path == tmp_path else "no such file"
        with pytest.raises(FormatError, match=rf"expected a workload file .*, found {found}"):
            Workload.read(path)


def test_numbers_of_thousands_of_digits(tmp_path: Path) -> None:
    """Python converts none of more than 4,300 digits; where a file or a spec says one, it is refused like any other."""
    digits = "9" * 5000
    (tmp_path / "a.swf").write_text(SWF.replace("MaxProcs: 8", f"MaxProcs: {digits}"))
    with pytest.raises(FormatError, match=r"a\.swf: header, MaxProcs: expected an integer from 1 to"):
        platform_of_log(Workload.read(tmp_path / "a.swf"), str(tmp_path / "a.swf"))
    (tmp_path / "a.csv").write_text(CSV.replace("\na,", f"\n{digits},"))
    Workload.read(tmp_path / "a.csv").write(tmp_path / "b.swf")  # such an id is a name, and is numbered
    assert Workload.read(tmp_path / "b.swf").jobs["job_id"].tolist() == ["1", "2"]
    with pytest.raises(SpecError, match="option depth: expected a whole number of jobs, 0 or more, or all"):
        make_scheduler(f"easy:depth={digits}")


def test_unknown_option_and_suffix(tmp_path: Path) -> None:
    """Options of another format, and suffixes of none, are refused with those there are."""
    (tmp_path / "a.csv").write_text(CSV)
    with pytest.raises(SpecError, match=r"expected an option of this format \(time_unit\), found cancelled"):
        Workload.read(tmp_path / "a.csv", cancelled="drop")
    with pytest.raises(FormatError, match=r"expected a file name ending in .swf\[.gz\], .json\[.gz\], .csv\[.gz\]"):
        Workload.read(tmp_path / "a.csv").write(tmp_path / "a.docx")


@pytest.mark.parametrize(("name", "content"), [("x", SWF), ("x.txt", JSON), ("x.dat", CSV), ("x.gz", SWF)])
def test_format_is_told_by_content(tmp_path: Path, name: str, content: str) -> None:
    """Without a known suffix a look at the content decides."""
    (tmp_path / name).write_text(content)
    assert len(Workload.read(tmp_path / name)) >= 1
