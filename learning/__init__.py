"""Agents that learn to schedule: environments in the Gymnasium form, and PPO trained against the simulated machine.

They arrive in a later release. What stands today is what they will be built on: ``Simulation.step_to_decision`` and
``Simulation.decide`` in :mod:`cluster_sim`, and the scheduler's view in :mod:`schedulers`. This package may import
both; neither imports it.
"""
