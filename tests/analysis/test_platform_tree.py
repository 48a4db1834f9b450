"""The platform as boxes within boxes."""

from __future__ import annotations

import pytest

from analysis import platform_tree
from analysis.figures import platform_tree as module
from cluster_sim import Platform

LAB = Platform.homogeneous(nodes=2, cores=6, processors=2)


def test_boxes_add_up() -> None:
    """Every box has as many cores as those in it together, and stands in its parent."""
    (tree,) = platform_tree(LAB).data
    boxes = dict(zip(tree.ids, tree.values, strict=True))
    inside: dict[str, int] = {}
    for name, parent in zip(tree.ids, tree.parents, strict=True):
        if parent:
            inside[parent] = inside.get(parent, 0) + boxes[name]
    assert boxes["platform:homogeneous"] == 12
    assert all(boxes[parent] == cores for parent, cores in inside.items())
    assert boxes["cluster0.node1.processor1.core2"] == 1
    assert len(boxes) == 1 + 1 + 2 + 4 + 12


def test_a_large_platform_is_drawn_as_far_as_a_browser_can_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its cores, or without its processors, too."""
    for most, last in ((8, "cluster0.node1.processor1"), (5, "cluster0.node1")):
        monkeypatch.setattr(module, "MOST_BOXES", most)
        (tree,) = platform_tree(LAB).data
        assert tree.ids[-1] == last


def test_names_are_escaped() -> None:
    """A platform's name is text, not markup."""
    from dataclasses import replace

    figure = platform_tree(replace(LAB, id="<b>lab</b>"))
    (tree,) = figure.data
    shown = [figure.layout.title.text, *tree.labels, *tree.hovertext]
    assert not any("<b>" in text for text in shown)
    assert "%{id}" not in tree.hovertemplate
