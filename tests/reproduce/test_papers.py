"""The papers: their declarations hold together, and part of each is reproduced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.reproduce import MODULES, paper_of
from analysis.reproduce.claims import ClaimVerdict, cells_of, judge
from analysis.reproduce.deepshutdown.paper import TABLE_3
from analysis.reproduce.deepshutdown.stand_ins import stand_in_day
from analysis.reproduce.energy_scheduler import lopez
from analysis.reproduce.irmasim import cluster as irmasim_cluster
from analysis.reproduce.irmasim import paper as irmasim
from analysis.reproduce.paper import ComputedPart, ReproductionSetting
from analysis.reproduce.runner import compute
from cluster_sim import Platform, Workload
from cluster_sim.cli import main

# Quick parts of each paper, and claims that they decide, with their verdicts.
PARTS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "pcbe": (
        ("table-5.1-row-2", "table-5.2-row-2", "segment 11"),
        {"5.1/2/L_h": "reproduced", "5.2/2/SJF": "reproduced", "energy-2-L_l/no quirk": "reproduced",
         "fig-5.5-energy/quirks": "reproduced", "5.3/FCFS/energy_j": "not run"},
    ),
    "irmasim": (
        ("surface", "full load", "policies"),
        {"fig-3-min": "not reproduced", "fig-3-min-1": "reproduced", "full-w": "reproduced", "real-w": "not reproducible",
         "fig-9-model": "reproduced", "fig-9-less": "reproduced", "fig-9-grouping": "not reproduced", "fig-9-packs-idle": "holds",
         "fig-11/reinforce/least": "not run"},
    ),
    "energy-scheduler-1": (
        ("optimum energy False", "1 smallest", "1 low_mem_ops"),
        {"best-heuristic": "reproduced", "configuration-1": "reproduced", "smallest-better": "holds",
         "mem-vol": "not reproducible", "no-wait/1/list:low_mem_ops/high_mem_bw/energy/min": "not run"},
    ),
    "energy-scheduler-2": (
        ("2 smallest", "2 contention-aware"),
        {"best-energy": "reproduced", "best-name": "not reproduced", "agent-edp": "holds", "is-best": "not run"},
    ),
    "energy-scheduler-3": (("3 contention-aware",), {"greedy": "not run", "is-best": "not run"}),
    "energy-scheduler-4": (("4-comp contention-aware",), {"mem/greedy": "not run"}),
    "ineps": (("12-comp contention-aware",), {"jobs": "not reproducible", "12-mem/best": "not run"}),
    "deepshutdown": (
        ("released rows", "log KTH-SP2"),
        {"rows": "holds", "sequential/KTH-SP2": "holds", "table-1/Grisou/jobs": "not reproducible",
         "table-3/Taurus T(0)/waste avg": "not run",
         "table-3/Taurus T(0)/waste max": "not reproducible", "all/headline-T(5)-waste": "not run"},
    ),
}  # fmt: skip


def quick_parts(name: str, inputs: Path) -> dict[str, ComputedPart]:
    """The parts of a paper with --quick, by name."""
    return {part.name: part for part in paper_of(name).parts(ReproductionSetting(True, inputs))}


@pytest.mark.parametrize("name", MODULES)
def test_declarations(name: str, tmp_path: Path) -> None:
    """Keys and parts are unique, sources are stated, published numbers are numbers, full runs have the parts of quick ones."""
    declared = paper_of(name)
    assert declared.name == name
    claims = declared.claims()
    assert len({claim.key for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.source, claim.key
        assert claim.what, claim.key
        assert not claim.impossible or claim.reason, claim.key
        if not claim.impossible and claim.tolerance.kind not in ("holds", "range"):
            float(claim.published)
    full = [part.name for part in declared.parts(ReproductionSetting(False, tmp_path))]
    assert len(set(full)) == len(full)
    assert set(quick_parts(name, tmp_path)) <= set(full)
    json.dumps([dict(part.arguments) for part in declared.parts(ReproductionSetting(False, tmp_path))])
    assert len(declared.figures({})) >= 0  # nothing measured: nothing drawn, and no failure


@pytest.mark.parametrize("name", MODULES)
def test_part_of_each_is_reproduced(name: str, shared: Path) -> None:
    """Some quick parts, and the verdicts on claims that they decide: of every kind."""
    chosen, expected = PARTS[name]
    parts = quick_parts(name, shared)
    values: dict[str, object] = {}
    for part in chosen:
        values |= compute(parts[part], shared)["values"]
    judged = {claim.key: judge(claim, values) for claim in paper_of(name).claims()}
    assert {key: judged[key].verdict.value for key in expected} == expected
    for figure in paper_of(name).figures(values):
        assert figure.name.startswith(("Fig. ", "Table "))


def test_a_wrong_published_number_is_not_reproduced(shared: Path) -> None:
    """The verdict of a paper's own claims can fail: with every measured number 5 % off, no printed cell is reproduced."""
    part = quick_parts("pcbe", shared)["table-5.1-row-1"]
    values = compute(part, shared)["values"]
    off = {key: 1.05 * value for key, value in values.items()}
    cells = [claim for claim in paper_of("pcbe").claims() if claim.key.startswith("5.1/1/")]
    assert len(cells) == 6
    assert {judge(claim, values).verdict for claim in cells} == {ClaimVerdict.REPRODUCED}
    assert {judge(claim, off).verdict for claim in cells} == {ClaimVerdict.NOT_REPRODUCED}


