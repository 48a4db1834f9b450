"""How commands end: exit status, one line for what is wrong, and nothing broken left behind."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster_sim import Simulation, __version__
from cluster_sim.extras import EXTRA_OF

from .conftest import LOG, PLATFORM, WORKLOAD

ROOT = Path(__file__).resolve().parents[2]
JOBS_CSV = "job_id,submit_time,requested_cores,recorded_run_time\na,0,1,10\nb,5,2,20\n"


def spawn(*words: str, **more: object) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment} | more
    return subprocess.Popen([sys.executable, "-m", "cluster_sim", *words], **pipes)  # type: ignore[call-overload]


def listen_to_interrupts() -> None:
    """In the child, before Python starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# ---------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["fly"], "No such command 'fly'"),
        (["run"], "Missing option '--out'"),
        (["run", "--out", "o"], "cluster-sim run: expected --workload W, or a configuration file"),
        (["run", "-w", "log.swf", "--out", "o", "--quick"], "No such option '--quick'"),
        (["run", "-w", "log.swf", "--out", "o", "--first", "0"], "Invalid value for '--first'"),
        (["run", "-w", "log.swf", "--out", "o", "--first", "x"], "Invalid value for '--first'"),
        (["run", "-w", "log.swf", "--out", "o", "--seed", "-1"], "Invalid value for '--seed'"),
        (["run", "-w", "log.swf", "--out", "o", "--until", "nan"], "Invalid value for '--until'"),
        (["run", "-w", "log.swf", "--out", "o", "--until", "-5"], "Invalid value for '--until'"),
        (["run", "-w", "log.swf", "--out", "o", "--time-unit", "year"], "Invalid value for '--time-unit'"),
        (["run", "-w", "log.swf", "--out", "o", "--format", "xls"], "Invalid value for '--format'"),
        (["run", "-w", "log.swf", "--out", "log.swf"], "Invalid value for '--out'"),
        (["run", "-w", "log.swf", "--out", "log.swf/deep"], "log.swf/deep: Not a directory"),
        (["run", "-w", "log.swf", "--out", "o", "-s", "best"], "scheduler: expected one of adaptive-pcbe"),
        (["run", "-w", "log.swf", "--out", "o", "-s", "list:first"], None),
        (["run", "-w", "log.swf", "--out", "o", "-s", "list:first/last"], "node order: expected one of"),
        (["run", "-w", "log.swf", "--out", "o", "-s", "list:first/first,blocking=perhaps"], "scheduler 'list:first"),
        (["run", "-w", "log.swf", "--out", "o", "-s", "fcfs:depth=3"], "scheduler 'fcfs:depth=3': expected an option"),
        (["run", "-w", "log.swf", "--out", "o", "-s", ""], "spec ''"),
        (["run", "-w", "log.swf", "--out", "o", "--power-policy", "never"], "power policy: expected one of always-on"),
        (["run", "-w", "log.swf", "--out", "o", "--contention-model", "x"], "contention model: expected one of"),
        (["run", "-w", "log.swf", "--out", "o", "--contention-model", "piecewise:k=x"], "contention model 'piece"),
        (["run", "-w", "log.swf", "--out", "o", "--power-model", "x"], "power model: expected one of"),
        (["run", "-w", "log.swf", "--out", "o", "--quirk", "odd"], "quirk: expected one of"),
        (["run", "-w", "log.swf", "--out", "o", "-p", "homogeneous:nodes=0,cores=1"], "platform 'homogeneous'"),
        (["run", "-w", "log.swf", "--out", "o", "-p", "homogeneous"], "platform 'homogeneous': expected options"),
        (["run", "-w", "log.swf", "--out", "o", "-p", "mixed:3*64"], "platform 'mixed': expected"),
        (["run", "-w", "log.swf", "--out", "o", "-p", "gone.yaml"], "gone.yaml: expected a readable file"),
        (["run", "-w", "log.swf", "--out", "o", "-p", "."], ".: expected a readable file"),
        (["run", "-w", "jobs.json", "--out", "o"], "jobs.json: expected --platform P with it"),
        (["run", "-w", "gone.swf", "--out", "o"], "gone.swf: expected"),
        (["run", "-w", ".", "--out", "o"], ".: expected"),
        (["run", "-w", "", "--out", "o"], ": expected"),
        (["run", "gone.yaml", "--out", "o"], "gone.yaml: expected a readable file"),
        (["run", "lab.json", "--out", "o"], "lab.json: expected one of workload"),
        (["compare", "-w", "log.swf", "--out", "o"], "Missing option '--scheduler'"),
        (
            ["compare", "-w", "log.swf", "--out", "o", "-s", "fcfs", "-s", "best"],
            "scheduler: expected one of adaptive-pcbe",
        ),
        (["gantt"], "Missing argument 'DIR...'"),
        (["gantt", "gone"], "gone/summary.json: expected the results of a run"),
        (["gantt", "log.swf"], "log.swf: expected the folder of a run, or a table with Batsim's columns"),
        (["explain", "out"], "Missing argument 'JOB'"),
        (["convert", "log.swf"], "Missing argument 'OUT'"),
        (["validate", "gone.json"], "gone.json: expected"),
        (["validate", "."], ".: expected"),
        (["list", "planets"], "list: expected one of schedulers, job-orders,"),
    ],
)
def test_wrong_words_are_told_in_one_line(refused, done, words, told) -> None:
    """Exit status 2 and one line that names the option or file; no folder of results."""
    if told is None:
        done(*words)
        return
    assert refused(*words).startswith(told)
    assert not Path("o").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "study.yaml: expected a JSON or YAML document, found an empty file"),
        ("- a\n- b\n", "study.yaml: expected a configuration"),
        ("workload: [log.swf]\n", "study.yaml: workload: expected"),
        ("platform: lab.json\n", "study.yaml: expected key 'workload'"),
        (
            "workload: log.swf\nschedular: sjf\n",
            "study.yaml: expected scheduler (the nearest known name), found schedular",
        ),
        ("workload: log.swf\nseed: -1\n", "study.yaml: seed: expected"),
        ("workload: log.swf\nseed: 1.5\n", "study.yaml: seed: expected"),
        ("workload: log.swf\nfirst: 0\n", "study.yaml: first: expected"),
        ("workload: log.swf\nuntil: .nan\n", "study.yaml: until: expected"),
        ("workload: log.swf\nuntil: -1\n", "study.yaml: until: expected"),
        ("workload: log.swf\nformat: xls\n", "study.yaml: format: expected"),
        ("workload: log.swf\ntime_unit: year\n", "study.yaml: time_unit: expected"),
        ("workload: log.swf\nreport: maybe\n", "study.yaml: report: expected"),
        ("workload: log.swf\nquirks: odd\n", "study.yaml: quirks: expected"),
        ("workload: log.swf\nworkload: log.swf\n", "study.yaml, line 2: expected YAML"),
        ("workload: {\n", "study.yaml, line 2: expected YAML"),
        ("workload: !!python/object:os.system {}\n", "study.yaml, line 1: expected YAML"),
    ],
)
def test_wrong_configurations_are_told_in_one_line(refused, text, told) -> None:
    """File and key of what is wrong in a configuration."""
    Path("study.yaml").write_text(text)
    assert refused("run", "study.yaml", "--out", "o").startswith(told)


