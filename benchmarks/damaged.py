"""Damaged files of every format: each is read, or refused in one line that names the file; never anything else.

::

    python -m benchmarks.damaged --cases 1000 --seed 7           # of all formats in turn
    python -m benchmarks.damaged --cases 200 --format agent      # of one
    python -m benchmarks.damaged --cases 20000 --detectable      # damage that must be told by name, see benchmarks.detectable

A *sample* is a right file, or a folder of files, and what the toolkit does with it: reads it, describes it, and uses it in
a small run, a chart or a table, as far as it goes. A *case* is a sample with one file damaged by a generator that its number
seeds, so that every case can be had again. What is found is printed by kind, with the numbers of its cases.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from benchmarks.detectable import formats, report
from benchmarks.format_samples import Sample, samples, signed
from cluster_sim import InputError

LIMIT_S = 20.0
MEMORY = 12 * 2**30

# ---------------------------------------------------------------------- damage

_DEEP: Any = "x"
for _ in range(800):
    _DEEP = [_DEEP]

VALUES: list[Any] = [
    None, True, False, -1, 0, 1, 2**31, 2**53, 2**63, 2**64, -(2**70), 10**400, 0.1, 1.5, 1e308, -1e308, 1e-320,
    float("nan"), float("inf"), "", " ", "x", "x" * 500, "nan", "inf", "-5", "1e999", "1_000", "9" * 5000, "\u0663", "½",
    "\ud800", "a\u202eb", "a\nb", "a\x00b", "a,b", '"', "../../x", "/dev/zero", "/dev/stdin", ".", "learned:.",
    "replay:/dev/zero", "list:*/*", "homogeneous:nodes=999999999,cores=9", "lublin:jobs=3,nodes=1e9",
    "scorer:hidden=-1", "2020-99-99", [], {}, [[]], [1, "a", None], {"a": 1}, {"": {}}, _DEEP,
]  # fmt: skip
FRAGMENTS = [
    b"nan", b"1e400", b"-1", b"{", b"}", b"[", b"]", b'"', b"null", b"\xff\xfe", b"\x00", b"9" * 5000, b"<", b">", b"&x;",
    b":", b"=", b"\n", b",", b"true", b"\r", b"- ", b"&a *a", b"\xc2\xb2", b"\xed\xa0\x80", b"\\ud800", b"\xef\xbb\xbf",
    b"1e308", b"#", b"!!python/name:os.x ", b"[" * 2000, b";", b"'", b"\t", b"0x10", b"\xe2\x80\xae", b"1:2:3",
    b"0-999999999", b"\x1f\x8b",
]  # fmt: skip
_TOKEN = re.compile(rb'"[^"\n]*"|[-+]?[0-9][-+.0-9eE]*|[A-Za-z_][A-Za-z_0-9.]*')


def damaged(content: bytes, rng: random.Random) -> bytes:
    """The content of a file after one or a few mishaps."""
    if content.startswith(b"\x1f\x8b") and rng.random() < 0.7:
        return gzip.compress(damaged(gzip.decompress(content), rng), mtime=0)
    if rng.random() < 0.5:
        changed = _changed_document(content, rng)
        if changed is not None:
            return changed
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        content = rng.choice(_MISHAPS)(content, rng)
    return content


def _flip(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return content
    place = rng.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _delete(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[:place] + content[place + rng.randrange(1, 30) :]


def _insert(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content) + 1)
    return content[:place] + rng.choice(FRAGMENTS) + content[place + rng.choice([0, 0, 1, 5]) :]


def _lines(content: bytes, rng: random.Random) -> bytes:
    """A line twice, not at all, or in another place."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    place, what = rng.randrange(len(lines)), rng.randrange(3)
    line = lines[place] if what == 0 else lines.pop(place)
    if what != 1:
        lines.insert(rng.randrange(len(lines) + 1), line)
    return b"".join(lines)


def _token(content: bytes, rng: random.Random) -> bytes:
    """A number, a word or a text replaced by another value."""
    found = list(_TOKEN.finditer(content))
    if not found:
        return content
    match, value = rng.choice(found), rng.choice(VALUES)
    if rng.random() < 0.4:  # another value of the same file
        return content[: match.start()] + rng.choice(found)[0] + content[match.end() :]
    text = value if isinstance(value, str) and match[0][:1] != b'"' else json.dumps(value)
    return content[: match.start()] + text.encode(errors="surrogatepass") + content[match.end() :]


def _nothing(content: bytes, rng: random.Random) -> bytes:
    return rng.choice([b"", b"\n", b"\xef\xbb\xbf", b"{}", b"[]", b"null", b"a,b\n"])


_MISHAPS = (_flip, _cut, _delete, _insert, _lines, *[_token] * 8, _nothing)


