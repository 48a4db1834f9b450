"""How far colours lie apart for readers with each kind of colour blindness."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
"""What is seen of linear red, green and blue, for full loss of one kind of cones (Machado, Oliveira, Fernandes 2009)."""
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])  # D65


def least_distance(colours: Sequence[str], vision: str) -> tuple[float, str, str]:
    """Return the least distance of two of the colours in CIELAB, and the two, as somebody of that vision sees them."""
    places = [(_lab(colour, vision), colour) for colour in colours]
    return min((float(np.linalg.norm(a - b)), one, other) for (a, one), (b, other) in combinations(places, 2))


def _lab(colour: str, vision: str) -> np.ndarray:
    """Return lightness, red minus green, and yellow minus blue of a colour ``#rrggbb``, as CIE 1976 defines them."""
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    ratios = _TO_XYZ @ np.clip(np.array(VISION[vision]) @ linear, 0.0, 1.0) / _WHITE
    x, y, z = np.where(ratios > 216 / 24_389, np.cbrt(ratios), (24_389 / 27 * ratios + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
