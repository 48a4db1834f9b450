"""Entry points of packages: a broken one disables only itself, and no name is taken twice in silence."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Workload
from cluster_sim.cli.commands.listing import registry_of
from cluster_sim.errors import ModelWarning, SpecError
from cluster_sim.registry import Registry
from cluster_sim.workload.workload import WORKLOAD_GENERATORS
from schedulers import Fcfs

GROUP = "cluster_sim.tests.entry_points"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Install a package that has these entry points, as pip leaves it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "a_plug.py").write_text("def thing(depth: int = 1):\n    '''A thing.'''\n    return [depth]\n")
    monkeypatch.delitem(sys.modules, "a_plug", raising=False)

    def installed(package: str, *lines: str) -> None:
        folder = tmp_path / f"{package}-0.1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1\n")
        (folder / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))

    return installed


BROKEN = {
    "no module": (
        "gone = no_such_module:X",
        "a class or a function at no_such_module:X, found ModuleNotFoundError: No mod",
    ),
    "no attribute": ("gone = a_plug:Nope", "a class or a function at a_plug:Nope, found AttributeError: "),
    "a module": ("gone = a_plug", "a class or a function, as in package.module:NAME, found the module a_plug"),
}


@pytest.mark.parametrize(("line", "told"), BROKEN.values(), ids=BROKEN)
def test_a_broken_entry_point_disables_only_itself(line: str, told: str, install: Any) -> None:
    """Others work without a word; asked for, it is told in one line, and it is left out of lists with a warning."""
    install("badp", line, "good = a_plug:thing")
    registry: Registry[Any] = Registry("thing", GROUP)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert registry.make("good:depth=3") == [3]
        assert "gone" in registry
    with pytest.raises(SpecError) as error:
        registry.make("gone")
    assert str(error.value).startswith(f"entry point gone of package badp: expected {told}")
    fresh: Registry[Any] = Registry("thing", GROUP)
    with pytest.warns(ModelWarning) as told_of:
        assert list(fresh) == ["good"]
    assert [str(each.message) for each in told_of] == [f"{error.value}; left out"]
    misspelt: Registry[Any] = Registry("thing", GROUP)
    with pytest.warns(ModelWarning, match="entry point gone of package badp"):
        assert "g0ne" not in misspelt


def test_an_entry_point_takes_no_name_that_is_built_in(install: Any) -> None:
    """Neither of what is imported already nor of what is imported later; a warning says so."""
    install("greedy", "fcfs = a_plug:thing", "slurm = a_plug:thing")
    registry: Registry[Any] = Registry("thing", GROUP)
    registry._factories["fcfs"] = Fcfs
    registry.register_later("slurm", "schedulers.backfilling.easy", "EasyBackfilling", "Its help.")
    with pytest.warns(ModelWarning, match="entry point fcfs of package greedy, a thing, is not used: fcfs is built in"):
        assert registry.factory("fcfs") is Fcfs
    with pytest.warns(ModelWarning, match="entry point slurm of package greedy, a thing, is not used"):
        assert registry.factory("slurm").__module__.startswith("schedulers.")


def test_of_two_packages_with_one_name_the_first_stays(install: Any) -> None:
    """And a warning names both."""
    install("one", "mine = a_plug:thing")
    install("two", "mine = no_such_module:X")
    registry: Registry[Any] = Registry("thing", GROUP)
    with pytest.warns(ModelWarning) as told:
        assert list(registry) in (["mine"], [])  # folders have no order
    assert all(package in str(told[0].message) for package in ("package one", "package two"))


@pytest.mark.parametrize("name", [None, 3, "", "has:colon", "a,b", "a=b", " mine"])
def test_names_that_no_spec_can_say_are_refused(name: Any) -> None:
    """At once, not when somebody asks for them."""
    registry: Registry[Any] = Registry("thing", GROUP)
    with pytest.raises(SpecError, match="name of a thing: expected text without ':'"):
        registry.register(name)


def test_built_in_names_are_not_registered_again() -> None:
    """Those of one's own are, as when a cell of a notebook is run again."""
    registry: Registry[Any] = Registry("thing", GROUP)
    registry._factories["fcfs"] = Fcfs
    with pytest.raises(SpecError, match="name of a thing: expected one that is not built in, found fcfs"):
        registry.register("fcfs")(lambda: 1)
    registry.register("mine")(lambda: 1)
    registry.register("mine")(lambda: 2)
    assert registry.make("mine") == 2


def test_the_manual_has_the_group_of_every_registry() -> None:
    """A table of the registries' page says each group, also those of agents."""
    root = Path(__file__).resolve().parents[2]
    page = (root / "docs/reference/registries.md").read_text()
    shown = {registry_of(kind).group for kind in re.findall(r"^```\{registered\}\n(.+)$", page, re.MULTILINE)}
    sources = [
        path.read_text()
        for folder in ("cluster_sim", "schedulers", "learning")
        for path in (root / folder).rglob("*.py")
    ]
    groups = {
        group for text in sources for group in re.findall(r'Registry\(\s*"[^"]+",\s*"(cluster_sim\.[a-z_.]+)"', text)
    }
    assert len(groups) >= 20
    assert sorted(groups - shown) == []


def test_what_fails_or_makes_nothing_is_named() -> None:
    """A mistake in somebody's own class ends in one line with its name; one of ours would be a defect."""
    things: Registry[Any] = Registry("thing", GROUP)

    @things.register("odd")
    def odd(jobs: int = 1) -> Any:
        if jobs % 2 == 0:
            raise ValueError("jobs must be odd")

    with pytest.raises(
        SpecError, match=r"^thing 'odd:jobs=4': expected \S*odd to make it, found ValueError: jobs must be odd$"
    ):
        things.make("odd:jobs=4")
    with pytest.raises(SpecError, match=r"^thing 'odd': expected \S*odd to return what it makes, found None$"):
        things.make("odd")


def test_a_generator_makes_a_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of jobs is none."""
    monkeypatch.setitem(WORKLOAD_GENERATORS._factories, "listed", list)  # type: ignore[arg-type]
    with pytest.raises(
        SpecError, match="workload generator 'listed:': expected one that returns a Workload, found list"
    ):
        Workload.read("listed:")
