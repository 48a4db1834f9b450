"""Arrays as few bytes: what is read from them is what was put in; test_gantt_page has it read by a browser."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analysis.pages.payload import payload
from cluster_sim.amounts import moments
from tests.support.payloads import read

NUMBERS = st.one_of(
    st.floats(width=64), st.integers(-(2**60), 2**60).map(float), st.integers(-(10**9), 10**9).map(lambda n: n / 1000)
)


def x_of(values: np.ndarray) -> np.ndarray:
    """The x of a figure with these, packed and read again."""
    array: np.ndarray = np.array(read(payload(go.Figure(go.Scatter(x=values))))["data"][0]["x"])
    return array


@settings(max_examples=40)
@given(arrays(np.float64, st.integers(1, 20), elements=NUMBERS))
def test_any_numbers_come_back(values: np.ndarray) -> None:
    """Whole ones, decimals, the widest, infinite ones and NaN."""
    np.testing.assert_array_equal(x_of(values), values)


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "f4"])
def test_every_type_comes_back(kind: str) -> None:
    """The ends of its range, and the type itself."""
    limits = np.finfo(kind) if kind == "f4" else np.iinfo(kind)
    values = np.array([0, limits.min, limits.max, 1, 3], dtype=kind)
    found = x_of(values)
    np.testing.assert_array_equal(found, values)
    assert found.dtype == np.dtype(kind)


@settings(max_examples=40)
@given(arrays(np.float64, (7, 4), elements=st.floats(allow_nan=False)))
def test_outlines_come_back(edges: np.ndarray) -> None:
    """Strung rectangles of two edges in either order of corners, and what is not quite that."""
    a, b, c, d = edges.T
    for corners in ((a, b, b, a, a), (a, a, b, b, a), (a, b, c, d, a)):
        for back in (a[::-1], b):
            values = np.concatenate([np.column_stack(corners).ravel(), back])
            np.testing.assert_array_equal(x_of(values), values)


def test_a_table_comes_back() -> None:
    """Columns of numbers, of texts that are numbers, or look like some, of few texts and of many, and of both kinds."""
    rows = [[i, i / 7, str(i), f"0{i}", ["a", "</script>"][i % 2], f"job {i}", "x" if i else 1] for i in range(12)]
    table = np.empty((12, 7), dtype=object)
    table[:] = rows
    found = read(payload(go.Figure(go.Scatter(x=np.arange(12), customdata=table))))["data"][0]["customdata"]
    assert [list(row) for row in found] == rows


def test_times_of_a_run_come_back() -> None:
    """Texts as hovers have them are numbers in the page, but for those that are none, or look like others."""
    texts = [
        "83.5 s",
        "–",
        "00:10:00",
        "23:59:59",
        "1 d 00:00:00",
        "4 d 08:16:19",
        "1,234 d 00:00:01",
        "24:00:00",
        "0 d 00:10:00",
    ]
    times = moments(np.random.default_rng(1).integers(600, 10**9, 200))
    table = np.array([texts + times, texts[:2] * 2 + (texts + times)[4:]], dtype=object).T
    figure = go.Figure(go.Scatter(x=np.arange(len(table)), customdata=table, text=texts + times))
    assert b"00:10:01" not in payload(figure)
    trace = read(payload(figure))["data"][0]
    assert trace["customdata"] == table.tolist()
    assert trace["text"] == texts + times


def test_whole_numbers_that_grow_take_a_byte_each() -> None:
    """Times of a log, whole seconds, are stored as what passed since the one before."""
    times = np.cumsum(np.random.default_rng(0).integers(0, 120, 1_000)).astype(float)
    assert (
        len(payload(go.Figure(go.Scatter(x=times, y=times)))) < 1_000 + len(payload(go.Figure(go.Scatter(x=[0.0])))) * 2
    )
