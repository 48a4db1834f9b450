"""The log of a training: rows of metrics.csv, TensorBoard's events, and what a resumed training keeps."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from learning.logs import NUMBERS, Log, in_brief, read_metrics
from learning.tensorboard import EventFile, crc32c

PAGE = Path(__file__).resolve().parents[2] / "docs" / "training.md"


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


def test_the_checksum_is_the_published_one() -> None:
    """CRC-32C of 32 bytes of zeros, of ones and of 0 … 31 (RFC 3720, B.4)."""
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


def test_events_are_records_as_tensorboard_reads_them(tmp_path: Path) -> None:
    """By the definition of the format: lengths and masked checksums, and a summary's tag and value in the message."""
    events = EventFile(tmp_path)
    events.add(300, {"rollout/ep_rew_mean": 0.5})
    data, found = events.path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        event = data[12 : 12 + length]
        for part, stored in ((data[:8], data[8:12]), (event, data[12 + length : 16 + length])):
            crc = crc32c(part)
            assert struct.unpack("<I", stored)[0] == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) % 2**32
        found.append(event)
        data = data[16 + length :]
    version, summary = found
    assert version[9:] == b"\x1a\x0dbrain.Event:2"
    assert summary[9:12] == b"\x10\xac\x02"  # field 2, a variable-length 300
    assert summary[12:] == b"\x2a\x1c\x0a\x1a\x0a\x13rollout/ep_rew_mean\x15" + struct.pack("<f", 0.5)


def test_the_bar_shows_reward_and_reduction() -> None:
    """What there is of them."""
    assert in_brief({"rollout/ep_rew_mean": -0.98765, "validation/best": 20.2}) == {
        "reward": "-0.9877",
        "best": "20.20 %",
    }
    assert in_brief({}) == {}


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
def test_the_manual_explains_every_number(number) -> None:
    """The same words as in the code."""
    assert f"| `{number.name}` | {number.unit} | {number.meaning} |" in PAGE.read_text(encoding="utf-8")
