"""A scenario: what was chosen in the page, and the run that was kept beside it, as a file to keep and to share."""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.explore.runs import Choices
from cluster_sim.errors import FormatError
from cluster_sim.files.reading import read_own_json

FORMAT = "cluster-sim-scenario/1"
FILE_NAME = "scenario.json"
WHAT = "a scenario that the page of explore has saved"


@dataclass(frozen=True, slots=True)
class Scenario:
    """The choices of the run of now, and of the run that was kept to compare it with, if any."""

    now: Choices
    kept: Choices | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Scenario:
        """Return the scenario in a file. Raises FormatError, naming it, or InputError for a choice that cannot be."""
        return cls._of(read_own_json(path, WHAT), str(path))

    @classmethod
    def uploaded(cls, content: Any, name: Any) -> Scenario:
        """Return a scenario from the form in which a browser sends a file, ``data:TYPE;base64,CONTENT``."""
        called = name if isinstance(name, str) else FILE_NAME
        try:
            text = base64.b64decode(str(content).partition(",")[2], validate=True).decode()
            return cls._of(json.loads(text), called)
        except (binascii.Error, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
            raise FormatError(called, WHAT, "another file") from None

    @classmethod
    def _of(cls, document: Any, where: str) -> Scenario:
        if not isinstance(document, Mapping) or document.get("format") != FORMAT:
            raise FormatError(where, f"{WHAT}, format {FORMAT}", "another file")
        kept = document.get("kept")
        return cls(Choices.of(document.get("now")), None if kept is None else Choices.of(kept))  # type: ignore[arg-type]

    def text(self) -> str:
        """Return the file's content."""
        kept = None if self.kept is None else self.kept.plain()
        document = {"format": FORMAT, "now": self.now.plain(), "kept": kept}
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def named(self) -> dict[str, list[str]]:
        """Return what it names of each kind: ``workload``, ``platform``, ``scheduler``, ``power_policy``."""
        both = [self.now] if self.kept is None else [self.now, self.kept]
        kinds = ("workload", "platform", "scheduler", "power_policy")
        return {kind: list(dict.fromkeys(getattr(each, kind) for each in both)) for kind in kinds}
