"""Learning algorithms: PPO, REINFORCE, actor-critic, and what they share."""
