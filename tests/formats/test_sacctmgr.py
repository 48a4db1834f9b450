"""Accounts, shares, qualities of service and limits, as sacctmgr prints them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from cluster_sim import Workload
from cluster_sim.errors import FormatError, ModelWarning
from cluster_sim.formats.slurm.sacctmgr import read_accounts
from cluster_sim.platform.accounts import Accounts

OUTPUT = """\
Cluster|Account|User|Partition|Par Name|Share|GrpJobs|GrpTRES|MaxJobs|MaxTRES|MaxWall|QOS|Def QOS|
lab|bio|||root|60||cpu=64,mem=1T|||1-00:00:00|normal||
lab|bio|Ann|||10||||node=4|02:00:00|high,normal|high|
lab|bio|bob|fat||parent|||7|||normal||
lab|root||||1||||||normal||
lab|lab2|||bio|parent|3|||||normal||
Name|Priority|Preempt|PreemptMode|UsageFactor|GrpTRES|MaxTRESPU|MaxJobsPU|MaxWall|
normal|0||cluster|1.000000|||||
High|100|normal,low|cancel|2.500000|node=3|cpu=32|2||
"""


def read(tmp_path: Path, text: str) -> Accounts:
    """What a file with this text says."""
    (tmp_path / "accounts.txt").write_text(text)
    return read_accounts(str(tmp_path / "accounts.txt"))


def test_both_tables_in_one_file(tmp_path: Path) -> None:
    """Associations, the root first and every account before what is below it; limits in numbers, s and MB; and qualities."""
    accounts = read(tmp_path, OUTPUT)
    assert [(a.account, a.user, a.partition, a.shares) for a in accounts.associations] == [
        ("root", "", "", 1), ("bio", "", "", 60), ("bio", "ann", "", 10), ("bio", "bob", "fat", None), ("lab2", "", "", None),
    ]  # fmt: skip
    assert accounts.parents == (-1, 0, 1, 1, 1)
    bio, ann, bob, lab2 = accounts.associations[1:]
    assert (bio.grp_tres, bio.max_wall_s) == ({"cpu": 64, "mem": 1024 * 1024}, 86400)
    assert (ann.max_tres, ann.max_wall_s, ann.default_qos) == ({"node": 4}, 7200, "high")
    assert (bob.max_jobs, lab2.grp_jobs, ann.max_jobs) == (7, 3, math.inf)
    normal, high = accounts.qos
    assert (high.name, high.priority, high.preempts, high.preempt_mode) == ("high", 100, {"normal", "low"}, "CANCEL")
    assert (high.usage_factor, high.max_jobs_per_user) == (2.5, 2)
    assert (high.grp_tres, high.max_tres_per_user) == ({"node": 3}, {"cpu": 32})
    assert (normal.preempt_mode, normal.max_wall_s) == ("", math.inf)


def test_whose_association(tmp_path: Path) -> None:
    """With an account, or the first that a user has; one for the job's partition goes first; -1 for strangers."""
    accounts = read(
        tmp_path, "Account|User|Partition\na||\nb||\nb|ann|\na|ann|fat\na|bob|fat\n",
    )  # fmt: skip
    where = {i: (a.account, a.user, a.partition) for i, a in enumerate(accounts.associations)}
    assert where[accounts.find("ann")] == ("b", "ann", "")
    assert where[accounts.find("Ann", "B", "fat")] == ("b", "ann", "")
    assert where[accounts.find("ann", "", "fat")] == ("a", "ann", "fat")
    assert accounts.find("bob", "a", "thin") == accounts.find("eve") == -1


def test_accounts_under_the_names_of_an_anonymised_log(tmp_path: Path) -> None:
    """Users and accounts as the log has them, others numbered on; order, shares and limits stay. Twice is as once."""
    accounts = read(tmp_path, OUTPUT)
    jobs = {"submit_time": [0.0, 1.0, 2.0], "requested_cores": [1] * 3, "recorded_run_time": [9.0] * 3}
    log = Workload(jobs | {"user": ["eve", "ANN", "ann"], "account": ["new", "bio", "Bio"]}).anonymised()
    assert log.jobs[["user", "account"]].values.tolist() == [["u1", "a1"], ["u2", "a2"], ["u2", "a2"]]
    renamed = accounts.renamed(log.aliases)
    assert [(a.account, a.user, a.parent) for a in renamed.associations] == [
        ("root", "", ""), ("a2", "", "root"), ("a2", "u2", ""), ("a2", "u3", ""), ("a3", "", "a2"),
    ]  # fmt: skip
    assert renamed.parents == accounts.parents
    assert renamed.qos == accounts.qos
    assert renamed.associations[1].grp_tres == {"cpu": 64, "mem": 1024 * 1024}
    assert renamed.find("u2", "a2") == accounts.find("ann", "bio")
    assert renamed.renamed(log.aliases) == renamed
    assert accounts.renamed(log.first(1).anonymised().aliases) == accounts  # eve has no association
    again = log.slice(1.0, 9.0).anonymised()
    assert again.jobs["user"].tolist() == ["u1", "u1"]
    assert accounts.renamed(again.aliases).find("u1", "a1") == accounts.find("ann", "bio")