def _changed_document(content: bytes, rng: random.Random) -> bytes | None:
    """A JSON or YAML document with one of its parts replaced, left out, or given another name; None for other files."""
    try:
        document = yaml.safe_load(content) if content[:1] not in b"{[" else json.loads(content)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    places = list(_places(document))
    if not places:
        return None
    for _ in range(rng.choice([1, 1, 2])):
        holder, key = rng.choice(places)
        what = rng.random()
        if isinstance(holder, list) and key >= len(holder):  # something before it was left out
            continue
        if what < 0.3:
            other, its = rng.choice(places)
            holder[key] = other[its] if its in _keys(other) else None
        elif what < 0.65:
            holder[key] = rng.choice(VALUES)
        elif what < 0.85 and key in _keys(holder):
            del holder[key]
        elif isinstance(holder, dict):
            holder[rng.choice(["unknown", "", "id", "type", "\ud800"])] = rng.choice(VALUES)
        else:
            holder.append(rng.choice(VALUES))
    try:
        return json.dumps(document).encode()
    except (ValueError, RecursionError):  # a part of itself, or deeper than JSON can be written
        return None


def _keys(holder: Any) -> Any:
    return holder if isinstance(holder, dict) else range(len(holder))


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every (mapping or list, key or index) in a document."""
    if isinstance(document, dict | list):
        for key in _keys(document):
            yield document, key
            yield from _places(document[key])


# ---------------------------------------------------------------------- cases


class _TooSlow(BaseException):
    """Not an Exception, which what is tried might handle."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def put(sample: Sample, name: str, number: int, seed: int, folder: Path) -> None:
    """Leave the files of a case in a folder."""
    rng = random.Random(f"{seed} {name} {number}")
    files = dict(sample.files)
    hurt = rng.choice(sample.damage or tuple(files))
    files[hurt] = damaged(files[hurt], rng)
    if name == "agent" and rng.random() < 0.7:
        files = signed(files)
    shutil.rmtree(folder, ignore_errors=True)
    for place, content in files.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(content)


def fault(sample: Sample, folder: Path, limit_s: float = LIMIT_S) -> str:
    """What happened with the files in the folder that may not: a kind of fault, or "" where they were read or refused."""
    np.seterr(all="warn")
    try:
        with _limited(limit_s), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            sample.use(str(folder / sample.given) if sample.given else str(folder))
    except InputError as error:
        text = str(error)
        if not text.isprintable():
            return f"a message of more than a line: {ascii(text)[:300]}"
        return "" if str(folder) in text else f"a message that names no file: {text[:300]}"
    except _TooSlow:
        return f"more than {limit_s:g} s"
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [
            frame for frame in frames if "site-packages" not in frame.filename and "/lib/python" not in frame.filename
        ]
        at = own[-1] if own else frames[-1]
        return f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}: {ascii(str(error))[:200]}"
    raw = [one for one in told if issubclass(one.category, (RuntimeWarning, pd.errors.ParserWarning))]
    return (
        f"a warning of a library: {ascii(str(raw[0].message))[:200]} at {Path(raw[0].filename).name}:{raw[0].lineno}"
        if raw
        else ""
    )


def try_cases(name: str, numbers: range, seed: int, keep: Path | None = None) -> dict[str, list[int]]:
    """Try these cases of a format; faults with the numbers of their cases."""
    sample, found = samples()[name], dict[str, list[int]]()
    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside, "case")
        for number in numbers:
            put(sample, name, number, seed, folder)
            wrong = fault(sample, folder)
            if wrong:
                found.setdefault(wrong, []).append(number)
                if keep is not None:
                    put(sample, name, number, seed, keep / f"{name.replace(' ', '-')}-{seed}-{number}")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Try cases of one format or of all, and print the faults; exit status 1 where there is one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.damaged", description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=list(dict.fromkeys([*samples(), *formats()])), help="one only")
    parser.add_argument(
        "--detectable", action="store_true", help="damage that must be told by name; doubled values apart"
    )
    parser.add_argument("--keep", type=Path, help="a folder for the files of cases with faults")
    chosen = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.stdin.close()
    if chosen.detectable:
        return report([chosen.format] if chosen.format else list(formats()), chosen.cases, chosen.seed)
    names = [chosen.format] if chosen.format else list(samples())
    each = -(-chosen.cases // len(names))
    faults = 0
    for name in names:
        found = try_cases(name, range(each), chosen.seed, chosen.keep)
        faults += sum(map(len, found.values()))
        print(f"{name}: {each} cases, {sum(map(len, found.values()))} faults", flush=True)
        for wrong, numbers in sorted(found.items(), key=lambda item: -len(item[1])):
            print(f"  {len(numbers):4d} × {wrong} (cases {', '.join(map(str, numbers[:3]))})", flush=True)
    print(f"{each * len(names)} cases of {len(names)} formats, seed {chosen.seed}: {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
