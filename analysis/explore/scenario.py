"""A scenario: what was chosen in the page, and the run that was kept beside it, as a file or an address to share."""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from analysis.explore.runs import Choices
from cluster_sim.errors import FormatError, InputError
from cluster_sim.files.reading import read_own_json

FORMAT = "cluster-sim-scenario/1"
FILE_NAME = "scenario.json"
LONGEST_ADDRESS = 20_000
_KEPT = "kept."
"""Beginning of the names of the kept run's choices in an address."""
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

    @classmethod
    def of_address(cls, text: Any) -> Scenario:
        """Return the scenario that :meth:`address` wrote. Raises InputError for another text."""
        if not isinstance(text, str) or len(text) > LONGEST_ADDRESS:
            raise InputError("address", f"a text of at most {LONGEST_ADDRESS:,} characters", type(text).__name__)
        given = dict(parse_qsl(text.removeprefix("#"), keep_blank_values=True))
        known = {f"{begin}{name}" for begin in ("", _KEPT) for name in Choices.__dataclass_fields__} | {_KEPT}
        if unknown := sorted(given.keys() - known):
            raise InputError("address", "the names of choices", ", ".join(unknown))
        return cls(_choices_in(given, ""), _choices_in(given, _KEPT) if _KEPT in given else None)

    def address(self) -> str:
        """Return what stands behind the ``#`` of the page's address: what is not as the page begins by itself."""
        parts = _in_address(self.now, "")
        if self.kept is not None:
            parts |= {_KEPT: "yes"} | _in_address(self.kept, _KEPT)
        return urlencode(parts, safe=":,=/+@", quote_via=quote)

    def named(self) -> dict[str, list[str]]:
        """Return what it names of each kind: ``workload``, ``platform``, ``scheduler``, ``power_policy``."""
        both = [self.now] if self.kept is None else [self.now, self.kept]
        kinds = ("workload", "platform", "scheduler", "power_policy")
        return {kind: list(dict.fromkeys(getattr(each, kind) for each in both)) for kind in kinds}


def _in_address(choices: Choices, begin: str) -> dict[str, str]:
    """Return the choices that are not those of ``Choices()``, as texts."""
    plain, usual = choices.plain(), Choices().plain()
    found = {}
    for name, value in plain.items():
        if value != usual[name]:
            is_text = isinstance(value, str)
            found[begin + name] = value if is_text else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return found


def _choices_in(given: Mapping[str, str], begin: str) -> Choices:
    """Return the choices of an address. Raises InputError for one that cannot be."""
    found = Choices().plain()
    for name, usual in found.items():
        if (text := given.get(begin + name)) is not None and not isinstance(usual, str):
            with suppress(ValueError, RecursionError):  # what is no JSON is no choice either
                found[name] = json.loads(text)
                continue
        found[name] = usual if text is None else text
    return Choices.of(found)
