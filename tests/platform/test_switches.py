"""The switches of a platform: as a tree, in files, and what they cannot be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis import platform_tree, topology
from cluster_sim import Platform
from cluster_sim.cli import main
from cluster_sim.errors import FormatError, InputError
from cluster_sim.formats.slurm.conf_values import folded, host_list
from cluster_sim.platform.switches import Switch, SwitchTree

HARDWARE = """
processor_types: {p: {cores: 4, clock_ghz: 3}}
node_types: {n: {processors: [{type: p}]}}
clusters: [{id: a, nodes: [{type: n, count: 6}]}, {id: b, nodes: [{type: n, count: 3}]}]
topology:
"""
LAB = (
    HARDWARE
    + """
  rack0: ["a.node[0-3]"]
  rack1: [a.node5, a.node4]
  rack2: ["b.node[0-2]"]
  row: [rack0, rack1]
  top: [row, rack2]
"""
)
CONF = """
ClusterName=lab
NodeName=n[1-6] CPUs=4
NodeName=n7 CPUs=4 State=DOWN
PartitionName=p Nodes=ALL Default=YES
"""


def read(folder: Path, text: str) -> Platform:
    """The platform of a text in the own format."""
    (folder / "lab.yaml").write_text(text)
    return Platform.read(folder / "lab.yaml")


def read_conf(folder: Path, switches: str) -> Platform:
    """The platform of a slurm.conf with a topology.conf beside it."""
    (folder / "slurm.conf").write_text(CONF)
    (folder / "topology.conf").write_text(switches)
    return Platform.read(folder / "slurm.conf")


def test_a_tree_of_three_levels(tmp_path: Path) -> None:
    """Leaf of each node, what hangs on what, and links between leaves: 2 within a row, 3 to the rack beside it."""
    tree = read(tmp_path, LAB).switch_tree
    assert tree.leaves == ("rack0", "rack1", "rack2")
    assert tree.leaf_of_node.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2]
    assert [tree.switches[above] for above in tree.parents[:-1]] == ["row", "row", "top", "top"]
    assert tree.hops.tolist() == [[0, 2, 3], [2, 0, 3], [3, 3, 0]]
    assert tree.sums_of_all(tree.sums(read(tmp_path, LAB).node_cores)).tolist() == [16, 8, 12, 24, 36]


def test_several_trees_are_joined_above(tmp_path: Path) -> None:
    """Two racks on no other switch are as far from each other as if one joined them."""
    platform = read(tmp_path, HARDWARE + '  r0: ["a.node[0-5]"]\n  r1: ["b.node[0-2]"]\n')
    assert platform.switch_tree.hops.tolist() == [[0, 2], [2, 0]]


def test_without_switches_all_nodes_hang_on_one() -> None:
    """A platform that says nothing of racks has one."""
    tree = Platform.homogeneous(nodes=3, cores=2).switch_tree
    assert (tree.leaf_of_node.tolist(), tree.hops.tolist()) == ([0, 0, 0], [[0]])


def test_switches_are_written_and_read_again(tmp_path: Path) -> None:
    """An equal platform comes back, and another without them is another."""
    platform = read(tmp_path, LAB)
    for name in ("again.yaml", "again.json"):
        platform.write(tmp_path / name)
        assert Platform.read(tmp_path / name) == platform
    assert platform != replace(platform, switches=())


@pytest.mark.parametrize("names", ["n[1-3]", "n3,n2,n1", "n01,n02", "rack,7", "a.node[0-3],b.node4,b.node[6-7]"])
def test_folded_names_unfold_to_the_same(names: str) -> None:
    """Neighbours are one list; leading zeros are kept as they are."""
    several = host_list(names)
    assert [name for text in folded(several) for name in host_list(text)] == several


def test_neighbours_are_folded() -> None:
    """A rack of sixteen nodes is one entry."""
    assert folded(f"n{i}" for i in range(9, 25)) == ["n[9-24]"]


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        ('r: ["a.node[0-3]"]', "topology: expected every node on a leaf switch, found a.node4, a.node5"),
        (
            'r: ["a.node[0-5]", "b.node[0-2]", a.node3]',
            "topology, r: expected every node on one leaf switch, found a.node3 twice",
        ),
        ('r: ["a.node[0-5]", "b.node[0-2]"]\n  s: [a.node1]', "topology, s: .* found a.node1 on r, too"),
        ("r: [a.node9]", "topology, r: expected nodes or switches; .*, found a.node9"),
        ('r: ["a.node["]', "topology, r: expected names of nodes such as"),
        (
            'r: ["a.node[0-5]", "b.node[0-2]"]\n  x: [y]\n  y: [x]',
            "topology, x: expected a tree of switches, found a circle",
        ),
        ('r: ["a.node[0-5]", "b.node[0-2]"]\n  x: [x]', "topology, x: expected a tree of switches, found a circle"),
        (
            'r: ["a.node[0-5]", "b.node[0-2]"]\n  u: [r]\n  v: [r]',
            "topology, r: expected one switch above it, found u and v",
        ),
        (
            'r: ["a.node[0-5]", "b.node[0-2]"]\n  u: [r, a.node1]',
            "topology, u: expected nodes or other switches, found node",
        ),
        ('r: ["a.node[0-5]", "b.node[0-2]"]\n  u: []', "topology, u: expected at least one node"),
        ("r: 5", "topology.r: expected a list, found 5"),
    ],
)
def test_a_wrong_topology_is_one_line(tmp_path: Path, switches: str, message: str) -> None:
    """What, where, expected, found."""
    with pytest.raises(FormatError, match=f"lab.yaml: {message}"):
        read(tmp_path, f"{HARDWARE}  {switches}\n")


def test_a_tree_made_in_python_says_the_same() -> None:
    """Two switches of one name."""
    with pytest.raises(InputError, match="topology, r: expected every switch once, found it twice"):
        SwitchTree([Switch("r", (0,)), Switch("r", (1,))], ["n0", "n1"])


def test_a_topology_conf_beside_a_slurm_conf(tmp_path: Path) -> None:
    """Names are the slurm.conf's; a node that is down is in no rack; link speeds do not matter."""
    platform = read_conf(
        tmp_path,
        "SwitchName=s1 Nodes=n[1-2,4] LinkSpeed=1\nSwitchName=s2 Nodes=n3,n[5-7]\nSwitchName=top Switches=s[1-2]\n",
    )
    assert platform.switches == (Switch("s1", (0, 1, 3)), Switch("s2", (2, 4, 5)), Switch("top", (), ("s1", "s2")))
    platform.write(tmp_path / "own.yaml")
    assert Platform.read(tmp_path / "own.yaml").switches == platform.switches


