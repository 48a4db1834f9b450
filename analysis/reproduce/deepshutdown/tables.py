"""Tables 1 to 3 of Casagrande et al. (2022), as printed, and what their text computes from them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from analysis.reproduce.claims import Claim, Kind, cells_of, points

TABLE_1 = """
cluster | jobs | sequential jobs, % | utilisation, %
Taurus | 81925 | 54.1 | 51.7
Hercule | 50003 | 46.9 | 49.8
Nova | 42171 | 52.9 | 58.3
Orion | 66005 | 39.7 | 62.7
Graphite | 60786 | 56.0 | 47.3
Grimoire | 36986 | 52.7 | 56.4
Grisou | 99291 | 75.4 | 69.5
Econome | 66557 | 66.8 | 57.6
Ecotype | 39868 | 81.1 | 66.5
"""
TABLE_2 = """
cluster | 1 | 2 | 3 | 4 | 5
Econome | 259 | 520 | 504 | 271 | 39
Graphite | 487 | 705 | 427 | 149 | 24
Orion | 659 | 777 | 496 | 129 | 28
Taurus | 441 | 947 | 612 | 130 | 22
"""
# Averages, standard deviations, least and greatest of delay (min), waste (W min of nodes, printed J), switches, stretch.
TABLE_3 = """
row | delay avg | delay std | delay min | delay max | waste avg | waste std | waste min | waste max | switches avg | switches std | switches min | switches max | stretch avg | stretch std | stretch min | stretch max
Econome DS | 48.50 | 116.77 | 0.0 | 1002.00 | 21738.40 | 20493.94 | 125.0 | 199485.5 | 93.50 | 80.38 | 1.0 | 797.00 | 0.22 | 1.03 | 0.0 | 26.68
Econome OR* | 53.16 | 124.34 | 0.0 | 1002.00 | 18076.86 | 19474.91 | 125.0 | 223416.0 | 84.96 | 86.38 | 1.0 | 1044.00 | 0.21 | 1.07 | 0.0 | 26.68
Econome T(0) | 49.69 | 123.29 | 0.0 | 1002.00 | 22392.20 | 23398.09 | 250.0 | 271352.0 | 106.12 | 106.36 | 2.0 | 1268.00 | 0.15 | 1.00 | 0.0 | 26.68
Econome T(1) | 49.54 | 123.24 | 0.0 | 1002.00 | 25483.59 | 25960.63 | 250.0 | 329490.0 | 100.21 | 97.68 | 2.0 | 1260.00 | 0.15 | 0.99 | 0.0 | 26.68
Econome T(5) | 49.48 | 123.54 | 0.0 | 1002.00 | 36624.22 | 32931.17 | 250.0 | 307125.0 | 85.35 | 72.73 | 2.0 | 720.00 | 0.14 | 0.99 | 0.0 | 26.68
Graphite DS | 50.92 | 116.47 | 0.0 | 770.00 | 6712.60 | 6219.47 | 125.0 | 51549.5 | 30.63 | 27.94 | 1.0 | 238.00 | 0.41 | 1.38 | 0.0 | 22.88
Graphite OR* | 54.27 | 123.59 | 0.0 | 770.00 | 7216.18 | 6587.65 | 125.0 | 72855.0 | 33.92 | 30.36 | 1.0 | 340.00 | 0.30 | 1.39 | 0.0 | 29.28
Graphite T(0) | 52.81 | 125.29 | 0.0 | 770.00 | 8950.24 | 8287.19 | 125.0 | 89024.0 | 42.20 | 38.47 | 1.0 | 416.00 | 0.26 | 1.41 | 0.0 | 29.28
Graphite T(1) | 52.99 | 125.43 | 0.0 | 770.00 | 10401.94 | 9381.74 | 125.0 | 87820.0 | 40.35 | 35.84 | 1.0 | 350.00 | 0.26 | 1.40 | 0.0 | 29.28
Graphite T(5) | 52.91 | 125.40 | 0.0 | 770.00 | 15434.66 | 13357.23 | 125.0 | 87452.0 | 34.48 | 28.82 | 1.0 | 208.00 | 0.25 | 1.41 | 0.0 | 29.35
Orion DS | 72.27 | 132.62 | 0.0 | 782.67 | 6284.59 | 6930.93 | 125.0 | 70165.0 | 28.07 | 30.69 | 1.0 | 291.25 | 0.54 | 2.10 | 0.0 | 66.24
Orion OR* | 70.34 | 136.79 | 0.0 | 782.67 | 6763.39 | 7551.15 | 125.0 | 67003.0 | 31.84 | 34.79 | 1.0 | 302.00 | 0.41 | 2.04 | 0.0 | 63.95
Orion T(0) | 67.23 | 139.61 | 0.0 | 782.67 | 8996.35 | 9892.78 | 250.0 | 146727.0 | 42.41 | 45.92 | 2.0 | 687.00 | 0.30 | 1.47 | 0.0 | 34.19
Orion T(1) | 67.14 | 139.48 | 0.0 | 782.67 | 10081.97 | 10864.42 | 220.0 | 108591.0 | 38.95 | 40.81 | 1.0 | 356.00 | 0.30 | 1.47 | 0.0 | 34.19
Orion T(5) | 67.39 | 139.76 | 0.0 | 782.67 | 14104.64 | 15307.39 | 220.0 | 125931.0 | 30.69 | 33.36 | 1.0 | 295.00 | 0.30 | 1.47 | 0.0 | 34.19
Taurus DS | 48.31 | 106.29 | 0.0 | 1149.00 | 16513.70 | 12811.54 | 125.0 | 134672.0 | 72.53 | 54.15 | 1.0 | 584.00 | 0.30 | 1.48 | 0.0 | 28.54
Taurus OR* | 53.60 | 113.04 | 0.0 | 1149.00 | 13747.39 | 12307.84 | 125.0 | 194121.0 | 62.43 | 53.19 | 1.0 | 904.00 | 0.29 | 1.46 | 0.0 | 29.51
Taurus T(0) | 49.99 | 114.82 | 0.0 | 1149.00 | 17441.70 | 14984.53 | 375.0 | 264884.0 | 82.10 | 68.27 | 3.0 | 1236.00 | 0.22 | 1.45 | 0.0 | 29.51
Taurus T(1) | 50.02 | 114.75 | 0.0 | 1149.00 | 19664.81 | 16836.47 | 375.0 | 271768.0 | 76.56 | 63.23 | 3.0 | 1032.00 | 0.22 | 1.44 | 0.0 | 28.72
Taurus T(5) | 50.23 | 115.25 | 0.0 | 1149.00 | 28714.38 | 22920.56 | 375.0 | 256368.0 | 65.29 | 49.51 | 2.0 | 612.00 | 0.22 | 1.44 | 0.0 | 29.12
"""  # noqa: E501
CELLS = {(row, column): float(cell) for row, column, cell in cells_of(TABLE_3)}

# What the text says: (cluster, against, column, % that DS is below it; "more" where it is above).
_PROSE = (
    ("Econome", "T(0)", "waste", "2.9"), ("Orion", "T(0)", "waste", "30"), ("Taurus", "T(0)", "switches", "11.6"),
    ("Orion", "T(0)", "switches", "33.8"), ("Econome", "T(5)", "waste", "40.6"), ("Graphite", "T(5)", "waste", "56.5"),
    ("Orion", "T(5)", "waste", "55.4"), ("Graphite", "T(5)", "switches", "11.1"), ("Orion", "T(5)", "switches", "8.5"),
    ("Graphite", "OR*", "stretch", "-36.6"), ("Econome", "T(0)", "stretch", "-46.6"), ("Orion", "T(0)", "stretch", "-80"),
)  # fmt: skip
# §5.4 prints by how many % DS wastes less than T(0), T(1), T(5) and OR* (below 0: more), by group, over all clusters.
# This implies for the others: group, policy, its waste over T(0)'s. In group 2 only OR* is compared with DS.
BY_GROUPS = (
    (1, "OR*", 0.87 * 0.975), (1, "T(1)", 0.87 / 0.746), (1, "T(5)", 0.87 / 0.49),
    (3, "OR*", 0.892 * 0.82), (3, "T(5)", 0.892 / 0.56),
    (4, "OR*", 0.82 * 0.88),
    (5, "OR*", 0.733 / 0.82), (5, "T(1)", 0.733 / 0.652), (5, "T(5)", 0.733 / 0.439),
)  # fmt: skip


def prose_claims(group: str) -> Sequence[Claim]:
    """Return the claims that percentages of §5.4 and §4 follow from printed cells.

    Nothing else about them can be checked.
    """
    how = "from the printed cells"
    found = []
    for cluster, against, column, number in _PROSE:
        ours, theirs = (CELLS[f"{cluster} {policy}", f"{column} avg"] for policy in ("DS", against))
        below = 100.0 * (1.0 - ours / theirs)
        found.append(
            Claim(f"prose/{cluster}/{against}/{column}", f"{cluster}: mean {column} of DS below that of {against}",
                  number, "%", "§5.4", lambda v, below=below: below, points(0.15),  # type: ignore[misc]
                  how=how, kind=Kind.PRINTED, group=group)
        )  # fmt: skip
    sequential = mean(float(cell) for _, column, cell in cells_of(TABLE_1) if column.startswith("sequential"))
    found.append(
        Claim("prose/sequential", "share of sequential jobs, mean of the nine clusters", "58.4", "%", "§4",
              lambda v: sequential, points(0.06), how=how, kind=Kind.PRINTED, group=group)
    )  # fmt: skip
    return found
