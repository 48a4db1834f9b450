"""Learning curves from logs of trainings, and the probabilities of decisions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import decision_probabilities, learning_curves, learning_table
from cluster_sim.errors import FormatError, InputError

REWARD = "rollout/ep_rew_mean"


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    """Two seeds, of which the second goes on longer; a column that is sometimes empty; an iteration that was repeated."""
    texts = (
        f"iteration,{REWARD},eval/x\n0,-4,\n1,-2,0.5\n2,99,\n2,-1,\n",
        f"iteration,{REWARD},eval/x\n0,-2,\n1,-1,\n2,-1,\n3,0,1.5\n",
    )
    folders = [tmp_path / f"seed-{i}" for i in range(2)]
    for folder, text in zip(folders, texts, strict=True):
        folder.mkdir()
        (folder / "metrics.csv").write_text(text)
    return folders


def test_a_curve_by_hand(logs: list[Path]) -> None:
    """Means of the seeds that have the iteration, and the band between the least and the largest."""
    table = learning_table(logs)
    assert table.to_numpy().tolist() == [[0, -3, -4, -2, 2], [1, -1.5, -2, -1, 2], [2, -1, -1, -1, 2], [3, 0, 0, 0, 1]]
    band, mean = learning_curves(logs).data
    assert mean.x.tolist() == [0, 1, 2, 3]
    assert mean.y.tolist() == [-3, -1.5, -1, 0]
    assert band.y.tolist() == [-2, -1, -1, 0, 0, -1, -2, -4]
    assert mean.name == f"{REWARD} (2 seeds)"


def test_several_trainings_and_baselines(logs: list[Path]) -> None:
    """A line per name, files and tables mixed; baselines are dashed; names are no markup."""
    other = pd.DataFrame({"iteration": [0, 1], REWARD: [-3.0, -2.5]})
    figure = learning_curves({"<b>ppo": logs[0] / "metrics.csv", "reinforce": [other]}, baselines={"easy <i>": -1.0})
    assert [trace.name for trace in figure.data] == ["&lt;b&gt;ppo", "reinforce"]
    assert figure.layout.annotations[0].text == "easy &lt;i&gt;: −1"
    assert figure.layout.shapes[0].y0 == -1.0


def test_cells_that_are_empty_do_not_count(logs: list[Path]) -> None:
    """Evaluations that are made only sometimes have points only there."""
    assert learning_table(logs, "eval/x")[["iteration", "mean"]].to_numpy().tolist() == [[1, 0.5], [3, 1.5]]


def test_wrong_logs_are_told(tmp_path: Path, logs: list[Path]) -> None:
    """The file, the column, what was expected."""
    with pytest.raises(FormatError, match="expected a column 'loss', found columns iteration"):
        learning_table(logs, "loss")
    with pytest.raises(FormatError, match=r"no-such\.csv"):
        learning_table(tmp_path / "no-such.csv")
    (tmp_path / "words.csv").write_text(f"iteration,{REWARD}\n0,good\n")
    with pytest.raises(FormatError, match="expected numbers, found good"):
        learning_table(tmp_path / "words.csv")
    with pytest.raises(InputError, match="at least one"):
        learning_table([])


def test_probabilities_of_decisions() -> None:
    """Actions × decisions; what was masked stays empty, what was taken is marked."""
    table = pd.DataFrame([[0.5, 0.5, 0.0], [np.nan, 0.25, 0.75]], columns=["a→n0", "<b>", "wait"], index=[10, 20])
    heat, taken = decision_probabilities(table, chosen=["a→n0", "wait"]).data
    np.testing.assert_array_equal(heat.z, np.array([[0.5, np.nan], [0.5, 0.25], [np.nan, 0.75]], np.float32))
    assert heat.text[1][0] == "&lt;b&gt;"
    assert list(taken.y) == [0, 2]


@pytest.mark.parametrize(
    ("rows", "chosen", "message"),
    [
        ([[0.5, 0.4]], None, "decision 0: expected probabilities that sum to 1, found 0.9"),
        ([[1.5, -0.5]], None, "from 0 to 1"),
        ([[0.5, 0.5]], ["c"], "an action of the table, found c"),
        ([[0.5, 0.5]], ["a", "a"], "1 actions, one per decision, found 2"),
    ],
)
def test_what_are_no_probabilities_is_refused(rows: list[list[float]], chosen: list[str] | None, message: str) -> None:
    """In a line that says which decision."""
    with pytest.raises(InputError, match=message):
        decision_probabilities(pd.DataFrame(rows, columns=["a", "b"]), chosen=chosen)
