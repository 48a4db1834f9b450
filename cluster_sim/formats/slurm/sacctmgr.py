"""Accounts, shares, qualities of service and limits, as ``sacctmgr --parsable2`` prints them.

The tables of ``show assoc`` and ``show qos`` stand in one file, one after the other, each with its header, which names the
columns in any order. docs/guides/slurm.md says what becomes of each column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from cluster_sim.errors import FormatError, ModelWarning, warn_user
from cluster_sim.files.documents import MAX_JSON_BYTES
from cluster_sim.files.reading import read_text
from cluster_sim.formats.slurm import conf_values as values
from cluster_sim.platform.accounts import ROOT, Accounts, Association, QualityOfService
from cluster_sim.spelling import near, nearest, one_of

Value = TypeVar("Value")

_OTHER_NAMES = {
    "parname": "parentname",
    "defqos": "defaultqos",
    "fairshare": "share",
    "maxtresperjob": "maxtres",
    "maxwalldurationperjob": "maxwall",
    "maxjobsperuser": "maxjobspu",
    "maxtresperuser": "maxtrespu",
    "maxjobsperaccount": "maxjobspa",
    "maxtresperaccount": "maxtrespa",
}
_NOT_SIMULATED = frozenset(
    "grptresmins grptresrunmins grpwall grpsubmit grpsubmitjobs maxsubmit maxsubmitjobs maxtrespernode maxtresmins "
    "maxtresrunmins maxsubmitpu maxsubmitpa maxjobsaccrue grpjobsaccrue maxjobsaccruepu maxjobsaccruepa minpriothres "
    "minprio mintres minpriothresh usagethres limitfactor flags".split()
)
"""Columns that would change a schedule, and change none here: named where one is set."""
_NOT_SET = ("", "-1", "0", "00:00:00", "0.000000", "1.000000")
_READ = frozenset(
    "cluster account user partition parentname share grpjobs grptres maxjobs maxtres maxwall qos defaultqos name priority "
    "preempt preemptmode usagefactor maxjobspu maxtrespu maxjobspa maxtrespa".split()
)
_WITHOUT_EFFECT = frozenset(
    "id lft rgt lineage parentid qosraw comment description descr gracetime preemptexempttime usagethreshold "
    "maxtrespn maxtrespj maxtresminspu maxtresrunminspu maxtresrunminspa maxtresminspj".split()
)
_TRES = ("cpu", "node", "mem")


@dataclass(slots=True)
class _Row:
    """A row by the columns' names in small letters and without spaces; ``written`` are the names as the header has them."""

    place: str
    cells: Mapping[str, str]
    written: Mapping[str, str]
    unused: dict[str, None]

    def get(self, column: str, parse: Callable[[str], Value], default: Value) -> Value:
        """Return what a cell says. Raises FormatError for what ``parse`` does not understand."""
        text = self.cells.get(column, "")
        if not text:
            return default
        try:
            return parse(text)
        except ValueError as error:
            raise FormatError(f"{self.place}, {self.written[column]}", str(error), text) from None

    def tres(self, column: str) -> dict[str, float]:
        """Return the limits of resources, and note those that are not simulated."""
        found = self.get(column, values.tres, dict[str, str]())
        self.unused.update({f"{self.written[column]} {name}": None for name in found if name not in _TRES})
        limits: dict[str, float] = {}
        for name in [name for name in _TRES if found.get(name, "-1") != "-1"]:
            try:
                limits[name] = values.memory(found[name])[0] if name == "mem" else values.count(found[name])
            except ValueError as error:
                raise FormatError(f"{self.place}, {self.written[column]}, {name}", str(error), found[name]) from None
        return limits


@dataclass(slots=True)
class _Found:
    associations: list[tuple[str, Association]] = field(default_factory=list)
    qos: dict[str, QualityOfService] = field(default_factory=dict)
    clusters: dict[str, None] = field(default_factory=dict)


def read_accounts(path: str) -> Accounts:
    """Read the tables in a file. Warns (ModelWarning), in one line, of limits that are not simulated.

    Raises FormatError naming file, line and column.
    """
    found, unused = _Found(), dict[str, None]()
    for row in _rows(path, unused):
        limits = (name for name, text in row.cells.items() if name in _NOT_SIMULATED and text not in _NOT_SET)
        unused.update({row.written[name]: None for name in limits})
        if row.cells.keys() >= {"account", "user"}:
            found.associations.append((row.place, _association(row)))
            found.clusters[row.cells.get("cluster", "")] = None
        else:
            quality = _quality(row)
            if quality.name in found.qos:
                raise FormatError(f"{row.place}, Name", "every quality of service once", f"{quality.name} twice")
            found.qos[quality.name] = quality
    if not found.associations:
        raise FormatError(path, "associations: a table with the columns Account, User and ParentName", "none")
    if len(found.clusters) > 1:
        raise FormatError(f"{path}, Cluster", "the associations of one cluster", ", ".join(found.clusters))
    for place, association in found.associations:
        if found.qos and association.default_qos not in ("", *found.qos):
            expected = one_of(association.default_qos, found.qos)
            text = f"{place}: default QOS {association.default_qos!r} is not in the table of qualities; expected {expected}"
            warn_user(ModelWarning(text))
    if unused:
        warn_user(ModelWarning(f"{path}: not simulated: {', '.join(unused)}"))
    qos = tuple(found.qos.values()) or (QualityOfService("normal"),)
    return Accounts(tuple(_parents_first(found.associations)), qos)


