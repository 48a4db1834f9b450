"""The log of a training: rows of metrics.csv, TensorBoard's events, and what a resumed training keeps."""

from __future__ import annotations

from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from learning.training.logs import Log, in_brief, read_metrics
from learning.training.tensorboard import EventFile


def test_numbers_come_back(tmp_path: Path) -> None:
    """What was logged, and nothing for what was not measured; numbers outside the table come last."""
    log = Log(tmp_path)
    log.write({"iteration": 0, "validation/best": 12.5})
    log.write({"iteration": 1, "rollout/ep_rew_mean": -0.1, "time/total_timesteps": 10**9})
    assert read_metrics(tmp_path) == [
        {"iteration": 0, "validation/best": 12.5},
        {"iteration": 1, "rollout/ep_rew_mean": -0.1, "time/total_timesteps": 1e9},
    ]


def test_a_resumed_training_keeps_the_rows_up_to_its_checkpoint(tmp_path: Path) -> None:
    """What came after it will be written again, and a line that death cut short is dropped."""
    log = Log(tmp_path)
    for iteration in range(4):
        log.write({"iteration": iteration, "rollout/ep_rew_mean": float(iteration)})
    with (tmp_path / "metrics.csv").open("a") as file:
        file.write("4,1.")
    again = Log(tmp_path, kept=2)
    again.write({"iteration": 3, "rollout/ep_rew_mean": -3.0})
    assert [row["iteration"] for row in read_metrics(tmp_path)] == [0, 1, 2, 3]
    assert read_metrics(tmp_path)[-1]["rollout/ep_rew_mean"] == -3.0


def test_a_new_training_begins_a_new_log(tmp_path: Path) -> None:
    """Nothing is left of another one."""
    Log(tmp_path).write({"iteration": 9})
    Log(tmp_path).write({"iteration": 0})
    assert read_metrics(tmp_path) == [{"iteration": 0}]
    assert len(list(tmp_path.glob("events.*"))) == 1


def test_tensorboard_reads_the_events(tmp_path: Path) -> None:
    """TensorBoard's own reader finds every number at its step."""
    events = EventFile(tmp_path)
    events.add(1, {"rollout/ep_rew_mean": -1.5, "time/fps": 10.0})
    events.add(2, {"rollout/ep_rew_mean": -1.25})
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in accumulator.Scalars("rollout/ep_rew_mean")] == [(1, -1.5), (2, -1.25)]
    assert [(e.step, e.value) for e in accumulator.Scalars("time/fps")] == [(1, 10.0)]


def test_the_bar_shows_reward_and_reduction() -> None:
    """What there is of them."""
    assert in_brief({"rollout/ep_rew_mean": -0.98765, "validation/best": 20.2}) == {
        "reward": "-0.9877",
        "best": "20.20 %",
    }
    assert in_brief({}) == {}