def test_blocks_are_no_switches(tmp_path: Path) -> None:
    """A topology.conf of topology/block is left alone."""
    assert read_conf(tmp_path, "BlockName=b1 Nodes=n[1-6]\nBlockSizes=2\n").switches == ()


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        ("SwitchName=s1 Nodes=n[1-5]", "topology.conf: expected every node on a leaf switch, found n6 on none"),
        ("SwitchName=s1 Nodes=n[1-9]", "line 1, SwitchName=s1: expected nodes or switches; .*, found n8"),
        ("SwitchName=s1 Nodes=n[1-6]\nSwitchName=s2 Nodes=n2", "line 2, SwitchName=s2: .* found n2 on s1, too"),
        ("SwitchName=s1 Nodes=n[1-6]\nSwitchName=s1 Nodes=n2", "line 2, SwitchName: expected every switch once"),
        ("SwitchName=s1 Nodes=n[1-6] Switches=s2", "line 1, SwitchName=s1: expected Nodes=… or Switches=…, found both"),
        ("SwitchName=s1", "line 1, SwitchName=s1: expected Nodes=… or Switches=…, found neither"),
        ("SwitchName=s1 Node=n[1-6]", "line 1, Node: expected Nodes"),
        ("SwitchName=s1 Nodes=n[1-", "line 1, Nodes: expected names of nodes"),
        ("Nodes=n[1-6] SwitchName=s1", "line 1: expected SwitchName=…"),
    ],
)
def test_a_wrong_topology_conf_is_one_line(tmp_path: Path, switches: str, message: str) -> None:
    """With the file and the line."""
    with pytest.raises(FormatError, match=message):
        read_conf(tmp_path, switches + "\n")


def test_the_command_shows_the_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each switch stands below the one on which it hangs."""
    read(tmp_path, LAB)
    with pytest.raises(SystemExit):
        main(["topology", str(tmp_path / "lab.yaml")])
    assert capsys.readouterr().out.splitlines()[5:11] == [
        "  switches: 5, of which 3 have nodes",
        "    top: 9 nodes",
        "      rack2: 3 nodes, b.node[0-2]",
        "      row: 6 nodes",
        "        rack0: 4 nodes, a.node[0-3]",
        "        rack1: 2 nodes, a.node[4-5]",
    ]


def test_pictures_have_switches_in_the_place_of_clusters(tmp_path: Path) -> None:
    """A box for each rack in that above it; in the chart its nodes stand around it, and other switches above."""
    platform = read(tmp_path, LAB)
    boxes = platform_tree(platform).data[0]
    parents = dict(zip(boxes.ids, boxes.parents, strict=True))
    assert (parents["a.node5"], parents["switch:rack1"], parents["switch:top"]) == (
        "switch:rack1",
        "switch:row",
        "platform:platform",
    )
    switches = next(trace for trace in topology(platform).data if trace.mode == "markers+text")
    heights = dict(zip(switches.text, switches.y, strict=True))
    assert heights["rack0"] == heights["rack2"] == 0.0 < heights["row"] < heights["top"] < heights["platform"]


def test_the_graph_has_switches_in_the_place_of_clusters(tmp_path: Path) -> None:
    """Cores and rates add up at each."""
    graph = read(tmp_path, LAB).topology("node")
    assert list(graph.neighbors("switch:row")) == ["switch:top", "switch:rack0", "switch:rack1"]
    assert (graph.nodes["switch:row"]["cores"], graph.nodes["switch:row"]["gflops"]) == (24, 72.0)
    assert graph.number_of_edges() == graph.number_of_nodes() - 1
