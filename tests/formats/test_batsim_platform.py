"""SimGrid's platform XML: hosts, clusters, p-states and watts; what is left out; hostile and broken files."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster_sim.errors import FormatError, InputError, ModelWarning, SpecError
from cluster_sim.formats.simgrid_hosts import batsim_order, read_hosts
from cluster_sim.models.power import LinearPower, watts
from cluster_sim.platform import Platform

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
SLEEPER = """
<host id="{name}" speed="100.0Mf, 50.0Mf, 1e-9Mf, 0.5f, 0.05f" pstate="{pstate}">
  <prop id="watt_per_state" value="30:100, 20:60, 9.75:9.75, 120:125, 150:150"/>
  <prop id="watt_off" value="42"/>
  <prop id="sleep_pstates" value="2:3:4"/>
</host>"""
MASTER = '<host id="master_host" speed="1Gf"/>'


def write(folder: Path, body: str, zone: str = '<zone id="AS0" routing="Full">') -> Path:
    """A platform file with one zone."""
    path = folder / "p.xml"
    path.write_text(f'{HEAD}<platform version="4.1">{zone}{body}</zone></platform>')
    return path


def test_a_host_is_a_node_of_one_core(tmp_path: Path) -> None:
    """Speed, idle and full watts of its first p-state; links and routes are passed over; the master is left out."""
    body = (
        MASTER + '<host id="a" speed="2.5Gf"><prop id="watt_per_state" value="10:30"/></host>'
        '<link id="l" bandwidth="1GBps" latency="1us"/><route src="a" dst="a"><link_ctn id="l"/></route>'
    )
    path = write(tmp_path, body)
    platform = Platform.read(path)
    assert (platform.node_count, platform.core_count, platform.node_names()) == (1, 1, ["AS0.node0"])
    (processor,) = platform.processor_types
    assert (processor.clock_ghz, processor.flops_per_cycle) == (2.5, 1.0)
    assert [watts(LinearPower(), processor, busy) for busy in (0, 1)] == [10.0, 30.0]
    assert [host.kind.left_out for host in read_hosts(path)] == [
        "", "it is the master host, on which Batsim runs its scheduler and no jobs",
    ]  # fmt: skip


def test_sleep_pstates_are_asleep_off_and_on(tmp_path: Path) -> None:
    """Transitions last 1 / speed at the full watts of their p-states; asleep it draws that p-state's idle watts."""
    platform = Platform.read(write(tmp_path, SLEEPER.format(name="a", pstate=0)))
    (node,) = platform.node_types
    costs = node.transitions
    assert (costs.off_w, costs.switch_off_s, costs.switch_off_w) == (9.75, 2.0, 125.0)
    assert (costs.switch_on_s, costs.switch_on_w, node.initially_off) == (20.0, 150.0, False)


def test_hosts_start_as_the_file_says(tmp_path: Path) -> None:
    """Started asleep, a node is off and will compute in its first computing p-state; started slow, it stays slow."""
    body = "".join(SLEEPER.format(name=f"h{pstate}", pstate=pstate) for pstate in (0, 1, 2))
    platform = Platform.read(write(tmp_path, body))
    kinds = [platform.node_types[kind] for kind in platform.type_of_node]
    assert [kind.initially_off for kind in kinds] == [False, False, True]
    assert [kind.processors[0].clock_ghz for kind in kinds] == [0.1, 0.05, 0.1]
    assert [dict(kind.processors[0].power)["static_w"] for kind in kinds] == [30.0, 20.0, 30.0]
    assert read_hosts(tmp_path / "p.xml")[0].kind.computing_pstates == (0, 1)


def test_without_sleep_states_off_draws_watt_off(tmp_path: Path) -> None:
    """And switching takes no time."""
    body = (
        '<host id="a" speed="1Gf"><prop id="wattage_per_state" value="9:20"/><prop id="wattage_off" value="5"/></host>'
    )
    costs = Platform.read(write(tmp_path, body)).node_types[0].transitions
    assert (costs.off_w, costs.switch_off_s, costs.switch_on_s) == (5.0, 0.0, 0.0)


