from .hardware import Cluster as Cluster
from .hardware import NodeGroup as NodeGroup
from .hardware import NodeType as NodeType
from .hardware import PowerTransitions as PowerTransitions
from .hardware import ProcessorType as ProcessorType
from .hardware import PState as PState
from .hardware import Resource as Resource
from .platform import Platform as Platform
