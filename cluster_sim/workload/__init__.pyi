from .advance_reservations import AdvanceReservation as AdvanceReservation
from .jobs import Job as Job
from .jobs import JobState as JobState
from .workload import Workload as Workload