def host_with_cores(value: str) -> str:
    """A host of four cores with these watts."""
    return f'<host id="a" core="4" speed="1Gf"><prop id="watt_per_state" value="{value}"/></host>'


def test_watts_of_hosts_with_several_cores(tmp_path: Path) -> None:
    """With epsilon, the step from idle to the first busy core is exact; without, power rises straight."""
    for value, expected in (("50:100:200", [50, 125, 150, 175, 200]), ("40:200", [40, 80, 120, 160, 200])):
        (processor,) = Platform.read(write(tmp_path, host_with_cores(value))).processor_types
        assert [watts(LinearPower(), processor, busy) for busy in range(5)] == pytest.approx(expected)


def test_epsilon_below_idle_is_told(tmp_path: Path) -> None:
    """The linear model has no power that falls when a core gets busy."""
    with pytest.warns(ModelWarning, match=r"host 'a', watt_per_state: 93 W with hardly a load, 100 W idle"):
        (processor,) = Platform.read(write(tmp_path, host_with_cores("100:93:200"))).processor_types
    assert [watts(LinearPower(), processor, busy) for busy in (0, 4)] == [100.0, 200.0]


def test_clusters_and_cabinets_in_zones(tmp_path: Path) -> None:
    """Each becomes a cluster, in the order of its first host; ids that repeat are numbered."""
    body = """
      <zone id="inner" routing="Full"><AS id="old">
      <cluster id="b" prefix="b-" suffix=".org" radical="0-2,7" speed="1Gf"/></AS></zone>
      <cabinet id="cab" prefix="z" suffix="" radical="1-2" speed="3Gf"/>
      <cabinet id="cab" prefix="a" suffix="" radical="10-11" speed="3Gf"/>
      <cluster id="m" prefix="master_host" suffix="" radical="0-0" speed="1Gf"/>
      <cluster id="s" prefix="pfs" suffix="" radical="0-0" speed="0f"><prop id="role" value="storage"/></cluster>"""
    path = write(tmp_path, body)
    platform = Platform.read(path)
    assert [(c.id, c.node_count) for c in platform.clusters] == [("cab", 2), ("b", 4), ("cab_2", 2)]
    names = [host.name for host in read_hosts(path) if not host.kind.left_out]
    assert names == ["a10", "a11", "b-0.org", "b-1.org", "b-2.org", "b-7.org", "z1", "z2"]


def test_order_is_that_of_batsim(tmp_path: Path) -> None:
    """Names are compared with their numbers as numbers; equal hosts share one node type."""
    names = ["host10", "host2", "host1", "Mercury", "Earth"]
    path = write(tmp_path, "".join(f'<host id="{name}" speed="1Gf"/>' for name in names))
    assert [host.name for host in read_hosts(path)] == ["Earth", "Mercury", "host1", "host2", "host10"]
    assert [kind.name for kind in Platform.read(path).node_types] == ["Earth"]
    assert sorted(["n1-10", "n1-9", "n01-2", "n", "n1"], key=batsim_order) == ["n", "n1", "n01-2", "n1-9", "n1-10"]


def test_nodes_of_several_hosts(tmp_path: Path) -> None:
    """By the zone's property or by the option; watts and transitions add up; max_hosts takes the first ones."""
    body = '<prop id="cores_per_node" value="3"/>' + "".join(SLEEPER.format(name=i, pstate=2) for i in range(6))
    path = write(tmp_path, body)
    platform = Platform.read(path)
    (node,) = platform.node_types
    assert (platform.node_count, node.cores, node.initially_off) == (2, 3, True)
    assert dict(node.processors[0].power) == {"static_w": 90.0, "dynamic_w": 70.0, "min_power": 1.0}
    assert (node.transitions.off_w, node.transitions.switch_on_w, node.transitions.switch_on_s) == (29.25, 450.0, 20.0)
    counts = [
        Platform.read(path, **o).node_count for o in ({"cores_per_node": 1}, {"cores_per_node": 2}, {"max_hosts": 3})
    ]
    assert counts == [6, 3, 1]
    assert Platform.read(f"simgrid:{path},cores_per_node=6,time_unit=minutes").node_count == 1
    with pytest.raises(FormatError, match=r"make whole nodes of 4 cores \(cores_per_node\), found 6 hosts"):
        Platform.read(path, cores_per_node=4)


