from .building import make_network as make_network
from .network import MASK as MASK
from .network import Network as Network
from .network import flat as flat
from .network import forbid as forbid
from .network import networks as networks
