"""PPO in one file, in the manner of CleanRL: all of the loop to be read and changed, on several environments at once."""

import gymnasium as gym
import numpy as np
import torch
from torch import nn

import learning  # noqa: F401 - registers the environments

GAMMA, LAM, CLIP, ENTROPY, LEARNING_RATE = 1.0, 0.95, 0.2, 0.01, 1e-2
ENVS, STEPS, EPOCHS, MINIBATCHES = 4, 128, 4, 4


class Agent(nn.Module):
    """A score for each row of ``actions``, from the row and ``state``; the value of the situation, from ``state``."""

    def __init__(self, rows: int, state: int):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(rows + state, 32), nn.Tanh(), nn.Linear(32, 1))
        self.value = nn.Sequential(nn.Linear(state, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, obs: dict[str, torch.Tensor]) -> tuple[torch.distributions.Categorical, torch.Tensor]:
        """The distribution over the actions of each situation, and its value."""
        rows, state = obs["actions"], obs["state"]
        scores = self.score(torch.cat([rows, state[:, None].expand(-1, rows.shape[1], -1)], -1)).squeeze(-1)
        scores = scores.masked_fill(obs["action_mask"] == 0, -1e9)  # what is not allowed is never taken
        return torch.distributions.Categorical(logits=scores), self.value(state).squeeze(-1)


def train(env_id: str = "ClusterSim/JobNode-v0", updates: int = 6, seed: int = 1) -> list[dict[str, float]]:
    """Train an agent; the return and the energy-delay product (J·s) of every episode, in the order of their ends."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    envs = gym.make_vec(env_id, num_envs=ENVS, vectorization_mode="sync", reward="edp", num_jobs=8)
    obs = tensors(envs.reset(seed=seed)[0])
    agent = Agent(obs["actions"].shape[-1], obs["state"].shape[-1])
    optimiser = torch.optim.Adam(agent.parameters(), lr=LEARNING_RATE)
    episodes, returns = [], np.zeros(ENVS)
    ended = np.zeros(ENVS, dtype=bool)
    for _ in range(updates):
        seen, actions, logprobs, values, rewards, ends, counts = [], [], [], [], [], [], []
        for _ in range(STEPS):
            with torch.no_grad():
                distribution, value = agent(obs)
                action = distribution.sample()
            seen.append(obs)
            actions.append(action)
            logprobs.append(distribution.log_prob(action))
            values.append(value)
            # Gymnasium resets in the step after an end, and ignores its action: that step is no decision.
            counts.append(torch.as_tensor(~ended))
            new, reward, terminated, truncated, info = envs.step(action.numpy())
            ended = terminated | truncated
            returns += reward
            for i in ended.nonzero()[0]:
                episodes.append({"return": returns[i], "edp_js": info["metrics"]["edp_js"][i]})
                returns[i] = 0.0
            rewards.append(torch.as_tensor(reward, dtype=torch.float32))
            ends.append(
                torch.as_tensor(ended, dtype=torch.float32)
            )  # what comes after ``truncated`` is not seen either
            obs = tensors(new)
        with torch.no_grad():
            following = agent(obs)[1]
        later, gains = torch.zeros(ENVS), list[torch.Tensor]()
        for t in reversed(range(STEPS)):
            later = rewards[t] + (1 - ends[t]) * GAMMA * (following + LAM * later) - values[t]
            following = values[t]
            gains.insert(0, later)
        kept = torch.cat(counts)
        batch = {name: torch.cat([o[name] for o in seen])[kept] for name in obs}
        columns = (torch.cat(parts)[kept] for parts in (actions, logprobs, values, gains))
        chosen, before, guesses, advantages = columns
        for _ in range(EPOCHS):
            for part in torch.randperm(len(chosen)).chunk(MINIBATCHES):
                distribution, value = agent({name: column[part] for name, column in batch.items()})
                ratio = (distribution.log_prob(chosen[part]) - before[part]).exp()
                gain = (advantages[part] - advantages[part].mean()) / (advantages[part].std() + 1e-8)
                surrogate = torch.min(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain).mean()
                error = (value - guesses[part] - advantages[part]).square().mean()
                loss = -surrogate + 0.5 * error - ENTROPY * distribution.entropy().mean()
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimiser.step()
    envs.close()
    return episodes


def tensors(obs: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """Observations of all environments as tensors."""
    return {name: torch.as_tensor(array) for name, array in obs.items()}


if __name__ == "__main__":
    episodes = train()
    for name, some in (("first", episodes[:20]), ("last", episodes[-20:])):
        print(f"{name} {len(some)} episodes: mean return {np.mean([e['return'] for e in some]):.2f}")
