"""Which keys of a slurm.conf, and which options within them, a simulation follows, and what holds instead of the others.

What is followed of the machine's keys and of SchedulerParameters is what ``schedulers.slurm`` reads: ``tests/slurm/test_keys.py``
compares the two.
Keys are in small letters, but for those of :data:`FOLLOWED`, :data:`FOLLOWED_OF_NODES`, :data:`FOLLOWED_OF_PARTITIONS` and
:data:`ADMINISTRATION`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from cluster_sim.platform.slurm import DEFAULTS

FOLLOWED = [*DEFAULTS]
"""Keys of the whole machine that change a schedule here."""
FOLLOWED_OF_NODES = """CPUs Procs Boards Sockets SocketsPerBoard CoresPerSocket ThreadsPerCore RealMemory Feature Features
    Weight State Gres""".split()
FOLLOWED_OF_PARTITIONS = """Nodes Default MaxTime DefaultTime MinNodes MaxNodes PriorityTier PriorityJobFactor Priority
    OverSubscribe Shared PreemptMode GraceTime State Alternate DefMemPerCPU DefMemPerNode""".split()

_ALIKE = "all nodes are equally near"
_ON = "nodes stay on unless a power policy is chosen"
_SUBMITTED = "jobs are taken as submitted"
_NO_TIME = "takes no time"
_NO_PRIORITY = "no part of priorities"
_NO_MOST = "jobs get as much memory as they ask for"
_GPUS = "GPUs bring neither CPUs nor memory"
NOT_SIMULATED = {
    "schedulertimeslice": "jobs do not take turns",
    "suspendprogram": _ON,
    "resumeprogram": _ON,
    "suspendtime": _ON,
    "suspendtimeout": _ON,
    "resumetimeout": _ON,
    "prolog": _NO_TIME,
    "epilog": _NO_TIME,
    "prologslurmctld": _NO_TIME,
    "epilogslurmctld": _NO_TIME,
    "jobsubmitplugins": _SUBMITTED,
    "maxarraysize": _SUBMITTED,
    "maxjobcount": _SUBMITTED,
    "maxstepcount": _SUBMITTED,
    "burstbuffertype": "staging takes no time",
    "federationparameters": "there is one cluster",
    "completewait": "nodes that are cleaned up keep no other jobs waiting",
    "maxmempercpu": _NO_MOST,
    "maxmempernode": _NO_MOST,
    "defcpupergpu": _GPUS,
    "defmempergpu": _GPUS,
    "priorityusageresetperiod": "usage decays, and is not set back",
    "priorityparameters": _NO_PRIORITY,
    "priorityweightassoc": _NO_PRIORITY,
    "priorityweighttres": _NO_PRIORITY,
    "prioritysitefactorplugin": _NO_PRIORITY,
    "prioritysitefactorparameters": _NO_PRIORITY,
}
"""Keys of the whole machine that Slurm schedules by and the simulation does not, with what holds instead."""

ADMINISTRATION = """AccountingStorageBackupHost AccountingStorageExternalHost AccountingStorageHost AccountingStorageLoc
    AccountingStorageParameters AccountingStoragePass AccountingStoragePort AccountingStorageTRES AccountingStorageUser
    AccountingStoreFlags AccountingStoreJobComment AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType
    AcctGatherInterconnectType AcctGatherNodeFreq AcctGatherProfileType AllowSpecResourcesUsage AuthAltParameters
    AuthAltTypes AuthInfo AuthType BackupAddr BackupController BatchStartTimeout BcastExclude BcastParameters
    BurstBufferParameters CacheGroups CertgenParameters CertgenType CertmgrParameters CertmgrType CheckpointType ChosLoc
    CliFilterParameters CliFilterPlugins ClusterName CommunicationParameters ControlAddr ControlMachine CoreSpecPlugin
    CpuFreqDef CpuFreqGovernors CredType CryptoType DataParserParameters DebugFlags DefaultStorageHost DefaultStorageLoc
    DefaultStoragePass DefaultStoragePort DefaultStorageType DefaultStorageUser DefRuntimePlugin DependencyParameters
    DisableRootJobs DynAllocPort EioTimeout EpilogMsgTime EpilogTimeout ExtSensorsFreq ExtSensorsType FastSchedule
    FirstJobId GetEnvTimeout GpuFreqDef GresTypes GroupUpdateForce GroupUpdateTime HashBase HashPlugin HealthCheckInterval
    HealthCheckNodeState HealthCheckProgram HealthCheckTimeout HeartbeatInterval HttpParserType InactiveLimit
    InteractiveStepOptions JobAcctFrequency JobAcctGatherFrequency JobAcctGatherParams JobAcctGatherType JobAcctLogFile
    JobAcctType JobCheckpointDir JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPassScript JobCompPort
    JobCompType JobCompUser JobContainerType JobCredentialPrivateKey JobCredentialPublicCertificate JobFileAppend
    KeepAliveTime KillOnBadExit KillTree LaunchParameters LaunchType Layouts LicenseParameters LogTimeFormat MailDomain
    MailProg MaxBatchRequeue MaxDBDMsgs MaxJobId MaxMemPerTask MaxNodeCount MaxTasksPerNode MCSParameters MCSPlugin
    MemLimitEnforce MetricsAuthUsers MetricsParameters MetricsType MinJobAge MpichGmDirectSupport MpiDefault MpiParams
    MsgAggregationParams NamespaceType NodeFeaturesPlugins PluginDir PlugStackConfig PowerAction PowerParameters
    PowerPlugin PrEpParameters PrEpPlugins PrivateData ProctrackType PrologEpilogTimeout PrologFlags PrologTimeout
    PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept RebootProgram ReconfigFlags RequeueExit
    RequeueExitHold ResumeFailProgram ResumeRate ResvEpilog ResvOverRun ResvProlog ReturnToService RoutePlugin
    SallocDefaultCommand SbcastParameters SchedulerAuth SchedulerPort SchedulerRootFilter ScronParameters
    SerializerParameters SerializerPlugins SlurmctldAddr SlurmctldDebug SlurmctldHttpAuthParameters SlurmctldLogFile
    SlurmctldParameters SlurmctldPidFile SlurmctldPlugstack SlurmctldPort SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg
    SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug SlurmdHttpAuthParameters SlurmdLogFile SlurmdParameters
    SlurmdPidFile SlurmdPlugstack SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout SlurmdUser
    SlurmrestdHttpAuthParameters SlurmrestdParameters SlurmSchedLogFile SlurmSchedLogLevel SlurmstepdParameters SlurmUser
    SrunEpilog SrunIOTimeout SrunPortRange SrunProlog StateSaveLocation SuspendExcNodes SuspendExcParts SuspendExcStates
    SuspendRate SwitchParameters SwitchType TaskEpilog TaskPlugin TaskPluginParam TaskProlog TCPTimeout TLSParameters
    TLSType TmpFS TrackWCKey TreeWidth UnkillableStepProgram UnkillableStepTimeout UrlParserType UsePAM VSizeFactor
    WaitTime X11Parameters""".split()
"""Keys of the whole machine, in some version of Slurm, without a meaning for a schedule: 22.05 calls some of them obsolete."""

_ASIDE = "CPUs set aside for the system run jobs"
NODES_NOT_SIMULATED = {
    "corespeccount": _ASIDE,
    "cpuspeclist": _ASIDE,
    "memspeclimit": "memory set aside for the system is there for jobs",
    "tmpdisk": "local disks are not simulated",
    "suspendtime": _ON,
    "topology": _ALIKE,
}
NODES_ADMINISTRATION = frozenset(
    "nodeaddr nodehostname port bcastaddr reason cpubind tresweights gresconf parameters restrictedcorespergpu".split()
)
"""Keys of nodes without a meaning for a schedule."""

_EVERYBODY = "every job may use every partition"
_ALL_CPUS = "a job may have all CPUs of a node"
_OF_ALL = "that of the whole machine holds in every partition"
PARTITIONS_NOT_SIMULATED = {
    "allocnodes": _EVERYBODY,
    "allowaccounts": _EVERYBODY,
    "allowgroups": _EVERYBODY,
    "allowqos": _EVERYBODY,
    "denyaccounts": _EVERYBODY,
    "denyqos": _EVERYBODY,
    "disablerootjobs": _EVERYBODY,
    "reqresv": _EVERYBODY,
    "rootonly": _EVERYBODY,
    "qos": "partitions have no quality of service",
    "maxcpuspernode": _ALL_CPUS,
    "maxcpuspersocket": _ALL_CPUS,
    "maxmempercpu": _NO_MOST,
    "maxmempernode": _NO_MOST,
    "overtimelimit": _OF_ALL,
    "selecttypeparameters": _OF_ALL,
    "defcpupergpu": _GPUS,
    "defmempergpu": _GPUS,
    "lln": "nodes are not chosen by their load",
    "exclusiveuser": "jobs of several users share nodes",
    "exclusivetopo": _ALIKE,
    "topology": _ALIKE,
    "resumetimeout": _ON,
    "suspendtime": _ON,
    "suspendtimeout": _ON,
    "powerdownonidle": _ON,
    "tresbillingweights": "usage counts CPUs",
}
PARTITIONS_ADMINISTRATION = frozenset(["hidden", "cpubind"])

# ---------------------------------------------------------------------- what switches a key on

_OFF = (
    *("", "none", "no", "all", "n/a", "(null)", "infinite", "unlimited", "-1", "0"),
    *("burst_buffer/none", "site_factor/none"),
)
"""Values by which a key that is not simulated asks for what happens anyway, except those in :data:`_SAYS_SOMETHING`."""
_SAYS_SOMETHING = {
    "0": (
        "overtimelimit",  # of a partition, in place of the machine's
        *("maxarraysize", "suspendtime", "suspendtimeout", "resumetimeout"),
    ),
}
_NO_TOPOLOGY = ("", "(null)", "topology/none", "topology/default", "topology/flat")


class Switches:
    """What a configuration has switched on, by the rules of Slurm 22.05.

    ``given`` are the keys of the whole machine, ``partitions`` the keys of each partition, both in small letters.
    """

    def __init__(self, given: Mapping[str, str], partitions: Iterable[Mapping[str, str]] = ()):
        def said(key: str) -> str:
            return given.get(key.lower(), "").lower() or DEFAULTS.get(key, "").lower()

        programs = all(given.get(key, "").lower() not in ("", "(null)") for key in ("suspendprogram", "resumeprogram"))
        times = [given.get("suspendtime", ""), *(keys.get("suspendtime", "") for keys in partitions)]
        self.multifactor = said("PriorityType").endswith("multifactor")
        self.preemption = said("PreemptType") not in ("preempt/none", "none", "(null)")
        self.gang = "gang" in said("PreemptMode").replace(" ", "").split(",")
        self.topology = given.get("topologyplugin", "").lower() not in _NO_TOPOLOGY
        #: Slurm leaves nodes on without either program, however short the time is.
        self.power_saving = programs and any(map(is_finite, times))

    def is_on(self, key: str) -> bool:
        """Return whether the feature that a key belongs to is switched on; a key of no feature always is."""
        return next((switch(self) for keys, switch in _SWITCHED_BY.items() if key in keys), True)

    def acts(self, key: str, value: str) -> bool:
        """Return whether Slurm does anything by a key with this value that does not happen here anyway."""
        value = value.lower()
        return self.is_on(key) and (value not in _OFF or key in _SAYS_SOMETHING.get(value, ()))


def is_finite(time: str) -> bool:
    """Return whether a SuspendTime turns power saving on, as far as it does."""
    return time.lower() not in ("", "none", "infinite", "unlimited", "n/a", "(null)") and not time.startswith("-")


_SWITCHED_BY: Mapping[tuple[str, ...], Callable[[Switches], bool]] = {
    ("topologyplugin", "topologyparam"): lambda on: on.topology,
    ("schedulertimeslice",): lambda on: on.gang,
    (
        *("suspendprogram", "resumeprogram", "suspendtime", "suspendtimeout", "resumetimeout"),
        *("suspendrate", "resumerate", "powerdownonidle"),
    ): lambda on: on.power_saving,
    (
        *("prioritycalcperiod", "prioritydecayhalflife", "priorityfavorsmall", "priorityflags", "prioritymaxage"),
        *("priorityparameters", "priorityusageresetperiod", "prioritysitefactorplugin", "prioritysitefactorparameters"),
        *("priorityweightage", "priorityweightassoc", "priorityweightfairshare", "priorityweightjobsize"),
        *("priorityweightpartition", "priorityweightqos", "priorityweighttres", "fairsharedampeningfactor"),
    ): lambda on: on.multifactor,
    ("preemptmode",): lambda on: on.preemption or on.gang,
    ("preemptparameters", "preemptexempttime"): lambda on: on.preemption,
}
"""Keys that do nothing unless a feature is on, and which."""


# ---------------------------------------------------------------------- options within a key


class Options(NamedTuple):
    """Options that a key may have, in small letters: those that are followed, and others of Slurm's; ``spelling`` is Slurm's."""

    key: str
    followed: frozenset[str]
    others: frozenset[str]
    spelling: Mapping[str, str]

    def apart(self, value: str) -> tuple[list[str], list[str]]:
        """Return the options of a value that Slurm has but nothing here follows, and those that Slurm lacks."""
        names = [name for part in value.split(",") if (name := part.partition("=")[0].strip())]
        names = [name for name in dict.fromkeys(names) if name.lower() not in self.followed]
        unused = [name for name in names if name.lower() in self.others]
        return unused, [name for name in names if name not in unused]

    def are_followed(self, value: str) -> bool:
        """Return whether a value says anything that is followed: it has such an option, or no option at all."""
        names = [part.partition("=")[0].strip().lower() for part in value.split(",")]
        return not self.followed.isdisjoint(names) or not any(names)


def _options(key: str, followed: str, others: str) -> Options:
    spelling = {name.lower(): name for name in (*followed.split(), *others.split())}
    return Options(key, frozenset(followed.lower().split()), frozenset(others.lower().split()), spelling)


OPTIONS: Mapping[str, Options] = {
    each.key.lower(): each
    for each in (
        _options(
            "SchedulerParameters",
            """batch_sched_delay bf_continue bf_interval bf_licenses bf_max_job_array_resv bf_max_job_assoc bf_max_job_part
            bf_max_job_start bf_max_job_test bf_max_job_user bf_max_job_user_part bf_max_time bf_min_age_reserve
            bf_min_prio_reserve bf_node_space_size bf_resolution bf_window bf_window_linear bf_yield_interval bf_yield_sleep
            default_queue_depth max_switch_wait preempt_reorder_count preempt_strict_order preempt_youngest_first
            sched_interval""",
            """allow_zero_lic assoc_limit_stop bb_array_stage_cnt bf_allow_magnetic_resv bf_busy_nodes bf_hetjob_immediate
            bf_hetjob_prio bf_job_part_count_reserve bf_one_resv_per_job bf_running_job_reserve bf_topopt_enable
            build_queue_timeout correspond_after_task_cnt default_gbytes defer defer_batch delay_boot disable_job_shrink
            disable_hetjob_steps enable_hetjob_steps enable_job_state_cache enable_user_top extra_constraints Ignore_NUMA
            ignore_constraint_validation ignore_prefer_validation max_array_tasks max_rpc_cnt max_sched_time
            max_script_size max_submit_line_size no_backup_scheduling no_env_cache
            nohold_on_prolog_fail pack_serial_at_end partition_job_depth reduce_completing_frag requeue_setup_env_fail
            requeue_on_resume_failure salloc_wait_nodes sbatch_wait_nodes sched_max_job_start sched_min_interval
            spec_cores_first step_retry_count step_retry_time time_min_as_soft_limit whole_hetjob""",
        ),
        _options(
            "SelectTypeParameters",
            "CR_CPU CR_CPU_Memory CR_Core CR_Core_Memory CR_Memory",
            """CR_Core_Default_Dist_Block CR_LLN CR_ONE_TASK_PER_CORE CR_Pack_Nodes CR_Socket CR_Socket_Memory
            ENFORCE_BINDING_GRES LL_SHARED_GRES MULTIPLE_SHARING_GRES_PJ ONE_TASK_PER_SHARING_GRES
            OTHER_CONS_RES OTHER_CONS_TRES""",
        ),
        _options(
            "PriorityFlags",
            """ACCRUE_ALWAYS CALCULATE_RUNNING FAIR_TREE NO_FAIR_TREE NO_NORMAL_ALL NO_NORMAL_PART NO_NORMAL_QOS
            SMALL_RELATIVE_TO_TIME""",
            "DEPTH_OBLIVIOUS INCR_ONLY MAX_TRES MAX_TRES_GRES NO_NORMAL_ASSOC NO_NORMAL_TRES",
        ),
        _options(
            "PreemptParameters",
            "reorder_count strict_order youngest_first",
            "min_exempt_priority reclaim_licenses send_user_signal suspend_grace_time",
        ),
    )
}
"""Keys with several options in their value, by the key in small letters."""
