"""docs/guides/sweeps.md and examples/sweeps: every key is explained, every configuration can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from analysis.sweep import Grid
from analysis.sweep.config import SECTIONS, config_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "sweeps.md").read_text(encoding="utf-8")
EXAMPLES = [path for path in sorted((ROOT / "examples" / "sweeps").glob("*.yaml")) if "training" not in path.name]


def test_every_key_has_a_meaning() -> None:
    """The manual's table is made of them."""
    assert "```{keys} analysis.sweep.config\n" in PAGE
    assert [key for _, model in SECTIONS for key, field in model.model_fields.items() if not field.description] == []


@pytest.mark.parametrize("block", re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
def test_configurations_of_the_manual(block: str) -> None:
    """They are right, as far as can be said without their files."""
    assert config_of(yaml.safe_load(block)).factors.workload


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_grids(path: Path) -> None:
    """Their factors have values, their wildcards a meaning, their trainings a configuration."""
    grid = Grid.read(path)
    assert grid.combinations > 1
    assert len(grid) == grid.combinations * grid.config.replications >= 30
