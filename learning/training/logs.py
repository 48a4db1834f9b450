"""Logs of trainings: every logged number, explained once, and the files that hold them.

``metrics.csv``, TensorBoard's event files and the manual (docs/reference/training.md) use :data:`NUMBERS`. Names and
meanings under ``train/`` and ``time/`` are those of Stable-Baselines3, so that runs can be compared.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cluster_sim.errors import FormatError
from cluster_sim.files.atomic import write_bytes
from cluster_sim.files.csv import check_lengths
from learning.training.tensorboard import SUFFIX, EventFile


@dataclass(frozen=True, slots=True)
class LoggedNumber:
    """Logged number: name, unit ("" for counts and ratios) and meaning."""

    name: str
    unit: str
    meaning: str


NUMBERS: tuple[LoggedNumber, ...] = (
    LoggedNumber("iteration", "", "rollouts and updates done, from 1; 0 is before the first update"),
    LoggedNumber("time/elapsed_s", "s", "wall-clock time of this process up to here"),
    LoggedNumber("time/fps", "1/s", "decisions collected in a second, update included"),
    LoggedNumber("time/total_timesteps", "", "decisions taken so far in training episodes"),
    LoggedNumber("time/total_episodes", "", "training episodes so far"),
    LoggedNumber("rollout/ep_rew_mean", "", "mean over this iteration's episodes of the sum of rewards"),
    LoggedNumber("rollout/ep_rew_min", "", "the least of these sums"),
    LoggedNumber("rollout/ep_rew_max", "", "the greatest"),
    LoggedNumber("rollout/ep_len_mean", "", "mean number of decisions in an episode"),
    LoggedNumber("rollout/ep_cost_mean", "as the cost", "mean over this iteration's episodes of the sum of costs"),
    LoggedNumber("rollout/objective_mean", "as the objective", "mean of the objective over this iteration's episodes"),
    LoggedNumber("rollout/objective_min", "as the objective", "its least value"),
    LoggedNumber(
        "rollout/reduction_mean",
        "%",
        "reduction against the best baseline, actions sampled; only where all episodes are the same",
    ),
    LoggedNumber("rollout/reduction_max", "%", "the greatest of these reductions"),
    LoggedNumber(
        "validation/objective_mean",
        "as the objective",
        "mean of the objective over the validation episodes, greedy actions",
    ),
    LoggedNumber("validation/reduction_mean", "%", "mean reduction against each validation episode's best baseline"),
    LoggedNumber("validation/reduction_min", "%", "the least of these reductions"),
    LoggedNumber("validation/best", "%", "the mean reduction of the agent in best/"),
    LoggedNumber("validation/share", "", "the greatest ratio of a metric's mean to its limit"),
    LoggedNumber("validation/cost_mean", "as the cost", "mean cost of the validation episodes, greedy actions"),
    LoggedNumber(
        "validation/cost_over",
        "as the cost",
        "by how much that is above its limit; of several classes the worst",
    ),
    LoggedNumber("train/policy_gradient_loss", "", "the (clipped) loss of the policy"),
    LoggedNumber("train/value_loss", "", "mean squared error of the critic's values"),
    LoggedNumber("train/entropy_loss", "nat", "minus the mean entropy of the action distributions"),
    LoggedNumber("train/loss", "", "the sum that is minimised"),
    LoggedNumber("train/approx_kl", "nat", "mean of (r - 1) - log r: how far the update moved the policy"),
    LoggedNumber("train/clip_fraction", "", "share of decisions whose probability ratio was clipped"),
    LoggedNumber(
        "train/explained_variance", "", "1 - Var(target - value)/Var(target): 1 perfect, 0 no better than a constant"
    ),
    LoggedNumber("train/learning_rate", "", "the actor's learning rate at the end of the update"),
    LoggedNumber("train/clip_range", "", "ε of PPO's clipping"),
    LoggedNumber("train/n_updates", "", "steps of the optimisers so far"),
    LoggedNumber("train/stopped_early", "", "1 where the target KL ended the update before the last epoch"),
    LoggedNumber("train/averaged", "", "weights in the average (SWA) so far"),
    LoggedNumber("train/multiplier", "", "a constraint's λ, mean over the episodes"),
    LoggedNumber("train/cost_value_loss", "", "mean squared error of the critic of the cost"),
    LoggedNumber("warm_start/cross_entropy", "nat", "loss of the imitation in its last epoch, in row 0 only"),
    LoggedNumber(
        "warm_start/agreement", "", "share of decisions in which the teacher's action is the most probable one"
    ),
    LoggedNumber("warm_start/value_loss", "", "mean squared error of the values taught with it"),
)
"""Numbers of ``metrics.csv``, in its order. Further numbers of an algorithm come last."""

CSV = "metrics.csv"


class Log:
    """Log of one training in a folder: ``metrics.csv`` and an event file, a row and a record per iteration.

    A row is written whole or not at all. ``kept`` is the last iteration that is kept: a resumed training drops the rows
    after its checkpoint, which will be written again.
    """

    def __init__(self, folder: str | Path, kept: int | None = None):
        self.path = Path(folder) / CSV
        self._columns: list[str] = []
        if kept is None:
            self.path.unlink(missing_ok=True)
            for old in Path(folder).glob(f"events.out.tfevents.*{SUFFIX}"):
                old.unlink(missing_ok=True)
        elif self.path.exists():
            text = self.path.read_text(encoding="utf-8")
            rows = list(csv.reader(io.StringIO(text[: text.rfind("\n") + 1])))  # a last line cut short is no row
            if not rows:
                self.path.unlink()
            else:
                self._columns = rows[0]
                try:
                    rows[1:] = [row for row in rows[1:] if len(row) == len(rows[0]) and int(row[0]) <= kept]
                except ValueError as error:
                    raise FormatError(self.path, "the number of an iteration in each row", str(error)) from None
                write_bytes(self.path, b"".join(map(_line, rows)))
        self._events = EventFile(folder)

    def write(self, numbers: Mapping[str, float]) -> None:
        """Append one iteration's numbers; what was not measured in it is left empty."""
        if not self._columns:
            known = [number.name for number in NUMBERS]
            self._columns = known + [name for name in numbers if name not in known]
            write_bytes(self.path, _line(self._columns))
        cells = []
        for name in self._columns:
            value = numbers.get(name)
            if value is None:
                cells.append("")
            elif float(value).is_integer() and abs(value) < 2**53:
                cells.append(str(int(value)))
            else:
                cells.append(repr(float(value)))
        with self.path.open("ab") as file:
            file.write(_line(cells))
        tagged = {name: value for name, value in numbers.items() if name != "iteration"}
        self._events.add(int(numbers["iteration"]), tagged)


