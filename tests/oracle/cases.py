"""What the oracle runs. A case is found again by its name, so a name says all that makes the case what it is."""

from __future__ import annotations

from itertools import product
from typing import Any
from zlib import crc32

from .files import SHARED
from .runs import AnyCase, Case, Rollout

# Every registered scheduler, with the options that change what it does.
SCHEDULERS = (
    "fcfs",
    "fcfs:nodes=low_power,memory=yes",
    "sjf",
    "ljf",
    "list:smallest/high_cores,blocking=no",
    "list:random/random",
    "list:shortest/first,aging=5",
    "easy",
    "easy:depth=0",
    "easy:depth=3,memory=yes",
    "easy:depth=all",
    "easy:reservation=pinned",
    "easy:order=wfp,nodes=high_gflops,backfill=saf",
    "easy:backfill=first,aging=10",
    "saf-easy",
    "saf-easy:reservation=pinned,nodes=low_cores",
    "conservative",
    "conservative:reservation=pinned",
    "conservative:order=sjf",
    "conservative:nodes=low_cores,memory=yes",
    "pcbe",
    "pcbe:metric=edp,job=low,node=high,aging=10",
    "adaptive-pcbe",
    "adaptive-pcbe:metric=edp,wait_goal=10",
    "contention-aware",
    "contention-aware:metric=energy,placements=one,order=first,blocking=yes",
    "contention-aware:clairvoyant=yes,memory=yes",
    "patient",
    "patient:frugal=1.1,short=2,metric=edp",
    "replay:list:smallest/high_cores,blocking=no",
)
JOB_ORDERS = (
    "edf", "expansion-factor", "f1", "fcfs", "first", "ljf", "longest", "low_mem", "low_mem_bw", "low_mem_ops", "priority",
    "random", "saf", "shortest", "sjf", "smallest", "unicef", "wfp",
)  # fmt: skip
NODE_ORDERS = (
    "current_gflops", "current_watts", "first", "free_mem_bw", "high_cores", "high_gflops", "high_mem", "high_mem_bw",
    "low_cores", "low_power", "most_used_mem", "random", "total_mem",
)  # fmt: skip
# Each with every scheduler: what jobs and machines may have, in combinations.
SETTINGS: dict[str, tuple[str, ...]] = {
    "plain": (),
    "contended": ("contended", "phases", "energies"),
    "wishes": ("tags", "exclusive", "shapes", "deadlines"),
    "waiting": ("dependencies", "reservations", "unknown"),
    "sleepy": ("sleepy", "contended", "memory"),
}
POLICIES = (
    "always-on",
    "timeout:0",
    "timeout:3",
    "keep-ready:2",
    "inertial:period=5,factor=2",
    "off-reservation:0.5",
    "random:period=4,patience=3",
    "power-cap:70%",
    "power-cap:40%,how=slow",
    "power-cap:20%",
    "summed-stretch:0.3",
)
CONTENTION = ("none", "piecewise", "piecewise:k=1", "gompertz", "roofline")
POWER = ("linear", "idle", "baseline", "stall-aware:0.25", "polynomial")
NETWORKS = ("none", "shared", "shared:node_link=100", "shared:node_link=50,cluster_link=80")
QUIRKS = (
    "unused-processors-draw-nothing",
    "textual-node-order",
    "low-power-means-high",
    "contention-at-job-boundaries",
)
DISTURBANCES: dict[str, tuple[str, ...]] = {
    "kills": ("kill",),
    "failures": ("fail", "repair", "fail"),
    "switching": ("switch_off", "switch_on"),
    "clocks": ("set_clock", "set_p_state"),
    "everything": ("kill", "fail", "repair", "switch_off", "switch_on", "set_clock", "set_p_state"),
}


