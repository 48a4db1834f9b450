"""The command between other programs: JSON on stdout, a workload from stdin, a converted one to stdout; completion."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cluster_sim import Platform, Workload
from cluster_sim.cli import main

from .conftest import LOG, WORKLOAD

CSV = "job_id,submit_time,requested_cores,recorded_run_time\na,0,1,10\nb,5,2,20\n"
LAB = ("--platform", "lab.json")


def piped(text: str | bytes, *words: str) -> Result:
    """The command with that on its standard input."""
    result = CliRunner().invoke(main, words, input=text)
    assert result.exit_code == 0, result.output
    return result


# ---------------------------------------------------------------------- JSON


def test_run_prints_its_summary_as_json(done) -> None:
    """stdout has the document of summary.json alone; where the results are is said on stderr."""
    told = done("run", *LAB, "--workload", "jobs.json", "--out", "out", "--json")
    assert json.loads(told.stdout) == json.loads(Path("out/summary.json").read_text())
    assert told.stderr == "cluster-sim: The results are in out\n"


def test_what_has_no_value_is_null(done) -> None:
    """NaN, which Python would write, is no JSON: a run that rejects every job has no mean wait."""
    Path("wide.csv").write_text("submit_time,requested_cores,recorded_run_time\n0,1000,10\n")
    told = done("run", *LAB, "--workload", "wide.csv", "--out", "out", "--json").stdout

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(told, parse_constant=refuse)["jobs_rejected"] == 1


def test_compare_prints_its_table_as_json(done) -> None:
    """By metric, the unit and a value for each scheduler; so with replications, which have half-widths beside them."""
    words = ("compare", *LAB, "--workload", "jobs.json", "-s", "fcfs", "-s", "sjf", "--out", "out", "--json")
    energy = json.loads(done(*words).stdout)["energy_j"]
    assert (energy["unit"], list(energy)) == ("J", ["unit", "fcfs", "sjf", "sjf vs first, %"])
    assert energy["fcfs"] == json.loads(Path("out/fcfs/summary.json").read_text())["energy_j"]
    assert "fcfs ±" in json.loads(done(*words, "--replications", "2").stdout)["energy_j"]


def test_validate_and_list_print_json(done, refused) -> None:
    """Facts by name, names with their meaning; what is wrong is one line on stderr, as ever."""
    told = json.loads(done("validate", "lab.json", "--json").stdout)
    assert (told["file"], told["kind"], told["facts"]["nodes"]) == ("lab.json", "platform", "3")
    names = json.loads(done("list", "power-policies", "--json").stdout)
    assert "always-on" in [each["name"] for each in names]
    assert all(each["meaning"] for each in names)
    assert refused("validate", "gone.json", "--json").startswith("gone.json: expected")


# ---------------------------------------------------------------------- standard input


@pytest.mark.parametrize(
    ("content", "jobs"),
    [(LOG, 3), (LOG[LOG.index("\n1") :], 3), (json.dumps(WORKLOAD), 8), (CSV, 2), (gzip.compress(LOG.encode()), 3)],
    ids=["swf", "swf-without-header", "json", "csv", "gzipped"],
)
def test_a_workload_comes_from_stdin(here: Path, content: str | bytes, jobs: int) -> None:
    """The content tells the format; the records have the checksum, under the name that was given."""
    content = content if isinstance(content, bytes) else content.lstrip().encode()
    told = piped(content, "run", *LAB, "--workload", "-", "--out", "out", "--json").stdout
    summary = json.loads(told)
    assert (summary["jobs_submitted"], summary["workload"]) == (jobs, "-")
    plain = gzip.decompress(content) if content.startswith(b"\x1f") else content
    assert summary["inputs"]["-"] == hashlib.sha256(plain).hexdigest()


def test_stdin_is_read_once_for_several_runs(here: Path) -> None:
    """A comparison, with replications, reads its workload again and again."""
    words = ("compare", *LAB, "-w", "-", "-s", "fcfs", "-s", "sjf", "--replications", "2", "--out", "out")
    assert "jobs submitted" in piped(LOG, *words).stdout


def test_the_other_commands_read_stdin(here: Path) -> None:
    """A workload can be checked and converted on its way."""
    assert piped(LOG, "validate", "-").stdout.startswith("-: workload, valid\n")
    piped(LOG, "convert", "-", "log.csv")
    assert len(Workload.read("log.csv")) == 3


def test_nothing_on_stdin_is_told(command) -> None:
    """An empty pipe is an empty file."""
    result = command("run", *LAB, "--workload", "-", "--out", "out")
    assert (result.exit_code, result.stderr) == (2, "cluster-sim: -: expected some content, found an empty file\n")


# ---------------------------------------------------------------------- standard output


def test_convert_writes_to_stdout(done) -> None:
    """--format says what; stdout has what a file would have, and nothing else."""
    for text_format in ("swf", "csv", "json"):
        told = done("convert", "log.swf", "-", "--format", text_format)
        done("convert", "log.swf", f"same.{text_format}")
        assert told.stdout == Path(f"same.{text_format}").read_text()
        assert "cluster-sim: workload of 3 jobs\n" in told.stderr
        assert "/tmp" not in told.stderr
    Path("lab2.yaml").write_text(done("convert", "lab.json", "-", "--format", "yaml").stdout)
    assert Platform.read("lab2.yaml").node_count == 3
    assert not Path("-").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["convert", "log.swf", "-"], "convert: expected --format with OUT -, standard output; "),
        (
            ["convert", "log.swf", "log.csv", "--format", "csv"],
            "convert: expected --format with OUT -, standard output; ",
        ),
        (["convert", "log.swf", "-", "--format", "yaml"], "- with --format yaml: expected a file name ending in .swf"),
        (["convert", "lab.json", "-", "--format", "csv"], "- with --format csv: expected a file name ending in .yaml"),
        (["convert", "out", "-"], "convert: expected --format with OUT -, standard output; "),
        (["run", *LAB, "-w", "jobs.json", "--out", "-"], "--out: expected the name of what to write, found -"),
        (["compare", *LAB, "-w", "jobs.json", "-s", "fcfs", "--out", "-"], "--out: expected the name of what to write"),
        (["gantt", "out", "--out", "-"], "gantt, --out: expected the name of what to write, found -"),
        (["lesson", "1", "--out", "-"], "lesson, --out: expected the name of what to write, found -"),
    ],
)
def test_nothing_of_the_name_of_a_pipe_is_made(done, refused, words: list[str], told: str) -> None:
    """What cannot go to stdout is refused in one line, and no file or folder ``-`` comes of it."""
    done("run", *LAB, "--workload", "jobs.json", "--out", "out")
    assert refused(*words).startswith(told)
    assert not Path("-").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("run", *LAB, "-w", "jobs.json"),
        ("compare", *LAB, "-w", "jobs.json", "-s", "fcfs"),
        ("demo",),
        ("gantt", "out"),
        ("lesson", "1"),
        ("reproduce", "deepshutdown"),
    ],
)
def test_an_empty_name_is_not_the_working_directory(refused, here, words: tuple[str, ...]) -> None:
    """--out "$RESULTS" without such a variable writes nothing, rather than into the folder where it was called."""
    before = sorted(here.iterdir())
    assert "--out: expected the name of what to write, found nothing" in refused(*words, "--out", "")
    assert sorted(here.iterdir()) == before


# ---------------------------------------------------------------------- completion


def offered_for(line: str) -> list[str]:
    """What click tells bash when the last word of a line is to be completed: kind and text, a line each."""
    words = ["cluster-sim", *line.split()]
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1), "_CLUSTER_SIM_COMPLETE": "bash_complete"}
    return CliRunner(env=asked).invoke(main, [], prog_name="cluster-sim").stdout.splitlines()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("run --scheduler sj", "sjf"),
        ("compare -s fcfs -s ea", "easy"),
        ("run --power-policy time", "timeout"),
        ("run --contention-model piece", "piecewise"),
        ("run --platform homog", "homogeneous:"),
        ("run --platform machine:tau", "machine:taurus"),
        ("run --workload lub", "lublin:"),
        ("evaluate agent --also sj", "sjf"),
        ("gan", "gantt"),
        ("gantt --color", "--color-by"),
    ],
)
def test_a_shell_completes_names(here: Path, line: str, offered: str) -> None:
    """Commands, options, and the names that options take."""
    assert [each for each in offered_for(line) if each.startswith("plain,")] == [f"plain,{offered}"]


@pytest.mark.parametrize("line", ["gantt ou", "validate la", "run stu", "run --scheduler ls", "run --scheduler e"])
def test_a_shell_completes_files(here: Path, line: str) -> None:
    """Files are offered where one may stand, also in the place of a name; first, or bash would forget the names."""
    assert offered_for(line)[0] == f"file,{line.split()[-1]}"


def test_warnings_come_before_the_table(here: Path) -> None:
    """``run`` and ``sweep`` into a reader that is gone: the table is lost, what was assumed is told."""
    sweep = "factors: {platform: 'homogeneous:nodes=4,cores=4', workload: 'lublin:jobs=9,nodes=16'}\nreplications: 1\n"
    Path("sweep.yaml").write_text(sweep)
    for words in (
        ("run", "-w", "log.swf", "--out", "run"),
        ("sweep", "sweep.yaml", "--workers", "1", "--out", "sweep"),
    ):
        end, begin = os.pipe()
        os.close(end)
        told = io.StringIO()
        with os.fdopen(begin, "w") as gone, pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdout", gone)
            patch.setattr(sys, "stderr", told)
            with pytest.raises(SystemExit) as ended:
                main(words)
        assert ended.value.code == 141
        assert "warning: watts: " in told.getvalue()
