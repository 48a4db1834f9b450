"""Learning algorithms: PPO, REINFORCE and actor-critic, and their shared parts."""
