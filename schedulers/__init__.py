"""Who runs next and where; when nodes sleep."""

from schedulers.adaptive_pcbe import AdaptivePcbe
from schedulers.backfilling import Backfilling
from schedulers.base import (
    PowerPolicy,
    Scheduler,
    make_power_policy,
    make_scheduler,
    power_policies,
    schedulers,
)
from schedulers.conservative import ConservativeBackfilling
from schedulers.contention_aware import ContentionAware
from schedulers.easy import EasyBackfilling
from schedulers.list_scheduling import Fcfs, ListScheduler, Ljf, Sjf
from schedulers.orders import job_orders, node_orders
from schedulers.patient import Patient
from schedulers.pcbe import Pcbe
from schedulers.power import AlwaysOn, IdleTimeout, KeepReady
from schedulers.power_cap import PowerCap
from schedulers.power_inertial import InertialShutdown
from schedulers.power_reservation import OffReservation, RandomReservation
from schedulers.replay import Replay

__all__ = [
    "AdaptivePcbe",
    "AlwaysOn",
    "Backfilling",
    "ConservativeBackfilling",
    "EasyBackfilling",
    "ContentionAware",
    "Fcfs",
    "IdleTimeout",
    "InertialShutdown",
    "KeepReady",
    "ListScheduler",
    "OffReservation",
    "RandomReservation",
    "Patient",
    "Pcbe",
    "Ljf",
    "PowerCap",
    "PowerPolicy",
    "Replay",
    "Scheduler",
    "Sjf",
    "job_orders",
    "make_power_policy",
    "make_scheduler",
    "node_orders",
    "power_policies",
    "schedulers",
]
