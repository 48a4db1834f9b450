"""A tiny paper that nobody published: three parts, claims of every kind, one figure."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go

from analysis.reproduce.claims import HOLDS, Claim, Values, points
from analysis.reproduce.drawing import as_figure
from analysis.reproduce.paper import ComputedPart, Measured, Paper, PaperFigure, ReproductionSetting

NASTY = "<script>alert('x')</script>"


def square(inputs: Path, of: float, log: str, fails: str = "") -> Measured:
    """A line in ``log`` each time it is computed; breaks while the file ``fails`` is there."""
    if fails and Path(fails).exists():
        raise KeyboardInterrupt
    with Path(log).open("a") as file:
        file.write(f"{of:g} {os.getpid()}\n")
    return Measured({f"square/{of:g}": of * of}, runs=1)


def from_input(inputs: Path, name: str) -> Measured:
    """The number in a file of the inputs."""
    return Measured({"input": float((inputs / name).read_text())}, runs=1)


def make(log: Path, fails: Path | None = None) -> Paper:
    """The paper; its third part breaks while ``fails`` is there."""

    def parts(setting: ReproductionSetting) -> Sequence[ComputedPart]:
        found = [ComputedPart(f"square {of:g}", square, {"of": of, "log": str(log)}) for of in (2.0, 3.0)]
        if not setting.quick:
            found.append(ComputedPart("square 4", square, {"of": 4.0, "log": str(log), "fails": str(fails or "")}))
        return [*found, ComputedPart("input", from_input, {"name": "number.txt"}, ("number.txt",), ("input",))]

    def claims() -> Sequence[Claim]:
        return [
            Claim("two", f"two squared {NASTY}", "4.0", "m²", "Table 1", "square/2"),
            Claim("three", "three squared", "8", "m²", "Table 1", "square/3", points(0.5), reason="three is odd"),
            Claim("four", "four squared", "16", "m²", "Table 2", "square/4"),
            Claim("more", "three gives more than two", "yes", "", "§1", lambda v: v["square/3"] > v["square/2"], HOLDS),
            Claim("input", "the number in the input", "7", "", "Table 3", "input"),
            Claim(
                "gone",
                "what nobody can check",
                "12",
                "W",
                "Fig. 1",
                None,
                impossible=True,
                reason="the log is not public",
            ),
        ]

    def figures(values: Values) -> Sequence[PaperFigure]:
        return [as_figure(f"Fig. 1 {NASTY}", "caption", go.Figure(go.Bar(x=["a"], y=[values["square/2"]])))]

    return Paper(
        name="made-up",
        title=f"On squares {NASTY}",
        citation="Nobody (2021).",
        parts=parts,
        claims=claims,
        figures=figures,
        quick="four is left out.",
        left_out=lambda setting: {"square/4": "four is left out with --quick"} if setting.quick else {},
    )
