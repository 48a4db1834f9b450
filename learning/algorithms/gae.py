"""Returns and advantages of one episode.

The advantage of an action is its outcome less the expected return of the situation. Generalised advantage estimation
(Schulman et al. 2016) weighs short-sighted but steady estimates against far-sighted but noisy ones by λ.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Doubles = npt.NDArray[np.float64]


def discounted_sums(rewards: Floats, discount: float, after: float = 0.0) -> Doubles:
    """Return G_t = r_t + discount · G_{t+1} for every step of an episode; ``after`` is the value after the last step.

    The returns of an episode, where ``discount`` is γ and ``after`` the value of the situation in which it was cut
    off (truncated), 0 when it came to its end (terminated).
    """
    sums = np.empty(len(rewards))
    following = after
    for t in range(len(rewards) - 1, -1, -1):
        following = rewards[t] + discount * following
        sums[t] = following
    return sums


def advantages(rewards: Floats, values: Floats, after: float, gamma: float, lam: float) -> Doubles:
    """Return generalised advantage estimates (T,).

    Args:
        rewards: (T,) what each action was rewarded with.
        values: (T,) expected returns of the situations in which they were chosen.
        after: expected return of the situation after the last: 0 when the episode came to its end, the critic's value
            when it was only cut off.
        gamma: discount of later rewards, γ.
        lam: λ; 0 looks one step ahead and then trusts the critic, 1 trusts rewards alone.

    δ_t = r_t + γ V_{t+1} − V_t and A_t = δ_t + γ λ A_{t+1} (Schulman et al. 2016, eqs. 11-16; López 2023, eqs. 3.3-3.5).
    """
    following = np.append(values[1:], after)
    return discounted_sums(rewards + gamma * following - values, gamma * lam)
