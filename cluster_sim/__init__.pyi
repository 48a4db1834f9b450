import analysis as analysis
import learning as learning
import schedulers as schedulers
from analysis import comparison_table as comparison_table
from analysis import gantt as gantt
from analysis import write_report as write_report
from schedulers import PowerPolicy as PowerPolicy
from schedulers import Scheduler as Scheduler
from schedulers import make_power_policy as make_power_policy
from schedulers import make_scheduler as make_scheduler

from .errors import CautionWarning as CautionWarning
from .errors import ClusterSimError as ClusterSimError
from .errors import FormatError as FormatError
from .errors import InputError as InputError
from .errors import ModelWarning as ModelWarning
from .errors import SimulationError as SimulationError
from .errors import SpecError as SpecError
from .machine.placement import Placement as Placement
from .platform import Cluster as Cluster
from .platform import NodeGroup as NodeGroup
from .platform import NodeType as NodeType
from .platform import Platform as Platform
from .platform import PowerTransitions as PowerTransitions
from .platform import ProcessorType as ProcessorType
from .platform import PState as PState
from .records import Result as Result
from .run import Reject as Reject
from .run import Simulation as Simulation
from .run import Start as Start
from .run import View as View
from .run import WakeAt as WakeAt
from .workload import AdvanceReservation as AdvanceReservation
from .workload import Job as Job
from .workload import Workload as Workload

__version__: str