def test_files_that_count_minutes(tmp_path: Path) -> None:
    """Speeds are per minute, transitions last minutes; watts stay."""
    path = write(tmp_path, SLEEPER.format(name="a", pstate=0))
    (node,) = Platform.read(path, time_unit="minutes").node_types
    assert node.processors[0].ops_per_s == pytest.approx(1e8 / 60)
    assert (node.transitions.switch_off_s, node.transitions.switch_off_w) == (120.0, 125.0)


@pytest.mark.parametrize(
    ("text", "speed"),
    [
        ("1e9", 1e9), ("100.0Mf", 1e8), ("286.087kf", 286087.0), ("16.673E9flops", 16.673e9), ("2 Gf", 2e9),
        ("3gigaflops", 3e9), ("1.", 1.0),
    ],
)  # fmt: skip
def test_speeds(tmp_path: Path, text: str, speed: float) -> None:
    """All spellings of SimGrid's units, and the attribute's name in version 3."""
    for attribute in ("speed", "power"):
        path = write(tmp_path, f'<host id="a" {attribute}="{text}"/>')
        assert read_hosts(path)[0].kind.speeds == (pytest.approx(speed),)


def test_what_is_xml_is_known_by_content_too(tmp_path: Path) -> None:
    """Without the suffix, and gzipped."""
    text = write(tmp_path, '<host id="a" speed="1Gf"/>').read_bytes()
    (tmp_path / "machine").write_bytes(text)
    (tmp_path / "machine.gz").write_bytes(gzip.compress(text))
    assert Platform.read(tmp_path / "machine").node_count == Platform.read(tmp_path / "machine.gz").node_count == 1


def test_options_of_other_formats(tmp_path: Path) -> None:
    """Options that the format does not have are refused, and so are values that cannot be."""
    path = write(tmp_path, '<host id="a" speed="1Gf"/>')
    (tmp_path / "p.yaml").write_text("a: 1")
    for source, options in (
        (path, {"cores": 3}), (path, {"time_unit": "years"}), (path, {"max_hosts": 0}),
        (tmp_path / "p.yaml", {"time_unit": "minutes"}), ("homogeneous:nodes=1,cores=1", {"max_hosts": 1}),
    ):  # fmt: skip
        with pytest.raises(SpecError):
            Platform.read(source, **options)


