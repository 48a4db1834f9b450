"""The commands that made the accounts of a recorded run, as the tables that sacctmgr prints of them."""

from __future__ import annotations

_ASSOCIATION = "Account|User|ParentName|Share|DefaultQOS|GrpJobs|GrpTRES|MaxJobs"
_QOS = "Name|Priority|Preempt|PreemptMode|MaxJobsPU|GrpTRES"


def sacctmgr_output(commands: list[str]) -> str:
    """What ``sacctmgr -P show assoc`` and ``show qos`` print after these commands."""
    rows: dict[tuple[str, str], dict[str, str]] = {("root", ""): {}, ("root", "root"): {}}  # what a new database has
    qos: dict[str, dict[str, str]] = {"normal": {}}
    for command in commands:
        what, kind, name, *options = command.split()
        pairs = dict(option.split("=", 1) for option in options if "=" in option)
        if kind == "qos":
            qos.setdefault(name, {}).update(pairs)
        elif what == "add":
            key = (name, "") if kind == "account" else (pairs["Account"], name)
            rows[key] = {**pairs, "ParentName": pairs.get("Parent", "root") if kind == "account" else ""}
    lines = [_ASSOCIATION]
    for (account, user), said in rows.items():
        columns = ("ParentName", "Fairshare", "DefaultQOS", "GrpJobs", "GrpTRES", "MaxJobs")
        lines.append("|".join([account.lower(), user, *(said.get(column, "").lower() for column in columns)]))
    lines.append(_QOS)
    for name, said in qos.items():
        of_qos = ("Priority", "Preempt", "PreemptMode", "MaxJobsPerUser", "GrpTRES")
        lines.append("|".join([name, *(said.get(column, "") for column in of_qos)]))
    return "\n".join(lines) + "\n"
