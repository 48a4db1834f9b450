"""The manual's site is complete: every registry, every public name and every model has its place."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from cluster_sim.cli.commands.listing import REGISTRIES
from cluster_sim.models.contention import contention_models
from cluster_sim.models.network import network_models
from cluster_sim.models.power import power_models

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PACKAGES = ("cluster_sim", "schedulers", "learning", "analysis")
REGISTRY = re.compile(r"^(\w+): Registry\[.*?\] = Registry\(", re.MULTILINE)
DOCUMENTED = {
    module
    for page in (DOCS / "reference" / "api").glob("*.md")
    for block in re.findall(r"^```\{modules\}\n(.*?)^```\n", page.read_text(), re.MULTILINE | re.DOTALL)
    for module in block.split()
}


def test_every_registry_is_listed() -> None:
    """The page of everything that has a name has every registry that the packages make."""
    made = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            made |= {f"{module}:{name}" for name in REGISTRY.findall(path.read_text())}
    assert set(REGISTRIES.values()) == made
    shown = re.findall(
        r"^```\{registered\}\n(.*)\n```", (DOCS / "reference" / "registries.md").read_text(), re.MULTILINE
    )
    assert sorted(shown) == sorted(REGISTRIES)


def test_documented_modules_exist() -> None:
    """Pages of the Python interface name modules that there are."""
    paths = {module: ROOT.joinpath(*module.split(".")) for module in DOCUMENTED}
    assert [module for module, path in paths.items() if not (path.is_dir() or path.with_suffix(".py").exists())] == []


@pytest.mark.parametrize("package", ["cluster_sim", "schedulers", "analysis"])
def test_public_names_are_documented(package: str) -> None:
    """Whatever a package offers by name is defined in a module that the reference documents."""
    module = import_module(package)
    homes = {name: getattr(getattr(module, name), "__module__", "") for name in module.__all__}
    ours = {name: home for name, home in homes.items() if home.partition(".")[0] in PACKAGES}
    # A registry is an instance: its module is that of its class. The page of names shows what is in it.
    assert {name: home for name, home in ours.items() if home not in DOCUMENTED} == {}


@pytest.mark.parametrize("registry", [contention_models, power_models, network_models], ids=lambda r: r.kind)
def test_every_model_has_its_equations(registry: object) -> None:
    """The manual's page of models has a row for every contention, power and network model."""
    page = (DOCS / "reference" / "models.md").read_text()
    ours = [name for name in registry if registry.factory(name).__module__.startswith("cluster_sim.")]  # type: ignore[attr-defined]
    assert ours
    assert [name for name in ours if not re.search(rf"^\| `{name}[`\[]", page, re.MULTILINE)] == []
