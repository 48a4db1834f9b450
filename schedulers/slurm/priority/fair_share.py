"""Fair shares by how much of its share each user has had: Slurm's Fair Tree, and its classic formula (22.05).

Both take a tree of associations, by the position of each one's parent (-1: the root, which comes first; a parent comes
before its children), and the usage of each, which of an account contains that of all below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Shares = Sequence[int | None]


@dataclass(frozen=True)
class ShareTree:
    """The tree: parents, shares (None: ``Fairshare=parent``), and which are users; all of shape (associations,)."""

    parents: Sequence[int]
    shares: Shares
    is_user: Sequence[bool]

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def above(self) -> list[int]:
        """Return parents, leaving out accounts with ``Fairshare=parent``, whose children are their parent's."""
        above: list[int] = []
        for parent in self.parents:
            above.append(above[parent] if parent > 0 and self.shares[parent] is None else parent)
        return above

    @cached_property
    def level_shares(self) -> list[float]:
        """Return shares over the sum of all siblings' (0 where that is 0); with ``Fairshare=parent`` the parent's."""
        sums = [0] * len(self)
        for child, share in enumerate(self.shares):
            if child and share is not None:
                sums[self.above[child]] += share
        level = [0.0] * len(self)
        for child, share in enumerate(self.shares):
            parent = self.above[child]
            if child and share is None:
                level[child] = level[parent]
            elif child and share and sums[parent]:
                level[child] = share / sums[parent]
        return level

    @cached_property
    def children(self) -> list[list[int]]:
        """Return the children of every association that counts; accounts with ``Fairshare=parent`` are nobody's."""
        children: list[list[int]] = [[] for _ in self.parents]
        for child in range(1, len(self)):
            if self.is_user[child] or self.shares[child] is not None:
                children[self.above[child]].append(child)
        return children

    @cached_property
    def users(self) -> int:
        """Return how many users there are."""
        return sum(self.is_user)


@dataclass(frozen=True, slots=True)
class FairShare:
    """Results as ``sshare`` tells them, one value for each association.

    ``factor``, in [0, 1], is the users'; of accounts Fair Tree has none (NaN). ``level_fs`` is Fair Tree's; NaN where shares
    are the parent's, and in the classic formula.
    """

    norm_shares: Floats
    effective_usage: Floats
    factor: Floats
    level_fs: Floats


def fair_tree(tree: ShareTree, usage: Sequence[float]) -> FairShare:
    """Compute Fair Tree: users' ranks in a walk by falling level fair share, over the number of users."""
    level_usage, level_fs = [1.0], [math.nan]
    for i in range(1, len(tree)):
        share, used = tree.level_shares[i], _share_of(usage[i], usage[tree.above[i]])
        level_usage.append(used)
        if share <= 0.0:
            level_fs.append(0.0)
        else:
            level_fs.append(share / used if used > 0.0 else math.inf)
    told = [math.nan if own is None else fs for own, fs in zip(tree.shares, level_fs, strict=True)]
    merit = [math.inf if own is None else fs for own, fs in zip(tree.shares, level_fs, strict=True)]
    factor = np.full(len(tree), np.nan)
    left = rank = tree.users
    walk = _sorted_level(tree, 0, merit, False)
    while walk:
        association, tied = walk.pop()
        if not tree.is_user[association]:
            walk += _sorted_level(tree, association, merit, tied)
            continue
        rank = rank if tied else left
        factor[association] = rank / tree.users
        left -= 1
    return FairShare(np.array(tree.level_shares), np.array(level_usage), factor, np.array(told))


def _share_of(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0


def _sorted_level(tree: ShareTree, parent: int, merit: list[float], tied: bool) -> list[tuple[int, bool]]:
    """Return children in the order of the walk, the first one last, each with whether it ties with the one before.

    The first ties if its parent does. Users come before accounts of equal merit.
    """
    children = sorted(tree.children[parent], key=lambda child: (-merit[child], not tree.is_user[child]))
    ties = [tied] + [merit[one] == merit[other] for one, other in pairwise(children)]
    return list(zip(children, ties, strict=False))[::-1]


def norm_usage(usage: Sequence[float]) -> list[float]:
    """Return the usage of each association over that of the root; 0 where there is none."""
    return [_share_of(used, usage[0]) for used in usage]


def classic(tree: ShareTree, norm_usage: Sequence[float], dampening: float = 1.0) -> FairShare:
    """Compute the classic formula: 2 to the power of -(effective usage / normalised shares / dampening factor)."""
    norm, effective = [1.0] * len(tree), [1.0] * len(tree)
    for i in range(1, len(tree)):
        parent, share, used = tree.above[i], tree.level_shares[i], norm_usage[i]
        if tree.shares[i] is None:
            norm[i], effective[i] = norm[parent], effective[parent]
        else:
            norm[i] = norm[parent] * share
            effective[i] = used if parent == 0 else used + (effective[parent] - used) * share
    pairs = zip(effective, norm, strict=True)
    factor = [2.0 ** -(used / share / dampening) if share > 0.0 else 0.0 for used, share in pairs]
    return FairShare(np.array(norm), np.array(effective), np.array(factor), np.full(len(tree), np.nan))
