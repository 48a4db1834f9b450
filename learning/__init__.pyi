from .tasks.decision_maker import DecisionMaker as DecisionMaker
from .tasks.environment import SchedulingEnv as SchedulingEnv
from .tasks.episodes import Days as Days
from .tasks.episodes import Drawn as Drawn
from .tasks.episodes import Episode as Episode
from .tasks.episodes import Several as Several
from .tasks.episodes import Trajectories as Trajectories
from .tasks.episodes import Whole as Whole
from .tasks.job_node.environment import JobNode as JobNode
from .tasks.jobs_and_nodes.environment import JobsAndNodes as JobsAndNodes
from .tasks.node_shutdown.environment import NodeShutdown as NodeShutdown
from .tasks.policy_selection.environment import PolicySelection as PolicySelection

ENVIRONMENTS: dict[str, str]