def read_metrics(folder: str | Path) -> list[dict[str, float]]:
    """Read the rows of ``metrics.csv``, each with the numbers that it has. Raises FormatError naming the line."""
    path = Path(folder) / CSV
    with path.open("rb") as file:
        text = file.read().decode("utf-8", "replace")
    check_lengths(text, path)
    rows = csv.DictReader(io.StringIO(text, newline=""))
    if "iteration" not in (rows.fieldnames or ()):
        raise FormatError(f"{path} line 1", "a column 'iteration'", ", ".join(rows.fieldnames or ()))
    try:
        found = [{name: float(value) for name, value in row.items() if value} for row in rows]
    except (ValueError, TypeError, csv.Error) as error:
        raise FormatError(f"{path} line {rows.line_num}", "numbers, as in the header", str(error)) from None
    for line, row in enumerate(found, start=2):
        if not row.get("iteration", -1.0) >= 0.0 or row["iteration"] != int(row["iteration"]):
            raise FormatError(f"{path} line {line}, iteration", "a whole number >= 0", row.get("iteration"))
    return found


def in_brief(numbers: Mapping[str, float]) -> dict[str, str]:
    """Return the numbers that are shown during a training: reward and reduction in % against the best baseline."""
    brief = {"reward": f"{numbers['rollout/ep_rew_mean']:.4g}"} if "rollout/ep_rew_mean" in numbers else {}
    for name, key in (
        ("reduction", "rollout/reduction_mean"),
        ("validation", "validation/reduction_mean"),
        ("best", "validation/best"),
    ):
        if key in numbers:
            brief[name] = f"{numbers[key]:z.2f} %"
    return brief


def _line(cells: list[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue().encode()
