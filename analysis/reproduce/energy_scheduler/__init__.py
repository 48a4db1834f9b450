"""López (2023): the four experiments of the Energy scheduler."""