@pytest.mark.parametrize(
    ("name", "case"), [("1", "1"), ("2", "2"), ("3", "3"), ("4-mem", "4-mem"), ("4-comp", "4-comp")]
)
def test_inputs_written_out_are_those_of_the_thesis(name: str, case: str, shared: Path) -> None:
    """Platforms and jobs of López (2023), field by field, as her files have them."""
    folder = shared / "cases" / "irmasim" / f"experiment{case}"
    platform, workload = lopez.experiment(name)
    theirs = Platform.read(folder / "platform.json"), Workload.read(folder / "workload.json")
    columns = ["submit_time", "requested_cores", "requested_time", "operations", "mem_vol"]
    assert (workload.jobs[columns].to_numpy() == theirs[1].jobs[columns].to_numpy()).all()
    kinds = [
        [group.type.processors[0] for group in p.clusters[0].groups for _ in range(group.count)]
        for p in (platform, theirs[0])
    ]
    for ours, read in zip(*kinds, strict=True):
        assert (ours.cores, ours.clock_ghz, ours.contention) == (read.cores, read.clock_ghz, read.contention)
        for key, value in read.power.items():
            assert ours.power[key] == pytest.approx(value, rel=1e-4), key


def test_table_3_was_typed_in_whole() -> None:
    """Four clusters, five policies, four metrics with four figures each; in every row the least is at most the greatest."""
    cells = {(row, column): float(cell) for row, column, cell in cells_of(TABLE_3)}
    assert len(cells) == 4 * 5 * 16
    for row, column in cells:
        if column.endswith("min"):
            rest = [cells[row, column.replace("min", what)] for what in ("avg", "max")]
            assert cells[row, column] <= rest[0] <= rest[1], (row, column)


def test_batches_are_what_section_6_says() -> None:
    """Sequential jobs of Table IV, all in the first minutes; the same seed gives the same batch, another one another."""
    batch = irmasim_cluster.batch(200, 1)
    assert (batch.jobs["requested_cores"] == 1).all()
    assert batch.jobs["submit_time"].between(0, 120).all()
    assert batch.jobs.equals(irmasim_cluster.batch(200, 1).jobs)
    assert not batch.jobs.equals(irmasim_cluster.batch(200, 2).jobs)


def test_the_errors_imply_a_range() -> None:
    """A baseline 40 % too low and a model within 20 %: 0.6 / 1.2 to 0.6 / 0.8, worked by hand."""
    assert irmasim.implied(0.4, 0.2) == "0.500..0.750"


def test_stand_ins_have_the_load_of_the_tables() -> None:
    """Over 100 days of Graphite: 60 786 jobs on 1792 days are 33.9 a day, within 30 %; submissions are minutes of the day."""
    days = [stand_in_day("Graphite", day) for day in range(100)]
    assert sum(map(len, days)) / 100 == pytest.approx(60_786 / 1_792, rel=0.3)
    for day in days[:20]:
        submits = day.jobs["submit_time"]
        assert (submits % 60 == 0).all()
        assert submits.between(0, 86_400).all()


def test_the_command(shared: Path, tmp_path: Path) -> None:
    """Unknown names and absent folders end in one line; --quick says what it leaves out, and leaves the four files."""
    wrong = CliRunner().invoke(main, ["reproduce", "nothing", "--out", str(tmp_path)])
    assert wrong.exit_code == 2
    assert "expected one of irmasim" in wrong.stderr
    assert wrong.stderr.startswith("cluster-sim: reproduce: ")
    assert ", all, found nothing" in wrong.stderr
    assert wrong.stderr.count("\n") == 1
    absent = CliRunner().invoke(main, ["reproduce", "pcbe", "--inputs", str(tmp_path / "no"), "--out", str(tmp_path)])
    assert absent.exit_code == 2
    empty = CliRunner().invoke(main, ["reproduce", "pcbe", "--inputs", str(tmp_path), "--out", str(tmp_path / "out")])
    assert empty.exit_code == 2
    assert "cases/pcbe/scale-table-5.3" in empty.stderr
