"""The own YAML/JSON format: what it says is what is built, round trips, and bad input in one line."""

from __future__ import annotations

import copy
import gzip
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim.errors import FormatError, InputError, ModelWarning
from cluster_sim.platform import Cluster, NodeGroup, NodeType, Platform, PowerTransitions, ProcessorType

MANUAL = Path(__file__).parents[2] / "docs" / "reference" / "platform-format.md"


def example() -> str:
    """The example of the manual."""
    match = re.search(r"```yaml\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    return match[1]


def write(folder: Path, content: str | bytes, name: str = "p.yaml") -> Path:
    """A file with that content."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_the_manuals_example(tmp_path: Path) -> None:
    """Every key of the example arrives where it belongs."""
    platform = Platform.read(write(tmp_path, example()))
    assert (platform.id, platform.contention_model, platform.power_model) == ("lab", "piecewise", "linear")
    assert platform.node_names()[-2:] == ["east.node11", "cluster1.node0"]
    assert (platform.node_count, platform.core_count) == (13, 9 * 16 + 4 * 64)
    thin, fat = platform.node_types
    assert thin.transitions == PowerTransitions(9, 60, 125, 180, 101)
    assert (thin.memory_gb, thin.initially_off, thin.tags) == (64, True, {"thin", "ib"})
    assert (fat.memory_gb, fat.initially_off, fat.tags, fat.transitions) == (None, False, set(), PowerTransitions())
    fast, wide = platform.processor_types
    assert fast.power == {"static_w": 68.81168, "dynamic_w": 6.49348, "min_power": 0.3959}
    assert fast.contention == {"b": -1.85e-5, "c": 32000, "da": 1, "db": 500, "dc": 25000, "dd": 500}
    assert (wide.cores, wide.clock_ghz, wide.flops_per_cycle, dict(wide.contention)) == (64, 3.0, 1, {})


@pytest.mark.parametrize("name", ["p.yaml", "p.yml", "p.json", "p.yaml.gz", "p.json.gz", "platform"])
def test_every_spelling_of_the_file(tmp_path: Path, name: str) -> None:
    """YAML, JSON, compressed or not, or without a suffix: the same platform comes back."""
    platform = Platform.read(write(tmp_path, example()))
    platform.write(tmp_path / name)
    assert Platform.read(tmp_path / name) == platform
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_compressed_files_are_told_by_content(tmp_path: Path) -> None:
    """A gzip file without the suffix reads all the same."""
    plain = Platform.read(write(tmp_path, example()))
    assert Platform.read(write(tmp_path, gzip.compress(example().encode()), "q.yaml")) == plain


names = st.text(st.characters(categories=("L", "N", "P", "S"), include_characters=" "), min_size=1, max_size=8)
names = names.filter(lambda name: name.strip() and name.isprintable())
watts = st.floats(0, 1e6)


@st.composite
def platforms(draw: st.DrawFn) -> Platform:
    """Platforms of up to three processor types, three node types and three clusters."""
    processors = [
        ProcessorType(
            name,
            draw(st.integers(1, 10**6)),
            draw(st.floats(1e-6, 1e6)),
            draw(st.floats(1e-3, 1e3)),
            draw(
                st.just({})
                | st.fixed_dictionaries({"static_w": watts, "dynamic_w": watts, "min_power": st.floats(0, 1)})
            ),
            draw(
                st.just({})
                | st.fixed_dictionaries(
                    {"b": st.floats(-1e6, -1e-300), "c": watts, "da": watts, "db": watts, "dc": watts, "dd": watts}
                )
            ),
        )
        for name in draw(st.lists(names, min_size=1, max_size=3, unique=True))
    ]
    transitions = st.builds(PowerTransitions, watts, watts, st.none() | watts, watts, st.none() | watts)
    nodes = [
        NodeType(
            name,
            tuple(draw(st.lists(st.sampled_from(processors), min_size=1, max_size=5))),
            draw(st.none() | watts),
            draw(transitions),
            draw(st.booleans()),
            draw(st.frozensets(names, max_size=3)),
        )
        for name in draw(st.lists(names, min_size=1, max_size=3, unique=True))
    ]
    groups = st.lists(st.builds(NodeGroup, st.sampled_from(nodes), st.integers(0, 3)), max_size=4)
    ids = st.text("abcXYZ019._-", min_size=1, max_size=8)
    clusters = [Cluster(f"{name}x", tuple(draw(groups))) for name in draw(st.lists(ids, max_size=3, unique=True))]
    clusters.append(Cluster("last", (NodeGroup(nodes[0], draw(st.integers(1, 5))),)))
    return Platform(tuple(clusters), draw(names), draw(st.sampled_from(["piecewise", "none", "piecewise:k=1"])))


@settings(max_examples=40, deadline=None)
@given(platform=platforms(), name=st.sampled_from(["p.yaml", "p.json", "p.yaml.gz"]))
@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
def test_what_is_written_reads_back_equal(platform: Platform, name: str) -> None:
    """Any platform survives a file, whatever its names and numbers."""
    with tempfile.TemporaryDirectory() as folder:
        platform.write(Path(folder) / name)
        assert Platform.read(Path(folder) / name) == platform


def test_watts_that_a_script_left_out_are_written_as_0(tmp_path: Path) -> None:
    """In Python only the dynamic watts are given: the file has the others too, or it could not be read again."""
    platform = Platform.homogeneous(2, 4, power={"dynamic_w": 5.0})
    platform.write(tmp_path / "p.yaml")
    assert Platform.read(tmp_path / "p.yaml").processor_types[0].power == {
        "static_w": 0.0,
        "dynamic_w": 5.0,
        "min_power": 0.0,
    }


def test_parameters_of_several_power_models_in_one_file(tmp_path: Path) -> None:
    """A platform that is compared under linear and polynomial power has the parameters of both, and is read so."""
    power = {"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.5, "idle_w": 4.0, "p00": 9.0, "p11": 1.0}
    platform = Platform.homogeneous(2, 4, power=power)
    platform.write(tmp_path / "p.yaml")
    assert Platform.read(tmp_path / "p.yaml") == platform


@pytest.mark.parametrize("model", ["stall-aware:0.25", "idle", "baseline", "polynomial"])
def test_parameters_of_every_power_model_of_our_own_are_checked(tmp_path: Path, model: str) -> None:
    """Also of those that are not the default: negative watts would be negative energy."""

    def refused(power: dict[str, float], words: str) -> None:
        document = yaml.safe_load(example()) | {"power_model": model}
        document["processor_types"]["fast-8"] |= {"power": power, "p_states": []}
        path = write(tmp_path, json.dumps(document), "p.json")
        with pytest.raises(FormatError, match=words):
            Platform.read(path)

    whole = {"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.5}
    refused({**whole, "statc_w": 10.0}, r"fast-8\.power: expected key 'static_w'.*, found statc_w")
    if model == "polynomial":
        refused({**whole, "idle_w": -1.0}, r"power\.idle_w: expected a finite non-negative number, found -1")
        return
    refused({**whole, "static_w": -40.0}, r"power\.static_w: expected a finite non-negative number, found -40")
    refused({**whole, "min_power": 2.0}, r"power\.min_power: expected a fraction from 0 to 1, found 2")
    refused({"static_w": 10.0, "dynamic_w": 2.0}, r"fast-8\.power: expected key 'min_power'")


def test_meaningless_contention_warns_once_per_processor(tmp_path: Path) -> None:
    """dc - n·dd falls to zero: the platform loads, and says which processor and which n."""
    document = yaml.safe_load(example())
    document["processor_types"]["wide-64"]["contention"] = document["processor_types"]["fast-8"]["contention"]
    with pytest.warns(ModelWarning, match=r"'wide-64'.*n = 50 ") as caught:
        Platform.read(write(tmp_path, json.dumps(document), "p.json"))
    assert len(caught) == 1


# A change to the manual's example (path of keys, new value), and what the message has to say.
WRONG_VALUES: list[tuple[str, Any, str]] = [
    ("processor_types.fast-8.cores", 0, "'fast-8', cores: expected an integer from 1"),
    ("processor_types.fast-8.cores", -4, "'fast-8', cores: expected an integer from 1"),
    ("processor_types.fast-8.cores", 2.5, "processor_types.fast-8.cores: expected a valid integer"),
    ("processor_types.fast-8.cores", True, "processor_types.fast-8.cores: expected a valid integer"),
    ("processor_types.fast-8.cores", "8", 'processor_types.fast-8.cores: expected a valid integer, found "8"'),
    ("processor_types.fast-8.cores", 10**400, "cores: expected an integer from 1 to 100000000"),
    ("processor_types.fast-8.clock_ghz", 0, "'fast-8', clock_ghz: expected a finite positive number, found 0"),
    ("processor_types.fast-8.clock_ghz", 10**400, "clock_ghz"),
    ("processor_types.fast-8.clock_ghz", None, "processor_types.fast-8.clock_ghz: expected a valid number"),
    ("processor_types.fast-8.clock_ghz", [1], "clock_ghz: expected a valid number, found a list"),
    ("processor_types.fast-8.power.static_w", -1, "power.static_w: expected a finite non-negative number, found -1"),
    ("processor_types.fast-8.power.min_power", 1.5, "power.min_power: expected a fraction from 0 to 1, found 1.5"),
    ("processor_types.fast-8.power.static", 5, "processor_types.fast-8.power: expected key 'static_w', found static"),
    ("processor_types.fast-8.power", {"static_w": 1}, "processor_types.fast-8.power: expected key 'dynamic_w'"),
    ("processor_types.fast-8.contention.b", 0, "contention.b: expected a negative number"),
    ("processor_types.fast-8.contention", {"b": -1}, "contention: expected all of b, c, da, db, dc, dd, found no c"),
    ("processor_types.fast-8.clock", 3, "processor_types.fast-8: expected key 'clock_ghz', found clock"),
    ("processor_types", {}, "processor_types: expected at least one entry"),
    ("processor_types", [1], "processor_types: expected a mapping, found a list"),
    ("node_types.thin.processors", [], "'thin', number of processors: expected an integer from 1"),
    ("node_types.thin.processors", "fast-8", "node_types.thin.processors: expected a list"),
    ("node_types.thin.processors", [{"type": "fast"}], "thin.processors[0].type: expected one of the processor types"),
    ("node_types.thin.processors", [{"type": "fast-8", "count": 10**9}], "thin.processors[0].count: expected"),
    ("node_types.thin.processors", [{"count": 1}], "node_types.thin.processors[0]: expected key 'type'"),
    ("node_types.thin.memory_gb", -1, "'thin', memory_gb: expected a finite non-negative number, found -1"),
    ("node_types.thin.memory_gb", "64GB", "node_types.thin.memory_gb: expected a valid number, found 64GB"),
    (
        "node_types.thin.transitions.switch_on_s",
        -1,
        "node_types.thin.transitions.switch_on_s: expected a finite non-negative number",
    ),
    (
        "node_types.thin.transitions.switch_on",
        1,
        "thin.transitions: expected key 'switch_on_w' or 'switch_on_s', found switch_on",
    ),
    ("node_types.thin.tags", [1], "node_types.thin.tags[0]: expected a valid string, found 1"),
    ("clusters", [], "clusters: expected at least one entry"),
    ("clusters", [{"nodes": []}], "nodes: expected an integer from 1 to 10000000, found 0"),
    ("clusters", [{"nodes": [{"type": "thick"}]}], "clusters[0].nodes[0].type: expected one of the node types thin"),
    ("clusters", [{"nodes": [{"type": "fat", "count": -1}]}], "type 'fat', count: expected an integer from 0"),
    ("clusters", [{"nodes": [{"type": "fat", "count": 10**8}]}], "count: expected an integer from 0 to 10000000"),
    ("clusters", [{"id": "a b", "nodes": [{"type": "fat"}]}], "cluster 'a b': expected an id without spaces"),
    ("clusters", [{"id": "a", "nodes": [{"type": "fat"}]}] * 2, "expected different cluster ids, found 'a' twice"),
    ("cluster", [], "expected key 'clusters', found cluster"),
    ("id", 5, "id: expected a valid string, found 5"),
    ("contention_model", "gompertzz", "contention model: expected one of"),
    ("power_model", "", "expected name"),
]


@pytest.mark.parametrize(("key", "value", "expected"), WRONG_VALUES)
def test_wrong_values(tmp_path: Path, key: str, value: object, expected: str) -> None:
    """Each kind of wrong value is told in one line with file, key, expectation and what was found."""
    document = yaml.safe_load(example())
    *parents, last = key.split(".")
    entry = document
    for parent in parents:
        entry = entry[parent]
    entry[last] = copy.deepcopy(value)
    path = write(tmp_path, json.dumps(document), "p.json")
    with pytest.raises(FormatError) as caught:
        Platform.read(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert expected in message
    assert "\n" not in message


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{b}: &{b} [*{a},*{a},*{a},*{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
WRONG_FILES: list[tuple[str, bytes, str]] = [
    ("p.yaml", b"", "an empty file"),
    ("p.json", b" \n ", "an empty file"),
    ("p.json", b"\x00\xff\xfe\x01", "text in UTF-8"),
    ("p.yaml", b"\x00\x01\x02", "line 1: expected text, found binary data"),
    ("p.yaml", b"a: \x01", "YAML"),
    ("p.json", b'{"clusters": [', "line 1 column 15: expected JSON"),
    ("p.json", b'{"clusters": NaN}', "finite numbers, found NaN"),
    ("p.json", b'{"clusters": -Infinity}', "finite numbers, found -Infinity"),
    ("p.json", b'{"id": "a", "id": "b"}', "every key once in an object, found 'id' twice"),
    ("p.json", b'{"id": ' + b"1" * 5000 + b"}", "numbers of a reasonable length"),
    ("p.json", b"[" * 100_000, "reasonable depth"),
    ("p.json", b'{"\\ud800": 1}', "printable"),
    ("p.json", b"[1, 2]", "a platform"),
    ("p.json", b"7", "a platform"),
    ("p.json", b'"platform"', "a platform"),
    ("p.json", b"{}", "a platform"),
    ("p.yaml", b"a: 1\na: 2\n", "line 2: expected YAML, found key 'a' twice"),
    ("p.yaml", b"a: [1, 2\n", "line 2: expected YAML, here ',' or ']'"),
    ("p.yaml", b"!!python/object/apply:os.system ['true']\n", "YAML"),
    ("p.yaml", BOMB.encode(), "line 2: expected no aliases"),
    ("p.yaml", b"a: &a {b: 1}\nc: {<<: *a}\n", "expected no aliases"),
    ("p.yaml", b"[" * 100_000, "at most 50 levels"),
    ("p.yaml", b"{[1]: 2}\n", "plain keys"),
    ("p.yaml", b"a: 2020-99-99\n", "YAML"),
    ("p.yaml", b"- x\n" * 400_000, "at most 1048576 bytes of YAML"),
    ("p.yaml", b"--- 1\n--- 2\n", "YAML"),
    ("p.json.gz", gzip.compress(b"{}", mtime=0)[:-6], "a complete gzip file"),
    ("p.json.gz", gzip.compress(b" " * 40_000_000, mtime=0), "at most 16777216 bytes"),
    ("p.json.gz", b"\x1f\x8b\x08junk", "a complete gzip file"),
    ("p.xml", b"<platform/>", "at least one host that jobs can run on"),
]


@pytest.mark.parametrize(("name", "content", "expected"), WRONG_FILES, ids=range(len(WRONG_FILES)))
def test_wrong_files(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    """Files that are no documents, or hostile ones, end in one line that names them."""
    path = write(tmp_path, content, name)
    with pytest.raises(FormatError) as caught:
        Platform.read(path)
    assert str(caught.value).startswith(str(path))
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_infinity_by_overflow(tmp_path: Path) -> None:
    """1e400 is a number to the parser and infinity to the machine: refused."""
    for name, text in (("p.yaml", example().replace("4.2", "1e400")), ("q.yaml", example().replace("4.2", ".nan"))):
        with pytest.raises(FormatError, match="'fast-8', clock_ghz: expected a finite positive number"):
            Platform.read(write(tmp_path, text, name))


def test_absent_files_and_folders(tmp_path: Path) -> None:
    """A path that is no file is the user's mistake, not ours; nor can one be written where there is no folder."""
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(FormatError, match="a readable file"):
            Platform.read(path)
    with pytest.raises(InputError):
        Platform.homogeneous(1, 1).write(tmp_path / "no" / "p.yaml")
