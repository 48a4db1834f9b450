"""The page of a reproduction: what failed stands first, and the picture has published values on x and ours on y."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from analysis.reproduce.claims import RANGE, Claim, ClaimVerdict, Judged, Kind, Tolerance, as_printed, judge
from analysis.reproduce.outcome import save
from analysis.reproduce.page import _LOOKS, parity, sentences, tiles
from analysis.reproduce.paper import ReproductionSetting
from analysis.reproduce.runner import reproduce
from tests.support.made_up import make


def judged(key: str, published: str, measured: float | bool | None, **options: object) -> Judged:
    """A claim of a table with what was measured for it; None: nothing was."""
    given = {"tolerance": Tolerance("points", 0.5), "group": "a table", "unit": "J", "measure": key} | options
    claim = Claim(key=key, what=f"the {key}", published=published, source="Table 1", **given)  # type: ignore[arg-type]
    return judge(claim, {} if measured is None else {key: measured})


def places(claims: list[Judged]) -> dict[str, list[tuple[float, float]]]:
    """Where the picture has marks, by the verdict that the legend names."""
    figure = parity(claims)
    assert figure is not None
    return {trace.name.partition(" (")[0]: list(zip(trace.x, trace.y, strict=True)) for trace in figure.data}


def test_both_axes_are_relative_to_the_largest_published_value() -> None:
    """Of a table with 10 J and 40 J, 40 is 1: what is measured as 10.4 and 20 stands at 0.26 and 0.5."""
    found = places([judged("small", "10", 10.4), judged("large", "40", 20.0)])
    assert found == {"reproduced": [(0.25, pytest.approx(0.26))], "not reproduced": [(1.0, 0.5)]}


def test_each_unit_and_part_has_a_scale_of_its_own() -> None:
    """A million joules beside two seconds: both are the largest of their kind."""
    found = places([judged("energy", "1e6", 1e6), judged("time", "2", 2.0, unit="s"), judged("b", "3", 3.0, group="b")])
    assert found == {"reproduced": [(1.0, 1.0)] * 3}


def test_a_value_in_a_published_range_is_on_the_line() -> None:
    """From 2 to 4: 3 is as published, 6 is beyond 4."""
    found = places([judged("in", "2..4", 3.0, tolerance=RANGE), judged("out", "2..4", 6.0, tolerance=RANGE)])
    assert found == {"reproduced": [(0.75, 0.75)], "not reproduced": [(1.0, 1.5)]}


def test_what_is_no_published_number_has_no_place() -> None:
    """Statements, bounds, what nothing measured, and what is said here."""
    claims = [
        judged("statement", "yes", True, tolerance=Tolerance("holds")),
        judged("bound", "5", 9.0, tolerance=Tolerance("at-least")),
        judged("missing", "5", None),
        judged("ours", "5", 5.0, kind=Kind.OURS),
    ]
    assert parity(claims) is None


def test_what_is_measured_far_off_stands_at_the_edge() -> None:
    """Ten thousand times as much leaves the others their room; the hover has the value."""
    figure = parity([judged("near", "10", 10.0), judged("far", "10", 1e5)])
    assert figure is not None
    far = next(trace for trace in figure.data if trace.name.startswith("not"))
    assert max(far.y) < 2
    assert "100000" in far.text[0]
    assert "the far" in far.text[0]


def test_every_verdict_has_a_colour_and_a_shape_of_its_own() -> None:
    """All verdicts that a published number can have."""
    assert set(_LOOKS) == set(ClaimVerdict) - {ClaimVerdict.HOLDS, ClaimVerdict.DOES_NOT_HOLD}
    for looks in zip(*_LOOKS.values(), strict=True):
        assert max(Counter(looks).values()) == 1


@pytest.mark.parametrize(
    ("value", "printed", "text"),
    [
        (1_612_345_678.0, "1.61e9", "1.612e9"),
        (2_214.884, "2214.88", "2214.884"),
        (4.0, "4", "4"),
        (1.8166, "4", "1.8"),
        (-0.0001, "0.0", "0.0"),
        (0.25, "0.25", "0.25"),
    ],
)
def test_a_measured_value_is_written_as_the_printed_one(value: float, printed: str, text: str) -> None:
    """The same power of ten, and one digit more where it is not 0."""
    assert as_printed(value, printed) == text


def test_the_head_counts_the_papers_claims() -> None:
    """Two of four reproduced, one not, one not run; ours are counted apart, in words that fit their number."""
    claims = [
        judged("a", "10", 10.0),
        judged("b", "10", 10.4),
        judged("c", "10", 20.0),
        judged("d", "10", None),
        judged("e", "5", 5.0, kind=Kind.OURS),
    ]
    assert sentences(claims) == [
        "Numbers and statements of the paper (4): 2 reproduced, 1 not reproduced; 1 not run.",
        "Statements made here, not in the paper (1): 1 holds, 0 do not hold.",
    ]
    assert [(tile.name, tile.value, tile.kind) for tile in tiles(claims)] == [
        ("reproduced", "2", "better"),
        ("not reproduced", "1", "worse"),
        ("open", "1", "unsure"),
        ("distance from print", "4 %", ""),
    ]


def test_what_failed_stands_first(tmp_path: Path) -> None:
    """Before what is open and what is reproduced, which the reader unfolds, and after the picture."""
    (tmp_path / "number.txt").write_text("7")
    found = reproduce(make(tmp_path / "log"), ReproductionSetting(False, tmp_path), tmp_path / "out", workers=1)
    text = save(found, tmp_path / "out", {}).read_text(encoding="utf-8")
    order = [
        'id="parity"',
        "<h2>Not reproduced (1)</h2>",
        "three squared",
        "<h2>Open (1)</h2>",
        "<h2>Reproduced (4)</h2>",
    ]
    places = [text.index(each) for each in order]
    assert places == sorted(places)
    assert text.index("two squared") > text.index("<h2>Reproduced (4)</h2>")
    assert text.count("<details>") == 2