def _rows(path: str, unused: dict[str, None]) -> Iterator[_Row]:
    names: list[str] = []
    written: dict[str, str] = {}
    for number, line in enumerate(read_text(path, MAX_JSON_BYTES).splitlines(), 1):
        if not line.strip():
            continue
        cells = line.split("|")
        # `--parsable` ends every line with a separator: the last column then has no name.
        header = [re.sub("[^a-z0-9]", "", cell.lower()) for cell in cells]
        header = [_OTHER_NAMES.get(name, name) for name in header]
        if {"account", "user"} <= set(header) or {"name", "priority"} <= set(header):
            names, written = header, dict(zip(header, (cell.strip() for cell in cells), strict=True))
            twice = next((written[name] for name in names if name and names.count(name) > 1), None)
            if twice:
                raise FormatError(f"{path} line {number}", "every column once", f"{twice} twice")
            for name in {*names} - _READ - _NOT_SIMULATED - _WITHOUT_EFFECT - {""}:
                if near(name, sorted(_READ), least=0.8):
                    text = f"{path} line {number}: column {written[name]!r} is not read; expected {nearest(name, sorted(_READ))}"
                    warn_user(ModelWarning(text))
        elif not names:
            expected = "a header with Account and User, or with Name and Priority (sacctmgr --parsable2, no --noheader)"
            raise FormatError(f"{path} line {number}", expected, line)
        elif len(cells) != len(names):
            raise FormatError(f"{path} line {number}", f"{len(names)} columns, as in the header", len(cells))
        else:
            place = f"{path} line {number}"
            yield _Row(place, dict(zip(names, (c.strip() for c in cells), strict=True)), written, unused)


def _association(row: _Row) -> Association:
    account, user = row.cells["account"].lower(), row.cells["user"].lower()
    if not account:
        raise FormatError(f"{row.place}, {row.written['account']}", "the name of an account", "none")
    parent = row.cells.get("parentname", "").lower() or "root"
    above = "" if user or account == "root" else parent
    default_shares: int | None = 0 if account == "root" and not user else 1
    return Association(
        account,
        user,
        above,
        row.cells.get("partition", "") if user else "",
        shares=row.get("share", lambda text: None if text.lower() == "parent" else values.whole(text), default_shares),
        default_qos=row.cells.get("defaultqos", "").lower(),
        grp_jobs=row.get("grpjobs", _most, math.inf),
        grp_tres=row.tres("grptres"),
        max_jobs=row.get("maxjobs", _most, math.inf),
        max_tres=row.tres("maxtres"),
        max_wall_s=row.get("maxwall", _wall, math.inf),
    )


def _quality(row: _Row) -> QualityOfService:
    if not row.cells["name"]:
        raise FormatError(f"{row.place}, {row.written['name']}", "the name of a quality of service", "none")
    mode = row.cells.get("preemptmode", "").upper()
    return QualityOfService(
        row.cells["name"].lower(),
        row.get("priority", values.whole, 0),
        row.get("usagefactor", _factor, 1.0),
        frozenset(filter(None, row.cells.get("preempt", "").lower().split(","))),
        "" if mode == "CLUSTER" else mode,
        row.get("preemptexempttime", values.duration, None),
        row.get("gracetime", values.duration, 0.0),
        grp_jobs=row.get("grpjobs", _most, math.inf),
        grp_tres=row.tres("grptres"),
        max_jobs_per_user=row.get("maxjobspu", _most, math.inf),
        max_tres_per_user=row.tres("maxtrespu"),
        max_jobs_per_account=row.get("maxjobspa", _most, math.inf),
        max_tres_per_account=row.tres("maxtrespa"),
        max_tres=row.tres("maxtres"),
        max_wall_s=row.get("maxwall", _wall, math.inf),
    )


def _parents_first(rows: list[tuple[str, Association]]) -> list[Association]:
    """Return the root, and every account before what is below it, else in the order of the file."""
    places: dict[tuple[str, str, str], str] = {}
    below: dict[str, list[Association]] = {}
    for place, a in rows:
        if places.setdefault((a.account, a.user, a.partition), place) != place:
            raise FormatError(place, "every association once", f"account {a.account}, user {a.user or 'none'} twice")
        above = a.account if a.user else a.parent
        if above:
            below.setdefault(above, []).append(a)
    for place, a in rows:
        above = a.account if a.user else a.parent
        if above not in ("", "root") and (above, "", "") not in places:
            raise FormatError(f"{place}, {'Account' if a.user else 'ParentName'}", "an account that has a row", above)
    ordered = [next((a for _, a in rows if a.account == "root" and not a.user), ROOT)]
    for a in ordered:  # grows meanwhile
        if not a.user:
            ordered += below.pop(a.account, [])
    if below:
        account = next(iter(below))
        place = next(place for place, a in rows if not a.user and a.account == account)
        raise FormatError(f"{place}, ParentName", "an account that is not below itself", account)
    return ordered


def _most(text: str) -> float:
    return math.inf if text == "-1" else float(values.whole(text))


def _wall(text: str) -> float:
    seconds = values.duration(text)
    return math.inf if math.isnan(seconds) else seconds


def _factor(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise ValueError("a number, 0 or more")
    return float(text)
