"""The file of what was recorded, a line per case, and on which arithmetic."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from .digests import Kept

RECORDED = Path(__file__).with_name("recorded.jsonl.gz")


@dataclass(frozen=True)
class Recorded:
    """What was kept of every case, by its name."""

    arithmetic: str
    runs: dict[str, Kept]


def arithmetic() -> str:
    """Versions, and a digest of what functions return that differ between processors and libraries in their last digits."""
    grid = np.linspace(0.01, 30.0, 999)
    rng = np.random.default_rng(1)
    drawn = [rng.random(99), rng.normal(size=99), rng.gamma(1.7, 2.0, 99)]
    values = [np.exp(grid), np.log(grid), grid**2.5, np.array([grid.sum(), grid.mean(), grid @ grid]), *drawn]
    values.append(np.array([f(x) for x in grid.tolist() for f in (math.exp, math.log, math.tanh, math.erf)]))
    code = hashlib.sha256(b"".join(value.tobytes() for value in values)).hexdigest()[:12]
    return f"numpy {np.__version__}, pandas {pd.__version__}, {code}"


def read_recorded() -> Recorded:
    """Everything that was recorded."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as file:
        first, *rest = (json.loads(line) for line in file)
    return Recorded(first["arithmetic"], {line["case"]: line["kept"] for line in rest})


def write_recorded(runs: dict[str, Kept]) -> None:
    """Write it in order of names, so that the same content is the same bytes."""
    lines = [{"arithmetic": arithmetic()}, *({"case": name, "kept": runs[name]} for name in sorted(runs))]
    content = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    RECORDED.write_bytes(gzip.compress(content.encode(), mtime=0))
