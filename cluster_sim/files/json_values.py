"""Values as JSON knows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def for_json(value: Any) -> Any:
    """Return a document of numbers that JSON knows: null for NaN and infinity, Python's own for numpy's."""
    if isinstance(value, Mapping):
        return {str(key): for_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [for_json(each) for each in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