def core_cases() -> list[AnyCase]:
    """Those that need nothing but the repository."""
    cases: list[AnyCase] = []

    def add(name: str, scheduler: str, power: str = "", traits: tuple[str, ...] = (), **more: Any) -> None:
        name = f"{name} {scheduler}{f' {power}' if power else ''}"
        # The inputs follow from the name, so that a case that is added or taken out changes no other.
        cases.append(Case(name, crc32(name.encode()) % 100_000, scheduler, power, traits, **more))

    for number, (size, (setting, traits), scheduler) in enumerate(product((30, 60), SETTINGS.items(), SCHEDULERS)):
        options = {"seed": number % 3, "enforce_walltime": number % 4 == 0}
        power = "timeout:2" if setting == "sleepy" else ""
        explains = number % 3 == 0
        add(f"setting/{setting} {size}", scheduler, power, traits, jobs=size, options=options, explains=explains)
    for scheduler in ("fcfs", "list:smallest/first", "easy", "conservative", "pcbe", "contention-aware"):
        # Without a log of decisions an explanation is read off the records.
        add("told", scheduler, traits=("dependencies", "tags"), explains=True, options={"explain": False})

    for number, order in enumerate(JOB_ORDERS):
        for which in (number % len(NODE_ORDERS), (number + 6) % len(NODE_ORDERS)):
            blocking = ",blocking=no" if which % 2 else ""
            add("orders", f"list:{order}/{NODE_ORDERS[which]}{blocking}", traits=("contended", "deadlines", "memory"),
                options={"seed": number})  # fmt: skip

    sleepy = ("sleepy", "contended")
    several = ("fcfs", "list:smallest/low_power,blocking=no", "easy", "conservative")
    for number, (policy, scheduler) in enumerate(product(POLICIES, several)):
        traits = (*sleepy, *(("boots",) if number % 2 else ()), *(("p-states",) if number % 3 == 0 else ()))
        add("policies", scheduler, policy, traits, options={"seed": number % 3}, explains=number % 4 == 0)

    contended = ("contended", "phases", "shapes")
    for number, (contention, power) in enumerate(product(CONTENTION, POWER)):
        quirks = (QUIRKS[number // 2 % 4],) if number % 2 else ()
        options = {"contention": contention, "power_model": power, "quirks": quirks}
        add(
            f"models/{contention} {power} {' '.join(quirks)}".rstrip(),
            "list:first/high_mem_bw",
            traits=contended,
            options=options,
        )
    for quirk, scheduler in product(QUIRKS, ("pcbe", "list:smallest/low_power", "easy:nodes=current_watts")):
        add(f"quirks/{quirk}", scheduler, traits=contended, options={"quirks": (quirk,)})
    for network, scheduler in product(NETWORKS, ("fcfs", "easy", "conservative:nodes=low_cores")):
        traits = ("communication", "shapes", "contended")
        add(f"networks/{network}", scheduler, traits=traits, options={"network": network, "enforce_walltime": True})

    clocked = ("sleepy", "contended", "p-states")
    several = ("fcfs", "list:shortest/high_gflops,blocking=no", "easy", "easy:depth=3", "conservative", "pcbe")
    for number, ((what, orders), scheduler) in enumerate(product(DISTURBANCES.items(), several)):
        power = ("", "timeout:1", "off-reservation:0.5")[number % 3]
        traits = (*clocked, *(("dependencies", "reservations") if number % 2 else ("communication", "shapes")))
        options = {"seed": number % 3, "enforce_walltime": number % 4 == 1, "network": "shared:node_link=200"}
        add(f"disturbed/{what}", scheduler, power, traits, options=options, disturbed=orders, explains=number % 5 == 0)
    several = ("fcfs", "easy", "conservative", "contention-aware")
    for cap, how, scheduler in product((25, 50), ("wait", "slow"), several):
        add("capped", scheduler, f"power-cap:{cap}%,how={how}", ("p-states", "contended"), explains=scheduler == "easy")
    for until, scheduler in product((0.0, 7.5, 14.0), several):
        options = {"until": until, "network": "shared"}
        add(f"until/{until:g}", scheduler, "timeout:2", (*sleepy, "boots"), options=options)
    for scheduler in ("fcfs", "easy", "conservative", "pcbe"):
        add("pauses", scheduler, "timeout:2", (*sleepy, "dependencies"), pauses=(0.0, 3.0, 9.5))
    cases += _larger()
    cases += _rollouts()
    urgent = ("preemptive", "preemptive:suspend", "preemptive:cancel", "preemptive:suspend,grace=1.5,nodes=low_cores")
    for (setting, traits), scheduler in product(SETTINGS.items(), urgent):
        power = "timeout:2" if setting == "sleepy" else ""
        options = {"enforce_walltime": setting == "wishes", "failures": "weibull:mtbf=60,repair=3,limit=4"}
        more = {} if setting in ("plain", "waiting") else {"options": options}
        add(f"changing/{setting}", scheduler, power, (*traits, "deadlines", "checkpoints"), **more)
    sizes = (
        *("moldable", "moldable:width=earliest", "shrink-expand", "equipartition", "malleable"),
        *("malleable:size=min,promise=steal", "malleable:size=average,promise=common-pool,slips=yes"),
        "malleable:size=fixed,overtake=yes",
    )
    for number, ((setting, traits), scheduler) in enumerate(product(SETTINGS.items(), sizes)):
        quirks = ("pass-after-each-event",) if number % 2 else ()
        add(
            f"sizes/{setting}",
            scheduler,
            "timeout:2" if setting == "sleepy" else "",
            (*traits, "sizes"),
            options={"quirks": quirks},
        )
    return cases + _failing()


def _failing() -> list[AnyCase]:
    """Failures and checkpoints beside what neither preempts nor resizes, and beside what does; suspended time that counts."""
    cases: list[AnyCase] = []

    def add(name: str, scheduler: str, power: str, traits: tuple[str, ...], **options: Any) -> None:
        name = f"failing/{name} {scheduler} {power}".rstrip()
        seed, explains = crc32(name.encode()) % 100_000, len(cases) % 3 == 0
        cases.append(Case(name, seed, scheduler, power, traits, options=options, explains=explains))

    models = ("exponential:mtbf=40,repair=2,limit=3", "weibull:mtbf=60,repair=1,group=2,limit=4")
    plain = ("fcfs", "list:smallest/low_power,blocking=no", "easy:memory=yes", "conservative")
    for model, scheduler in product(models, plain):
        add(model.partition(":")[0], scheduler, "", ("checkpoints", "memory", "contended"), failures=model)
    for policy, scheduler in product(
        ("off-reservation:0.5", "timeout:2"), ("easy", "preemptive:suspend", "shrink-expand")
    ):
        add("asleep", scheduler, policy, ("sleepy", "checkpoints", "deadlines", "sizes"), failures=models[0])
    for scheduler in ("equipartition", "malleable:size=average,promise=steal", "moldable:memory=yes"):
        add("capped", scheduler, "power-cap:50%,how=slow", ("p-states", "checkpoints", "sizes"), failures=models[1])
    for counts, traits in product((False, True), (("memory",), ("reservations",), ("dependencies", "unknown"))):
        more = {"suspended_time_counts": counts, "enforce_walltime": True}
        add(
            f"suspended {counts} {traits[0]}",
            "preemptive:suspend,grace=0.5",
            "",
            (*traits, "deadlines", "checkpoints"),
            **more,
        )
    return cases


def _larger() -> list[AnyCase]:
    """Some hundred jobs of our generators, more on the drawn machines, and the demo."""
    lublin = "generated:homogeneous:nodes=16,cores=8|lublin:jobs=300,nodes=128,seed=3,estimates=tsafrir"
    plain = "generated:homogeneous:nodes=128,cores=1|lublin:jobs=300,nodes=128,seed=5"
    npb = "generated:mixed:2x64@3.0,4x8@4.2|npb:jobs=120,seed=2"
    several = ("fcfs", "easy", "easy:reservation=pinned", "conservative", "saf-easy", "list:smallest/high_cores")
    generated = {"lublin": lublin, "flat": plain, "npb": npb}
    cases: list[AnyCase] = [
        Case(f"larger/{name} {scheduler}", inputs, scheduler, explains=(name, scheduler) == ("lublin", "easy"))
        for (name, inputs), scheduler in product(generated.items(), several)
    ]
    cases += [Case(f"larger/demo {scheduler}", "demo", scheduler) for scheduler in ("fcfs", "easy:nodes=free_mem_bw")]
    traits = ("contended", "sleepy", "dependencies", "memory", "p-states")
    policies = ("timeout:5", "power-cap:50%,how=slow")
    cases += [
        Case(f"larger/many {scheduler} {power}", 17, scheduler, power, traits, jobs=150)
        for scheduler, power in product(("fcfs", "easy", "conservative", "contention-aware"), policies)
    ]
    return cases


def _rollouts() -> list[AnyCase]:
    """Each environment with its observations, rewards and ways to decide."""
    job_node: list[dict[str, Any]] = [
        {"observation": observation, "reward": reward}
        for observation, reward in zip(
            ("default", "default", "default", "p2", "p3", "as-published:norm=whole", "default", "default"),
            ("energy", "edp", "makespan", "energy", "edp-as-published", "makespan", "wait", "bounded-slowdown"),
            strict=True,
        )
    ]
    job_node += [
        {"wait": "event", "placements": "all"},
        {"wait": "completion", "num_jobs": 8},
        {"wait": "0.5", "flat": True, "memory": True},
        {"reward": "edp:shaped=no", "merge_equal": False},
        {"power": "timeout:1", "wait": "event"},
    ]
    selection: list[dict[str, Any]] = [
        {"reward": f"metric:{name}"} for name in ("energy", "makespan", "edp", "slowdown", "bounded-slowdown", "wait")
    ]
    selection += [{"reward": f"as-published:{name}", "policies": "table-2"} for name in ("energy", "makespan", "edp")]
    selection += [{"observation": f"as-published:{level}"} for level in ("normal", "small", "minimal")]
    selection += [{"blocking": False, "flat": True}]
    shutdown: list[dict[str, Any]] = [
        {},
        {"observation": "as-published", "reward": "as-published", "skip": False},
        {"reward": "as-published:by=node"},
        {"idle": "stay"},
        {"idle": "sleep"},
        {"scheduler": "easy", "flat": True},
        {"scheduler": "conservative", "step_s": 300.0},
    ]
    cases: list[AnyCase] = []
    for environment, all_arguments in {
        "JobNode": job_node,
        "PolicySelection": selection,
        "NodeShutdown": shutdown,
    }.items():
        for arguments in all_arguments:
            said = " ".join(f"{key}={value}" for key, value in arguments.items())
            for first in (False, True) if arguments in all_arguments[:2] else (False,):
                name = f"environments/{environment} {'first ' if first else ''}{said}".rstrip()
                cases.append(Rollout(name, environment, arguments, 1 + (environment == "JobNode"), first))
    for number, (environment, traits) in enumerate(
        product(
            ("JobNode", "PolicySelection"), (("contended", "sleepy"), ("dependencies", "memory"), ("p-states", "tags"))
        )
    ):
        name = f"environments/{environment} on {' '.join(traits)}"
        cases.append(Rollout(name, environment, {"power": "timeout:2"}, inputs=40 + number, traits=traits))
    return cases


def shared_cases() -> list[AnyCase]:
    """Those whose inputs stand in ../shared; the names are fixed, whether the folder is there or not."""
    cases: list[AnyCase] = []

    def add(kind: str, name: str, schedulers: tuple[str, ...], power: str = "", **options: Any) -> None:
        for scheduler in schedulers:
            label = f"shared/{kind}/{name} {scheduler}{f' {power}' if power else ''}"
            cases.append(Case(label, f"shared:{kind}/{name}", scheduler, power, options=options))

    jobs = ("first", "shortest", "smallest", "low_mem", "low_mem_ops")
    nodes = ("high_gflops", "high_cores", "most_used_mem", "high_mem_bw", "low_power")
    every = tuple(f"list:{job}/{node}" for job, node in product(jobs, nodes))
    for name in ("experiment1", "experiment2", "random-0", "random-1"):
        add("irmasim", name, every)
    for name in ("random-2", "random-3"):
        add("irmasim", name, every, quirks=("contention-at-job-boundaries",))
    for name in ("experiment3", "experiment4-mem", "experiment4-comp"):
        add("irmasim", name, (*every[:5], "list:smallest/most_used_mem", "easy", "contention-aware"))
    pcbe = tuple(
        f"pcbe:metric={m},job={j},node={n}" for m, j, n in product(("energy", "edp"), ("high", "low"), ("high", "low"))
    )
    for name in (*(f"table-5.{table}-row-{row}" for table in (1, 2) for row in (1, 2, 3, 4)), "slice-03", "slice-11"):
        add("pcbe", name, ("list:first/first", "adaptive-pcbe", *pcbe), quirks=QUIRKS[:3])
    for name in (f"fcfs_input.{i}" for i in range(8)):
        add("pyss", name, ("fcfs",))
    for name in (f"bf_input.{i}" for i in range(5)):
        add("pyss", name, ("easy", "conservative"))
    for name in (f"basic_input.{i}" for i in range(29)):
        add("pyss", name, ("conservative",))
    backfilling = ("fcfs", "easy", "easy:reservation=pinned", "conservative")
    add("batsim", "batsim-medium-late", backfilling, power_model="idle")
    days, policies = (
        ("train_0.json", "train_1001.json", "train_102.json"),
        ("timeout:60", "off-reservation:0.5", "random"),
    )
    for name, power in product(days, policies):
        add("day", name, ("saf-easy",), power, until=86400.0, enforce_walltime=True)
    for name in ("kth", "sdsc", "lublin_256"):
        add("log", name, backfilling)
    return cases


def all_cases() -> list[AnyCase]:
    """Every case, those of ../shared last."""
    return [*core_cases(), *shared_cases()]


def has_shared() -> bool:
    """Whether the inputs of the other programs are there."""
    return (SHARED / "cases").is_dir()
