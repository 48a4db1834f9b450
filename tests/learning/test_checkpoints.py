"""Trees of tensors on disk: what comes back, what is refused, and what a death in between leaves."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_sim.errors import FormatError
from learning.training import checkpoints

torch = pytest.importorskip("torch")

plain = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5)
keys = st.text(max_size=4) | st.integers(0, 9)
trees = st.dictionaries(
    keys,
    st.recursive(
        plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
    ),
)


@given(tree=trees)
def test_what_is_saved_comes_back(tmp_path_factory: pytest.TempPathFactory, tree: dict) -> None:
    """Any tree of plain values, with infinite numbers and keys that are numbers."""
    folder = tmp_path_factory.mktemp("tree")
    checkpoints.save(folder, "state", tree)
    assert checkpoints.load(folder, "state") == tree


def test_tensors_come_back_bit_by_bit(tmp_path: Path) -> None:
    """Tensors and arrays of all shapes and kinds, tuples, NaN, and the state of an optimiser that goes on as before."""
    network = torch.nn.Linear(3, 2)
    optimiser = torch.optim.Adam(network.parameters())
    network(torch.ones(1, 3)).sum().backward()
    optimiser.step()
    tree = {
        "adam": optimiser.state_dict(),
        "array": np.arange(6).reshape(2, 3)[:, ::2],
        "scalar": np.float64(0.1),
        "empty": torch.zeros(0, 3),
        "truths": np.array([True, False]),
        "pair": (1, [2.5, math.nan]),
    }
    checkpoints.save(tmp_path, "state", tree)
    found = checkpoints.load(tmp_path, "state")
    other = torch.optim.Adam(network.parameters())
    other.load_state_dict(found["adam"])
    for before, after in zip(optimiser.state.values(), other.state.values(), strict=True):
        assert all(torch.equal(before[key], after[key]) for key in before)
    assert found["array"].tolist() == [[0, 2], [3, 5]]
    assert (found["scalar"], found["empty"].shape) == (0.1, (0, 3))
    assert found["truths"].dtype == bool
    assert found["pair"][0] == 1
    assert math.isnan(found["pair"][1][1])


def test_the_new_takes_the_place_of_the_old(tmp_path: Path) -> None:
    """One file of tensors is left, and what else is in the folder stays."""
    checkpoints.save(tmp_path, "other", {"n": 0})
    for n in range(3):
        checkpoints.save(tmp_path, "state", {"n": n, "weights": torch.full((2,), float(n))})
    assert len(list(tmp_path.glob("state-*.safetensors"))) == 1
    assert checkpoints.load(tmp_path, "state")["weights"].tolist() == [2.0, 2.0]
    assert checkpoints.load(tmp_path, "other") == {"n": 0}


def test_a_death_in_between_leaves_the_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever dies after the tensors and before the JSON is in place has lost nothing."""
    checkpoints.save(tmp_path, "state", {"weights": torch.zeros(2)})
    write = checkpoints.write_bytes

    def die(path: Path, data: bytes) -> None:
        if path.suffix == ".json":
            raise KeyboardInterrupt
        write(path, data)

    monkeypatch.setattr(checkpoints, "write_bytes", die)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(tmp_path, "state", {"weights": torch.ones(2)})
    assert checkpoints.load(tmp_path, "state")["weights"].tolist() == [0.0, 0.0]


def test_what_no_tree_can_hold_is_refused(tmp_path: Path) -> None:
    """An object is no data, and nothing is written of it."""
    with pytest.raises(TypeError, match=r"state\.network: Linear"):
        checkpoints.save(tmp_path, "state", {"network": torch.nn.Linear(1, 1)})
    assert not checkpoints.exists(tmp_path, "state")


def _change(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda folder: (folder / "state.json").unlink(), r"state\.json: expected a readable file"),
        (lambda folder: (folder / "state.json").write_text("{"), r"state\.json.*: expected JSON"),
        (lambda folder: (folder / "state.json").write_text("[1]"), r"state\.json: expected a document of format"),
        (lambda folder: _change(folder / "state.json", tree={"$": "tensor"}), r"state\.json: expected a tree"),
        (lambda folder: _change(folder / "state.json", tree={"$": "pickle", "of": 1}), r"state\.json: expected a tree"),
        (lambda folder: _change(folder / "state.json", tree=[]), r"state\.json: expected a tree"),
        (lambda folder: _change(folder / "state.json", tensors="../../x"), "x: expected a readable file"),
        (lambda folder: next(folder.glob("*.safetensors")).write_bytes(b"x"), "safetensors: expected the tensors that"),
        (lambda folder: next(folder.glob("*.safetensors")).unlink(), "safetensors: expected a readable file"),
    ],
)
def test_what_is_broken_ends_in_a_line(tmp_path: Path, damage, told: str) -> None:
    """Files that are missing, cut, exchanged or made up."""
    checkpoints.save(tmp_path, "state", {"weights": torch.zeros(2)})
    damage(tmp_path)
    with pytest.raises(FormatError, match=told) as error:
        checkpoints.load(tmp_path, "state")
    assert "\n" not in str(error.value)
