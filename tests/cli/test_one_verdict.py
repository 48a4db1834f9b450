"""The same comparison by command line, page, JSON and Python: every output has the same sentences."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml

from analysis import compare, replication_table, what_if
from analysis.sweep.alternatives import compare_sweep
from analysis.sweep.runs_table import read_sweep
from cluster_sim.records.comparison import Comparison
from cluster_sim.records.result import Result
from tests.cli.conftest import Command
from tests.support.sacct_rows import CONF, HEAD, weekly

pytestmark = pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")

MACHINE, JOBS = "homogeneous:nodes=4,cores=2", "lublin:jobs=30,nodes=8"


def of_page(path: Path) -> list[str]:
    """The list of sentences with which a page begins."""
    (found,) = re.findall(r"<ul class=\"sentences\">(.*?)</ul>", path.read_text(encoding="utf-8"), re.DOTALL)
    return [html.unescape(each) for each in re.findall(r"<li>(.*?)</li>", found, re.DOTALL)]


def agree(
    command: Command,
    words: list[str],
    page: str,
    report: list[str],
    compared: Callable[[], Comparison],
    called: Mapping[str, str] = MappingProxyType({}),
    for_people: Callable[[], Comparison] | None = None,
) -> list[str]:
    """Return the sentences of a comparison: stdout begins with them, and the page and the document of --json have them.

    ``compared`` makes the same comparison in Python, of what the command has left. On the page the runs are ``called`` as
    people do; or it has the sentences of the comparison ``for_people``.
    """
    ended = command(*words, *report)
    assert ended.exit_code == 0, ended.output
    comparison = compared()
    sentences = list(comparison.sentences)
    assert ended.stdout.splitlines()[: len(sentences)] == sentences
    in_words = [re.sub(r"\w+", lambda word: called.get(word[0], word[0]), each) for each in sentences]
    expected = in_words if for_people is None else list(for_people().sentences)
    assert of_page(Path(page)) == expected
    document = json.loads(command(*words, "--json").stdout)["comparison"]
    assert document == json.loads(json.dumps(comparison.to_dict(), allow_nan=True).replace("NaN", "null"))
    assert document["sentences"] == sentences
    assert str(comparison).splitlines() == sentences
    in_a_notebook = comparison._repr_html_()
    assert [html.unescape(each) for each in re.findall(r"<li>(.*?)</li>", in_a_notebook)] == sentences
    return sentences


@pytest.mark.parametrize("weeks", [3, 6])
def test_a_what_if(command: Command, here: Path, weeks: int) -> None:
    """With and without intervals: what differs, the replay, the effects, and the cautions."""
    (here / "jobs.txt").write_text("\n".join([HEAD, *weekly(weeks), ""]))
    (here / "slurm.conf").write_text("SchedulerParameters=bf_interval=60,bf_continue\n" + CONF)
    change = "SchedulerParameters=bf_interval=300"
    study = what_if("jobs.txt", "slurm.conf", "python", [change], nodes="+1")
    words = ["whatif", "jobs.txt", "--conf", "slurm.conf", "--change", change, "--nodes", "+1", "--out", "out"]
    told = agree(command, words, "out/whatif.html", [], lambda: study.comparison)
    assert told[0] == "What differs: SchedulerParameters: bf_interval 300 (it was 60); number of nodes 2 (it was 1)."
    assert told[1] == "SchedulerParameters keeps bf_continue."
    assert told[2].startswith("Replay without a change: ")
    assert told[3].startswith("Mean wait: ")
    assert ("too few weeks (2) for an interval" in told[3]) == (weeks == 3)
    assert ("95 % interval of the change" in told[3]) == (weeks == 6)
    assert any("fewer than 5 weeks there are no intervals" in each for each in told) == (weeks == 3)


@pytest.mark.parametrize("replications", [1, 3, 5])
def test_a_comparison_of_schedulers(command: Command, here: Path, replications: int) -> None:
    """Compare on one workload, with too few replications and with enough."""
    names = ["fcfs", "easy"]
    words = ["compare", "-p", MACHINE, "-w", JOBS, *(word for name in names for word in ("-s", name)), "--out", "out"]
    words += ["--replications", str(replications)] if replications > 1 else []

    def compared() -> Comparison:
        if replications == 1:
            return compare({name: Result.load(here / "out" / name) for name in names})
        runs = {n: [Result.load(here / "out" / n / f"seed-{s}") for s in range(replications)] for n in names}
        table = replication_table({name: [run.summary() for run in several] for name, several in runs.items()})
        return compare({name: several[0] for name, several in runs.items()}, table)

    called = {"fcfs": "FCFS", "easy": "EASY backfilling"}
    told = agree(command, words, "out/report.html", ["--report"], compared, called)
    assert told[0] == "What differs: scheduler (fcfs, easy)."
    ending = {1: "in this one workload", 3: "too few replications (3) for an interval", 5: ""}[replications]
    assert ending in told[1]


@pytest.mark.parametrize("replications", [1, 5])
def test_a_sweep(command: Command, here: Path, replications: int) -> None:
    """With a power policy, which has sentences of its own."""
    pytest.importorskip("pyarrow")
    factors = {
        "platform": MACHINE,
        "workload": JOBS,
        "scheduler": ["fcfs", "easy"],
        "power_policy": ["always-on", "timeout:60"],
    }
    metrics = ["mean_wait_s", "energy_j"]
    (here / "grid.yaml").write_text(
        yaml.safe_dump({"factors": factors, "replications": replications, "metrics": metrics}, sort_keys=False)
    )
    words = ["sweep", "grid.yaml", "--out", "out", "--workers", "1", "--resume"]

    def compared(for_people: bool = False) -> Comparison:
        return compare_sweep(read_sweep("out"), metrics, for_people=for_people)

    told = agree(command, words, "out/report.html", ["--report"], compared, for_people=lambda: compared(True))
    in_words = compared(True).sentences
    assert in_words[0] == (
        "What differs: power policy (all nodes on, idle nodes off after 1 min); scheduler (FCFS, EASY backfilling)."
    )
    assert len(in_words) == len(told)
    for text, name in (
        ("timeout:60", "idle nodes off after 1 min"),
        ("always-on", "all nodes on"),
        ("easy", "EASY backfilling"),
    ):
        assert [each.count(text) for each in told] == [each.count(name) for each in in_words]
    assert told[0] == "What differs: power policy (always-on, timeout:60); scheduler (fcfs, easy)."
    assert told[1].startswith("Mean wait: with always-on, ")
    assert any(each.startswith("Energy of power policies over all other factors: ") for each in told)


def test_runs_in_which_no_job_starts(command: Command, here: Path) -> None:
    """Two jobs that cannot fit: what has no value is named in one sentence, and none has a part without words."""
    (here / "jobs.csv").write_text("job_id,submit_time,requested_cores,recorded_run_time\na,0,64,9\nb,5,64,9\n")
    words = ["compare", "-p", MACHINE, "-w", "jobs.csv", "-s", "fcfs", "-s", "easy", "--out", "out"]

    def compared() -> Comparison:
        return compare({name: Result.load(here / "out" / name) for name in ("fcfs", "easy")})

    told = agree(
        command, words, "out/report.html", ["--report"], compared, {"fcfs": "FCFS", "easy": "EASY backfilling"}
    )
    assert told[1] == "No job starts in any of the runs."
    assert "Makespan under easy, 0 s: the same as under fcfs (in this one workload)." in told
    assert told[-1] == (
        "Not compared under easy, for want of a value in both runs: mean wait, mean bounded slowdown and utilisation."
    )


def test_a_scheduler_that_is_given_twice_runs_once(command: Command, here: Path) -> None:
    """And a line on stderr says so."""
    words = ["compare", "-p", MACHINE, "-w", JOBS, "-s", "fcfs", "-s", "fcfs", "-s", "easy", "--out", "out"]
    ended = command(*words)
    assert ended.exit_code == 0
    assert "fcfs is given 2 times and runs once: runs of one scheduler are the same" in ended.stderr.splitlines()[0]
    assert sorted(path.name for path in (here / "out").iterdir() if path.is_dir()) == ["easy", "fcfs"]