# ---------------------------------------------------------------------- files


def damaged(name: str, text: str) -> dict[str, bytes]:
    """What can have happened to any file, by a word for it."""
    whole = text.encode()
    return {
        "empty": b"",
        "blank": b"\n\n  \n",
        "binary": bytes(range(256)) * 8,
        "nul": whole + b"\x00\x00",
        "not utf-8": whole[: len(whole) // 2] + b"\xff\xfe\xfa" + whole[len(whole) // 2 :],
        "torn gzip": gzip.compress(whole * 50)[:-20],
        "false gzip": b"\x1f\x8b" + whole,
    }


def altered(name: str) -> dict[str, tuple[str, str]]:
    """Wrong values by a word for them: what to replace in a good file, and by what."""
    return {
        "log.swf": {
            "text for a number": ("2  10", "2  ten"),
            "negative submission": ("2  10", "2 -10"),
            "NaN": ("  50 8", "  nan 8"),
            "infinite": ("  50 8", "  inf 8"),
            "huge": ("  50 8", "  1e999 8"),
            "too many processors": ("8  60", "99999999999999999999  60"),
            "two jobs of one id": ("\n2  10", "\n1  10"),
            "one short line": ("3  20 -1  10 1 -1 -1 1  20 -1 1 1 1 1 1 1 -1 -1", "3 20"),
        },
        "jobs.json": {
            "no brace": ("]}", "]"),
            "no list": ('"jobs": [', '"works": ['),
            "unknown profile": ('"profile": "A"', '"profile": "Z"'),
            "negative cores": ('"res": 1,', '"res": -1,'),
            "half a core": ('"res": 1,', '"res": 0.5,'),
            "no cores": ('"res": 1,', ""),
            "text for a time": ('"subtime": 0', '"subtime": "soon"'),
            "NaN": ('"subtime": 0', '"subtime": NaN'),
            "infinite": ('"req_ops": 20000000000.0', '"req_ops": 1e999'),
            "negative work": ('"req_ops": 20000000000.0', '"req_ops": -1'),
            "huge integer": ('"res": 1,', f'"res": {"9" * 400},'),
            "two jobs of one id": ('"id": "j1"', '"id": "j0"'),
        },
        "jobs.csv": {
            "unknown column": ("submit_time", "submitted"),
            "missing column": ("requested_cores,", ""),
            "text for a number": ("b,5", "b,five"),
            "NaN": ("b,5", "b,nan"),
            "negative": ("b,5", "b,-5"),
            "no cores": ("b,5,2", "b,5,0"),
            "cell too many": ("b,5,2,20", "b,5,2,20,7"),
            "two jobs of one id": ("b,5", "a,5"),
            "quote without end": ("b,5", 'b,"5'),
        },
        "lab.json": {
            "no brace": ("}]}", "}]"),
            "unknown key": ('"clock_ghz"', '"clock_mhz"'),
            "unknown type": ('"type": "fast"', '"type": "faster"'),
            "negative cores": ('"cores": 4', '"cores": -4'),
            "no clock": ('"clock_ghz": 1.0', '"clock_ghz": 0'),
            "NaN": ('"clock_ghz": 1.0', '"clock_ghz": NaN'),
            "infinite": ('"clock_ghz": 1.0', '"clock_ghz": 1e999'),
            "negative watts": ('"static_w": 10.0', '"static_w": -10.0'),
            "far too many nodes": ('"count": 2', '"count": 20000000000'),
            "no nodes": ('{"type": "thin", "count": 2}, {"type": "quick"}', ""),
            "half a node": ('"count": 2', '"count": 0.5'),
            "huge integer": ('"cores": 4', f'"cores": {"9" * 5000}'),
        },
    }[name]


GOOD = {"log.swf": LOG, "jobs.json": json.dumps(WORKLOAD), "jobs.csv": JOBS_CSV, "lab.json": json.dumps(PLATFORM)}
CASES = [(name, what) for name, text in GOOD.items() for what in [*damaged(name, text), *altered(name)]]


@pytest.mark.parametrize(("name", "what"), CASES)
def test_bad_files_are_told_in_one_line(refused, name, what) -> None:
    """Every command that reads a file says in one line that names it what is wrong, and writes nothing."""
    text = GOOD[name]
    if what in damaged(name, text):
        Path(name).write_bytes(damaged(name, text)[what])
    else:
        old, new = altered(name)[what]
        assert old in text
        Path(name).write_text(text.replace(old, new, 1))
    files = set(Path().iterdir())
    other = ("--workload", "jobs.json") if name == "lab.json" else ("--workload", name)
    for words in (("run", "--platform", "lab.json", *other, "--out", "o"), ("validate", name), ("convert", name, "o")):
        line = refused(*words)
        assert name in line
        assert line.isprintable()
    assert set(Path().iterdir()) == files


def test_the_good_files_are_good(done) -> None:
    """What the cases above start from is taken."""
    Path("jobs.csv").write_text(JOBS_CSV)
    for name in GOOD:
        done("validate", name)


def test_impossible_jobs_are_rejected_with_a_reason(done) -> None:
    """A job that the platform can never hold does not stop the others, and its record says why."""
    done("run", "--platform", "homogeneous:nodes=2,cores=2", "--workload", "log.swf", "--out", "out")
    assert json.loads(Path("out/summary.json").read_text())["jobs_rejected"] == 1
    assert "it asks for 8 cores, the platform has 4" in Path("out/jobs.csv").read_text()


def test_jobs_that_nothing_will_ever_start_are_told_in_one_line(
    here: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one job is above its energy limit, so that pcbe never starts it, and the policy asks to be woken every minute."""
    monkeypatch.setattr("cluster_sim.run.passes.MOST_FRUITLESS_PASSES", 50)
    (here / "jobs.csv").write_text("job_id,submit_time,requested_cores,recorded_run_time,max_energy\na,0,1,10,0.001\n")
    policies = ("--scheduler", "pcbe", "--power-policy", "random")
    told = refused("run", "--platform", "lab.json", "--workload", "jobs.csv", *policies, "--out", "out")
    assert "1 jobs wait and none runs" in told
    assert not (here / "out").exists()


@pytest.mark.parametrize("name", ["summary.json", "jobs.csv", "platform.json", "power.csv", "node_states.csv"])
def test_bad_results_are_told_in_one_line(done, refused, name) -> None:
    """A folder of results that lost a file, or half of one, is refused by ``gantt``."""
    done("run", "-w", "log.swf", "--out", "out")
    whole = Path("out", name).read_bytes()
    Path("out", name).write_bytes(whole[:8])
    assert name in refused("gantt", "out")
    Path("out", name).unlink()
    assert "out" in refused("gantt", "out")
    assert not Path("out/gantt.html").exists()


def test_escapes_in_a_file_do_not_reach_the_terminal(done, refused) -> None:
    """Text from files is printed with its control characters written out."""
    Path("jobs.csv").write_text("# name: \x1b[31mred\n" + JOBS_CSV)
    assert "\x1b" not in done("validate", "jobs.csv").stdout
    Path("\x1b[31mred.yaml").write_text("- 1")
    assert "\\x1b[31mred.yaml" in refused("validate", "\x1b[31mred.yaml")


def test_a_warning_is_told_once(done) -> None:
    """Both runs of a comparison warn; one line is enough."""
    lines = Path("log.swf").read_text().splitlines()
    Path("bare.swf").write_text("\n".join(line for line in lines if not line.startswith(";")))
    result = done("compare", "-w", "bare.swf", "-s", "fcfs", "-s", "sjf", "--out", "out")
    kinds = [line.split(": ")[2] for line in result.stderr.splitlines()]
    assert kinds == ["bare.swf", "watts"]


# ---------------------------------------------------------------------- the program itself


def test_help_and_version(done) -> None:
    """Every command explains itself; without a command, the program does."""
    assert done("--version").stdout == f"cluster-sim {__version__}\n"
    assert done().stdout == done("--help").stdout
    names = re.findall(r"^  ([a-z]+)  ", done("--help").stdout.partition("Commands:")[2], re.MULTILINE)
    learning = ["sweep", "train", "evaluate", "reproduce"]
    looking, checking = ["gantt", "explain", "explore", "lesson"], ["topology", "validate", "list"]
    assert names == ["demo", "run", "compare", "whatif", *learning, "optimum", *looking, "convert", *checking]
    for name in names:
        assert done(name, "--help").stdout.startswith(f"Usage: cluster-sim {name}")


def test_a_defect_shows_where(command, monkeypatch) -> None:
    """What is nobody's wrong input ends with status 1 and a traceback."""
    monkeypatch.setattr(Simulation, "run", lambda *_, **__: 1 / 0)
    result = command("run", "-w", "log.swf", "--out", "out")
    assert result.exit_code == 1
    assert isinstance(result.exception, ZeroDivisionError)


def test_too_much_for_the_memory(refused, monkeypatch) -> None:
    """Running out of memory is told in a line, too."""

    def run(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Simulation, "run", run)
    assert refused("run", "-w", "log.swf", "--out", "out").startswith("not enough memory")


def test_streams_and_status_of_a_process(here) -> None:
    """Results on stdout; a wrong word on stderr, in one line, with status 2."""
    good = spawn("run", "-w", "log.swf", "-p", "lab.json", "--out", "out")
    bad = spawn("run", "-w", "gone.swf", "--out", "out")
    out, err = good.communicate(timeout=60)
    assert (good.returncode, err) == (0, "")
    assert "makespan" in out
    out, err = bad.communicate(timeout=60)
    assert (bad.returncode, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("cluster-sim: gone.swf: ")


def test_output_survives_a_poor_terminal(here) -> None:
    """A stdout that has no box-drawing lines gets escapes for them."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "latin-1"}
    out, err = spawn("run", "-w", "log.swf", "-p", "lab.json", "--out", "out", env=environment).communicate(timeout=60)
    assert err == ""
    assert "\\u2500\\u2500" in out


def test_all_networks_are_listed(here) -> None:
    """Also by a process that has not asked for any before."""
    told, _ = spawn("list", "networks", stdout=subprocess.PIPE).communicate()
    assert [line.split()[0] for line in told.splitlines()] == [
        "as-published",
        "lstm",
        "mlp",
        "published-pairs",
        "published-policies",
        "scorer",
    ]


def test_a_reader_that_leaves_is_no_error(here) -> None:
    """``cluster-sim list schedulers | head -0`` complains of nothing."""
    read, write = os.pipe()
    os.close(read)
    process = spawn("list", "node-orders", stdout=write)
    os.close(write)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, "")


def test_an_interrupt_leaves_valid_files(here) -> None:
    """Ctrl-C in the second run of a comparison: status 130, one line, the first run whole, nothing half written."""
    rows = "".join(f"{i} {i} -1 {1000 + i % 7} 1 -1 -1 1 2000 -1 1 1 1 1 1 1 -1 -1\n" for i in range(1, 8_001))
    Path("long.swf").write_text(rows)
    slow = "pcbe"  # sorts all pending jobs in every pass
    words = ("-w", "long.swf", "-p", "homogeneous:nodes=8,cores=1", "-s", "fcfs", "-s", slow)
    # A runner in the background may have told its children to ignore interrupts.
    process = spawn("compare", *words, "--out", "out", preexec_fn=listen_to_interrupts)
    deadline = time.monotonic() + 60
    while not Path("out/fcfs/summary.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "cluster-sim: interrupted\n")
    assert json.loads(Path("out/fcfs/summary.json").read_text())["jobs_completed"] == 8_000
    assert not [path for path in Path("out").rglob("*") if path.name.startswith(".")]


# ---------------------------------------------------------------------- libraries of extras


LACKING = [
    ("torch", ["train", "training.yaml", "--out", "o"], "train"),
    ("torch", ["evaluate", "agent", "--workload", "log.swf", "--out", "o"], "evaluate"),
    ("gymnasium", ["list", "environments"], "list"),
    ("distributed", ["sweep", "grid.yaml", "--dask", "tcp://127.0.0.1:1", "--out", "o"], "--dask"),
    ("pyarrow", ["run", "-w", "log.swf", "--format", "parquet", "--out", "o"], "--format parquet"),
    ("pyarrow", ["sweep", "grid.yaml", "--out", "o"], "sweep"),
]
# In a process that has loaded none of them; one for all, since starting it takes longest. pandas notes for good that it has no
# pyarrow, which therefore comes last.
WITHOUT = f"""
import json, sys
from click.testing import CliRunner
from cluster_sim.cli import main
for library, words, _ in {LACKING!r}:
    before = set(sys.modules)
    sys.modules[library] = None
    ended = CliRunner().invoke(main, words)
    print(json.dumps([ended.exit_code, ended.stdout, ended.stderr]))
    for name in set(sys.modules) - before:
        if name == library or name.partition(".")[0] in ("learning", "analysis"):
            del sys.modules[name]
"""


def test_what_lacks_a_library_says_what_to_install(here: Path) -> None:
    """One line and exit status 2, with a line for pip that fits however cluster-sim was installed; nothing is written."""
    (here / "training.yaml").write_text("iterations: 1\n")
    (here / "grid.yaml").write_text("factors: {workload: log.swf, scheduler: [fcfs, easy]}\n")
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    for (library, words, who), line in zip(LACKING, run.stdout.splitlines(), strict=True):
        status, out, err = json.loads(line)
        assert (status, out) == (2, ""), (words, err)
        told = (
            f"cluster-sim: {who}: expected {library} to be installed (cluster-sim[{EXTRA_OF[library]}]): pip install "
        )
        assert err.startswith(told), words
        assert library in err.removeprefix(told)
    assert not (here / "o").exists()