def test_the_root_may_have_jobs(tmp_path: Path) -> None:
    """Then it is renamed as others are, also where it is above them."""
    accounts = read(tmp_path, "Account|User\nroot|root\nbio|\nbio|ann\n")
    aliases = {"user": {"ann": "u1", "root": "u2"}, "account": {"bio": "a1", "root": "a2"}}
    renamed = accounts.renamed(aliases)
    assert [(a.account, a.user, a.parent) for a in renamed.associations] == [
        ("a2", "", ""), ("a2", "u2", ""), ("a1", "", "a2"), ("a1", "u1", ""),
    ]  # fmt: skip
    assert renamed.parents == accounts.parents


def test_what_is_not_simulated_is_told_once(tmp_path: Path) -> None:
    """Limits that are set and not followed, by the names of their columns."""
    text = "Account|User|GrpTRES|GrpSubmit|MaxTRESMins\na||gres/gpu=4,cpu=8|5|\nb||gres/gpu=2||\n"
    with pytest.warns(ModelWarning, match=r"accounts.txt: not simulated: GrpSubmit, GrpTRES gres/gpu$"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Name|Priority\nq|1\n",
            "accounts.txt: expected associations: a table with the columns Account, User and ParentName, found none",
        ),
        ("a|b\n", "line 1: expected a header with Account and User"),
        ("Account|User\na\n", "line 2: expected 2 columns, as in the header, found 1"),
        ("Account|User|User\n", "line 1: expected every column once, found User twice"),
        ("Account|User|Share\na||many\n", "line 2, Share: expected a whole number, found many"),
        ("Account|User|GrpTRES\na||cpu\n", "line 2, GrpTRES: expected trackable resources"),
        ("Account|User|GrpTRES\na||cpu=x\n", "line 2, GrpTRES, cpu: expected a whole number, found x"),
        ("Account|User|MaxWall\na||soon\n", "line 2, MaxWall: expected a duration"),
        ("Account|User\n|ann\n", "line 2, Account: expected the name of an account, found none"),
        ("Account|User\na|ann\n", "line 2, Account: expected an account that has a row, found a"),
        ("Account|User|ParentName\na||b\n", "line 2, ParentName: expected an account that has a row, found b"),
        (
            "Account|User|ParentName\na||b\nb||a\n",
            "line 3, ParentName: expected an account that is not below itself, found b",
        ),
        ("Account|User\na||\n", "line 2: expected 2 columns, as in the header, found 3"),
        ("Account|User\na|\na|\n", "line 3: expected every association once, found account a, user none twice"),
        ("Cluster|Account|User\nx|a|\ny|b|\n", "Cluster: expected the associations of one cluster, found x, y"),
        (
            "Account|User\na|\nName|Priority\nq|1\nq|2\n",
            "line 5, Name: expected every quality of service once, found q twice",
        ),
        ("Account|User\na|\nName|Priority|UsageFactor\nq|1|-1\n", "line 4, UsageFactor: expected a number, 0 or more"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(tmp_path: Path, text: str, said: str) -> None:
    """File, line and column, what was expected and what was found."""
    with pytest.raises(FormatError) as error:
        read(tmp_path, text)
    assert said in str(error.value)
    assert "accounts.txt" in str(error.value)


@pytest.mark.parametrize("wrong", ["GrpJbos", "GrppJobs", "rGpJobs"])
def test_a_misspelt_column_is_named(tmp_path: Path, wrong: str) -> None:
    """A column that is almost one that is read would else be passed over, and its limits lost."""
    with pytest.warns(ModelWarning, match=f"line 1: column '{wrong}' is not read; expected grpjobs"):
        read(tmp_path, OUTPUT.replace("GrpJobs", wrong, 1))


def test_a_default_qos_that_is_no_quality_is_named(tmp_path: Path) -> None:
    """The two tables contradict each other."""
    with pytest.warns(ModelWarning, match="line 3: default QOS 'hihg' is not in the table"):
        read(tmp_path, OUTPUT.replace("high,normal|high|", "high,normal|hihg|"))
