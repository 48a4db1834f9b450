"""Names that are nearly right: the line says which is meant."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cluster_sim.cli.kinds import kind_of
from cluster_sim.errors import InputError
from cluster_sim.spelling import near, nearest, one_of
from cluster_sim.workload.fields import JOB_FIELDS

RUN = ("run", "--platform", "lab.json", "--workload", "log.swf", "--out", "o")
SIZE = "homogeneous:nodes=4,cores=4"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-p", "homogenous:nodes=4,cores=4"], "expected a file, or a spec such as homogeneous:…, "),
        (["-p", "homogeneous:node=4,cores=4"], "memory_gb, gpus) (the nearest is nodes), found node"),
        (["-w", "lubin:jobs=5,nodes=4", "-p", SIZE], "expected a file, or a spec such as lublin:…, found lubin"),
        (["-w", "lublin:job=5,nodes=4", "-p", SIZE], "(the nearest is jobs), found job"),
        (["-s", "eazy"], "(the nearest is easy), found eazy"),
        (["-s", "easy-backfilling"], "(the nearest is easy), found easy-backfilling"),
        (["-s", "easy:ordr=saf"], "(the nearest is order), found ordr"),
        (["-s", "list:smalest/first"], "(the nearest is smallest), found smalest"),
        (["--power-policy", "timout:300"], "(the nearest is timeout), found timout"),
        (["--contention-model", "picewise"], "(the nearest is piecewise), found picewise"),
        (["--sheduler", "easy"], "'--scheduler'"),
    ],
)  # fmt: skip
def test_a_spec_that_is_nearly_right_is_recognised(refused, words: list[str], told: str) -> None:
    """Platforms, workloads, schedulers, orders, power policies, models, and the options of each."""
    assert told in refused(*RUN, *words)


def test_so_is_the_kind_of_a_list_and_a_column(refused, done) -> None:
    """``list scheduler`` is nearly ``list schedulers``, ``--colour-by usr`` nearly ``user``."""
    assert "(the nearest is schedulers)" in refused("list", "scheduler")
    done("run", "-w", "log.swf", "-p", "lab.json", "--out", "out")
    assert "(the nearest is user), found usr" in refused("gantt", "out", "--colour-by", "usr")


def test_so_is_one_in_a_file_or_to_be_checked(refused) -> None:
    """In a configuration, where it could be a file beside it; and where a file or a spec is asked for."""
    Path("study").mkdir()
    Path("study/study.yaml").write_text("workload: ../log.swf\nplatform: homogenous:nodes=4,cores=4\n")
    assert "expected a file, or a spec such as homogeneous:…, found homogenous" in refused(
        "run", "study/study.yaml", "--out", "o"
    )
    assert "spec such as lublin:…, found lubin" in refused("validate", "lubin:jobs=5,nodes=4")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("convert", "lublin", "out.swf"),
            "'lublin': expected a file, or options, as in lublin:… (jobs, nodes, seed, ",
        ),
        (
            ("validate", "npb"),
            "generator 'npb': expected a file, or options, as in npb:… (jobs, within_s, at_once, seed), ",
        ),
        (
            ("convert", "homogeneous", "out.yaml"),
            "'homogeneous': expected a file, or options, as in homogeneous:… (nodes, ",
        ),
        (
            ("validate", "mixed"),
            "platform 'mixed': expected a file, or options, as in mixed:… (GROUPS…, memory_gb, min_power), found no ",
        ),
        ((*RUN[:3], "--workload", "lublin", "--out", "o"), "as in lublin:… (jobs, nodes, "),
    ],
)
def test_a_bare_name_wants_options(refused, words: tuple[str, ...], told: str) -> None:
    """The name of a generator or of a kind of platform, and no file of that name: the line says which options it takes."""
    assert told in refused(*words)


def test_a_name_that_is_near_to_none_gets_no_hint() -> None:
    """Of what is quite another word, nothing is supposed."""
    assert one_of("xyz", ["easy", "fcfs"]) == "one of easy, fcfs"
    assert nearest("xyz", ["easy", "fcfs"]) == "one of easy, fcfs"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("cores", "requested_cores"),
        ("num_cores", "requested_cores"),
        ("requested_core", "requested_cores"),
        ("requsted_time", "requested_time"),
        ("run_time", "recorded_run_time"),
        ("usr", "user"),
        ("memvol", "mem_vol"),
        ("think_tme", "think_time"),
    ],
)
def test_a_column_is_recognised_by_its_words(name: str, meant: str) -> None:
    """Spelling first, then common words, of which the more usual column comes first: not used_cores for cores."""
    assert near(name, [field.name for field in JOB_FIELDS]) == [meant]


def test_the_reader_of_a_table_says_so(refused) -> None:
    """A CSV file with a column ``cores`` is told which one it should have."""
    Path("jobs.csv").write_text("submit_time,cores,recorded_run_time\n0,1,10\n")
    told = refused("validate", "jobs.csv")
    assert "column 'cores': expected requested_cores (the nearest known name), found cores" in told


def test_a_misspelt_name_needs_nothing_that_agents_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """``validate`` asks whether it is a ready agent; without gymnasium none is, and the message is about the name."""
    monkeypatch.setitem(sys.modules, "learning.training.agent", None)
    with pytest.raises(InputError, match="lublin"):
        kind_of("lublim:jobs=3")
