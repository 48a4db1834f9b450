"""TensorBoard's event files: the numbers of a training, iteration by iteration."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from cluster_sim.extras import needed

SUFFIX = ".cluster-sim"


class EventFile:
    """Event file in a folder; every call of :meth:`add` adds one whole record."""

    def __init__(self, folder: str | Path):
        with needed("learning.training.tensorboard"):
            from tensorboard.summary.writer.event_file_writer import EventFileWriter

        # Not torch's SummaryWriter, whose import takes 5 s; tensorboard's own writer is what it wraps.
        self._writer = EventFileWriter(str(folder), filename_suffix=SUFFIX)

    def add(self, step: int, numbers: Mapping[str, float]) -> None:
        """Log ``numbers`` by their tags at a step."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in numbers.items()]
        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))
        self._writer.flush()
