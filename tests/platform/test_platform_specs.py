"""Specs such as ``homogeneous:nodes=64,cores=16`` and ``mixed:3x64@3.0,9x8@4.2``, and the processor table behind."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from cluster_sim.errors import InputError, ModelWarning, SpecError
from cluster_sim.platform.platform import Platform, check_contention
from cluster_sim.platform.processor_table import PROCESSORS, documented, power_at
from cluster_sim.platform.specs import platforms


def test_homogeneous() -> None:
    """Every option arrives."""
    assert Platform.read("homogeneous:nodes=64,cores=16") == Platform.homogeneous(64, 16)
    spec = "homogeneous:nodes=2,cores=16,ghz=2.5,processors=2,memory_gb=64"
    assert Platform.read(spec) == Platform.homogeneous(2, 16, 2.5, 2, 64.0)


def test_mixed_takes_the_share_that_idle_processors_draw() -> None:
    """One processor of Table III: half of its constant watts in place of all."""
    whole, half = (
        Platform.read(f"mixed:1x4@3.4{more}").clusters[0].groups[0].type.processors[0].power
        for more in ("", ",min_power=0.5")
    )
    assert (whole["min_power"], half["min_power"]) == (1.0, 0.5)
    assert half == {**whole, "min_power": 0.5}


def test_mixed_is_the_published_platform(shared: Path) -> None:
    """The PCBE study's own spelling gives its scaling platform, with the same watts and contention."""
    ours = Platform.read("mixed:3x64@3.0,9x8@4.2")
    theirs = Platform.read(shared / "cases/pcbe/scale-table-5.3/platform.json")
    assert ours.node_names() == theirs.node_names()
    assert ours.node_types == theirs.node_types


def test_documented_processors_match_the_experiments(shared: Path) -> None:
    """Whatever the Energy scheduler's platforms hold stands in the table with the same numbers."""
    for experiment in ("experiment2", "experiment3"):
        for processor in Platform.read(shared / f"cases/irmasim/{experiment}/platform.json").processor_types:
            entry = documented(processor.cores, processor.clock_ghz)
            assert entry is not None
            assert entry.contention == processor.contention
            assert entry.power == pytest.approx(dict(processor.power), rel=1e-12)


def test_the_table_is_unambiguous_and_sound() -> None:
    """One entry per cores and clock, each with a source and with contention that means something."""
    assert len({(entry.cores, entry.ghz) for entry in PROCESSORS}) == len(PROCESSORS)
    assert all(entry.source for entry in PROCESSORS)
    for entry in PROCESSORS:
        platform = Platform.read(f"mixed:1x{entry.cores}@{entry.ghz}")
        assert check_contention(platform.processor_types[0]) is None


def test_an_undocumented_processor_says_so() -> None:
    """Cores and clock that no source has: watts by the law, no contention, and a warning."""
    with pytest.warns(ModelWarning, match=r"5 cores at 3\.7 GHz"):
        platform = Platform.read("mixed:2x5@3.7,1x64@3")
    first, second = platform.processor_types
    assert (dict(first.power), dict(first.contention)) == (power_at(3.7), {})
    assert second.contention
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Platform.read("mixed:1x64@3,2x64@3.0,memory_gb=8").node_types[0].memory_gb == 8


@pytest.mark.parametrize(
    "spec",
    [
        "homogeneous",
        "homogeneous:",
        "homogeneous:nodes=4",
        "homogeneous:nodes=0,cores=4",
        "homogeneous:nodes=-1,cores=4",
        "homogeneous:nodes=many,cores=4",
        "homogeneous:nodes=4,cores=4,color=red",
        "homogeneous:nodes=4,cores=4,ghz=nan",
        "homogeneous:nodes=4,cores=4,ghz=0",
        "homogeneous:nodes=4,cores=4,memory_gb=-1",
        "homogeneous:nodes=4,cores=4,memory_gb=nan",
        "homogeneous:nodes=4,cores=5,processors=2",
        "homogeneous:nodes=99999999999,cores=4",
        "homogeneous:nodes=1e400,cores=4",
        "homogeneous:nodes=4,nodes=4,cores=4",
        "mixed:",
        "mixed:3x64",
        "mixed:3x64@",
        "mixed:3x64@3.0.0",
        "mixed:x64@3",
        "mixed:3x64@0",
        "mixed:3x0@3",
        "mixed:0x64@3",
        "mixed:-3x64@3",
        "mixed:999999999x64@3",
        "mixed:3x64@3,memory=5",
    ],
)
@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
def test_wrong_specs(spec: str) -> None:
    """A wrong spec ends in one line."""
    with pytest.raises(InputError) as caught:
        Platform.read(spec)
    assert "\n" not in str(caught.value)


def test_a_name_without_options_hints_at_them() -> None:
    """Asked for `homogeneous`, one is told what has to follow."""
    with pytest.raises(SpecError, match="nodes=N,cores=N"):
        Platform.read("homogeneous")


def test_third_parties_register_specs() -> None:
    """A registered function becomes a spec."""
    platforms.register("twin")(lambda cores=4: Platform.homogeneous(2, cores))
    try:
        assert Platform.read("twin:cores=8").core_count == 16
    finally:
        del platforms._factories["twin"]