def host(**attributes: str) -> str:
    """A host with these attributes; prop_x are properties."""
    plain = {"id": "a", "speed": "1Gf", **{k: v for k, v in attributes.items() if not k.startswith("prop_")}}
    props = {k.removeprefix("prop_"): v for k, v in attributes.items() if k.startswith("prop_")}
    inner = "".join(f'<prop id="{k}" value="{v}"/>' for k, v in props.items())
    return f"<host {' '.join(f'{k}={v!r}' for k, v in plain.items())}>{inner}</host>"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "expected at least one host that jobs can run on, found none"),
        (MASTER, "expected at least one host that jobs can run on, found none"),
        (host() + host(), "host 'a': expected every host once, found it twice"),
        (host(id=" "), "host: expected an attribute 'id'"),
        ('<host id="a"/>', "host 'a': expected an attribute 'speed'"),
        (host(speed="fast"), "host 'a', speed: expected operations per second such as 100.0Mf, found fast"),
        (host(speed="1e999f"), "host 'a', speed: expected a finite number >= 0, found 1e999f"),
        (host(speed="0f"), "host 'a', speed: expected more than 0 in p-state 0"),
        (host(core="0"), "host 'a', core: expected a whole number >= 1, found 0"),
        (host(pstate="1"), "host 'a', pstate: expected a p-state from 0 to 0, found 1"),
        (host(prop_watt_per_state="5"), "watt_per_state: expected idle:full or idle:epsilon:full .*, found 5"),
        (host(prop_watt_per_state="5:x"), "watt_per_state: expected a number >= 0, found x"),
        (host(prop_watt_per_state="5:1"), "watt_per_state: expected at least the idle 5 W when busy, found 1.0"),
        (host(prop_watt_off="-1"), "watt_off: expected a number >= 0, found -1"),
        (host(prop_sleep_pstates="0:0"), "sleep_pstates: expected asleep:switching off:switching on, found 0:0"),
        (host(prop_sleep_pstates="0:1:2"), "sleep_pstates: expected a p-state from 0 to 0, found 1"),
        (host(prop_sleep_pstates="0:0:0"), "sleep_pstates: expected a p-state left to compute in, found none"),
        (
            host(speed="1f,1f,0f,1f", prop_sleep_pstates="1:2:3"),
            "host 'a', speed: expected more than 0 in p-state 2, a transition",
        ),
        (
            host(speed="1f,1f", pstate="1", prop_watt_per_state="1:2"),
            "watt_per_state: expected watts for p-state 1, found 1 p-states",
        ),
        (
            host(speed="1f,1f,1f,1f", pstate="2", prop_sleep_pstates="1:2:3"),
            "pstate: expected a p-state to compute or to sleep in, found 2",
        ),
        ('<cluster id="c" radical="5-1" speed="1f"/>', "cluster 'c', radical: expected rising ranges"),
        ('<cluster id="c" radical="0-99999999" speed="1f"/>', "cluster 'c', radical: expected rising ranges, at most"),
        ('<cluster id="c" radical="" speed="1f"/>', "cluster 'c', radical: expected numbers and ranges"),
        ('<include file="/etc/passwd"/>', "include: expected a platform in one file"),
        ('<prop id="x"/>', "prop: expected attributes 'id' and 'value'"),
        ("<zone>", "expected XML, found mismatched tag"),
        ("&undefined;", "expected XML, found undefined entity"),
        ("<zone id='z'>" * 60 + "</zone>" * 60, "expected at most 50 zones within each other, found more"),
    ],
)
def test_bad_files_are_told_in_a_line(tmp_path: Path, body: str, message: str) -> None:
    """The line names the file and the host."""
    path = write(tmp_path, body)
    with pytest.raises(FormatError, match=message) as caught:
        Platform.read(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


BOMB = '<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><platform>&c;</platform>'
REMOTE = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><platform>&x;</platform>'


@pytest.mark.parametrize("text", [BOMB, REMOTE])
def test_entities_are_refused(tmp_path: Path, text: str) -> None:
    """Neither do they expand, nor is anything fetched."""
    (tmp_path / "p.xml").write_text(text)
    with pytest.raises(FormatError, match="expected XML without entities, found EntitiesForbidden"):
        Platform.read(tmp_path / "p.xml")


def test_hostile_files_end_early(tmp_path: Path) -> None:
    """A gzip file without end, nesting without end, another root, another encoding, no file."""
    (tmp_path / "bomb.xml.gz").write_bytes(gzip.compress(b" " * 30_000_000))
    (tmp_path / "deep.xml").write_text("<platform>" + "<zone id='a'>" * 100_000 + "</zone>" * 100_000 + "</platform>")
    (tmp_path / "root.xml").write_text("<svg/>")
    (tmp_path / "code.xml").write_text('<?xml version="1.0" encoding="klingon"?><platform/>')
    for name in ("bomb.xml.gz", "deep.xml", "root.xml", "code.xml", "none.xml"):
        with pytest.raises(FormatError, match=name):
            Platform.read(tmp_path / name)


# ---------------------------------------------------------------------- anything goes in, only InputError comes out


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    speed=st.text("0123456789.eE-+, kMGf", max_size=12),
    watts_text=st.text("0123456789.:,-e ", max_size=12),
    sleep=st.text("0123:, -", max_size=8),
    pstate=st.text("0123-", max_size=3),
)
def test_odd_attributes_end_in_a_line(tmp_path: Path, speed: str, watts_text: str, sleep: str, pstate: str) -> None:
    """Well-formed XML with values that may be anything."""
    body = host(speed=speed, pstate=pstate, prop_watt_per_state=watts_text, prop_sleep_pstates=sleep)
    path = tmp_path / "p.xml"
    path.write_text(f'<platform><zone id="z">{body}</zone></platform>')
    message = str(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            Platform.read(path)
        except InputError as error:
            message = str(error)
    assert str(path) in message
    assert "\n" not in message
