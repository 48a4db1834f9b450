"""The metrics of an episode against numpy's own functions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.tasks.episode_metrics import quantile


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.95, 1.0])
@given(values=st.lists(st.floats(0.0, 1e9), min_size=1, max_size=60))
def test_a_quantile_is_numpys(share: float, values: list[float]) -> None:
    """The same bits, for any number of waits."""
    waits = np.array(values)
    assert quantile(waits, share) == float(np.quantile(waits, share))
