"""Networks of agents, and their registry."""
