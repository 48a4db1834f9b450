from .cell import run_cell as run_cell
from .grid import Grid as Grid
from .session import Outcome as Outcome
from .session import sweep as sweep
from .storage import read_runs as read_runs
