from .environments.base import DecisionMaker as DecisionMaker
from .environments.base import SchedulingEnv as SchedulingEnv
from .environments.job_node import JobNode as JobNode
from .environments.node_shutdown import NodeShutdown as NodeShutdown
from .environments.policy_selection import PolicySelection as PolicySelection
from .episodes import Days as Days
from .episodes import Drawn as Drawn
from .episodes import Episode as Episode
from .episodes import Several as Several
from .episodes import Trajectories as Trajectories
from .episodes import Whole as Whole

ENVIRONMENTS: dict[str, str]
