from .agent import Agent as Agent
from .configuration import Config as Config
from .configuration import EnvironmentKeys as EnvironmentKeys
from .configuration import ValidationKeys as ValidationKeys
from .configuration import read_config as read_config
from .evaluation import evaluate as evaluate
from .training_seeds import train as train
