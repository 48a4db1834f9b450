from .decisions import Reject as Reject
from .decisions import Start as Start
from .decisions import WakeAt as WakeAt
from .simulation import Simulation as Simulation
from .view import View as View
