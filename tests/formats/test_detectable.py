"""Damage that a reader can see is told by line, key or column; a doubled value is read exactly as it is written.

The long form is ``python -m benchmarks.damaged --detectable --cases 20000``.
"""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the package of benchmarks is not installed
detectable = importlib.import_module("benchmarks.detectable")
sys.path.remove(str(ROOT))


@pytest.mark.parametrize("name", detectable.formats())
def test_damage_is_told_by_name(tmp_path: Path, name: str) -> None:
    """Twenty damaged files of each format, of every kind of damage that the format can have."""
    verdicts = [detectable.tried(name, number, 0, tmp_path / "case") for number in range(20)]
    assert [verdict for verdict in verdicts if verdict.outcome == "wrong"] == []


@pytest.mark.parametrize("name", detectable.formats())
def test_whole_samples_are_read(tmp_path: Path, name: str) -> None:
    """Undamaged, each is read without an error, so that a refusal is of the damage."""
    of = detectable.formats()[name]
    sample = detectable._sample(of.sample)
    for place, content in sample.files.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(content)
    error, warned, _ = detectable._told(of.read, str(tmp_path / sample.given) if sample.given else str(tmp_path))
    assert error == ""
    assert "passed over" not in warned


def test_a_reader_that_says_nothing_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that reads whatever stands there, and one that reads another number than was written, are wrong."""

    def deaf(path: str) -> Iterator[float]:
        yield 0.0

    whole = detectable.formats()["swf"]
    monkeypatch.setattr(detectable, "formats", lambda: {"swf": detectable.Format("swf", whole.damagers, deaf)})
    verdicts = [detectable.tried("swf", number, 0, tmp_path / "case") for number in range(20)]
    assert {verdict.outcome for verdict in verdicts} == {"wrong"}
    assert {verdict.kind for verdict in verdicts} >= {"lost", "bounds", "doubled"}


def test_a_misspelt_word_is_another_one() -> None:
    """And is still near to it, a letter more or less or two changed over."""
    rng = random.Random(0)
    for _ in range(200):
        word = detectable.misspelt("walltime", rng)
        assert word != "walltime"
        assert abs(len(word) - len("walltime")) <= 1
