"""A straightforward PyTorch training iteration of the EPN, to measure ours against.

The same agent (residual block, 3 iterations, match, locate), rollout, minibatches, loss and optimiser as in
`fast`, with the paper's memory: 100 slots, one per step, all-to-all. Run by benchmarks/training_bench.py in
an environment of its own; prints one JSON object.
"""

import argparse
import json
import math
import time

import torch
from torch import nn
from torch.nn import functional as F

SIZE, WIDTH, ITERATIONS, STEPS, ENVS, MINIBATCH = 4, 64, 3, 100, 64, 256
CELLS, ACTIONS = SIZE * SIZE, 5


class Planner(nn.Module):
    """One shared iteration: pre-norm attention with a match bias, then an MLP."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))

    def forward(self, rows, bias):
        q, k, v = self.qkv(self.norm1(rows)).chunk(3, dim=-1)
        attended = F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], attn_mask=bias[:, None])
        rows = rows + self.out(attended[:, 0])
        return rows + self.mlp(self.norm2(rows))


class EPN(nn.Module):
    """The agent: rows with the goal, planner, readout, policy."""

    def __init__(self):
        super().__init__()
        self.origin, self.successor, self.goal = (nn.Embedding(CELLS, WIDTH) for _ in range(3))
        self.action = nn.Embedding(ACTIONS, WIDTH)
        self.here = nn.Embedding(CELLS, WIDTH)
        matches = (nn.Parameter(torch.randn(2, WIDTH)) for _ in range(3))
        self.row_match, self.locate, self.read_match = matches
        self.gain = nn.Parameter(torch.tensor([4.0, 0.0, 0.0, 0.0]))
        self.planner = Planner()
        self.readout = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
        self.policy = nn.Sequential(
            nn.Linear(WIDTH + 2 * CELLS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU()
        )
        self.logits, self.value = nn.Linear(WIDTH, ACTIONS), nn.Linear(WIDTH, 1)

    def forward(self, origin, action, successor, mask, here, goal):
        same = lambda a, b: (a == b).float()  # noqa: E731
        rows = (
            self.origin(origin) + self.action(action) + self.successor(successor) + self.goal(goal)[:, None]
        )
        rows = rows + same(successor, goal[:, None])[..., None] * self.row_match[0]
        rows = rows + same(origin, goal[:, None])[..., None] * self.row_match[1]
        rows = rows + same(successor, here[:, None])[..., None] * self.locate[0]
        rows = rows + same(origin, here[:, None])[..., None] * self.locate[1]
        visible = mask | ~mask.any(-1, keepdim=True)
        bias = torch.where(visible, 0.0, -math.inf)[:, None, :]
        kinds = ((successor, origin), (origin, successor), (origin, origin), (successor, successor))
        for gain, (mine, yours) in zip(self.gain, kinds, strict=True):
            bias = bias + gain * same(mine[:, :, None], yours[:, None, :])
        for _ in range(ITERATIONS):
            rows = self.planner(rows, bias)
        read = rows + self.here(here)[:, None]
        read = read + same(origin, here[:, None])[..., None] * self.read_match[0]
        read = read + same(successor, here[:, None])[..., None] * self.read_match[1]
        read = self.readout(read)
        summary = torch.where(mask[..., None], read, -math.inf).amax(1)
        summary = torch.where(mask.any(-1, keepdim=True), summary, 0.0)
        one_hot = lambda x: F.one_hot(x, CELLS).float()  # noqa: E731
        features = self.policy(torch.cat([summary, one_hot(here), one_hot(goal)], -1))
        return self.logits(features), self.value(features)[:, 0]


def loss_of(agent, batch):
    """Actor-critic loss of a minibatch."""
    logits, value = agent(*batch["inputs"])
    log_all = F.log_softmax(logits, -1)
    log_probability = log_all.gather(1, batch["action"][:, None])[:, 0]
    ratio = (log_probability.detach() - batch["log_probability"]).exp().clamp(max=1.0)
    policy = -(ratio * batch["advantage"] * log_probability).mean()
    entropy = -(log_all.exp() * log_all).sum(-1).mean()
    value_loss = 0.5 * (batch["target"] - value).square().mean()
    return policy + 0.5 * value_loss - 0.05 * entropy


class Memory:
    """One row per step."""

    def __init__(self):
        self.rows = torch.zeros(3, ENVS, STEPS, dtype=torch.long)
        self.size = 0

    def inputs(self, here, goal):
        mask = (torch.arange(STEPS) < self.size).expand(ENVS, STEPS)
        return (*self.rows.clone(), mask, here, goal)

    def add(self, origin, action, successor):
        self.rows[:, :, self.size] = torch.stack([origin, action, successor])
        self.size += 1


def rollout(agent, moves):
    """One episode of every environment."""
    symbols = torch.stack([torch.randperm(CELLS) for _ in range(ENVS)])
    state, goal = torch.randint(CELLS, (ENVS,)), torch.randint(CELLS, (ENVS,))
    memory, record = Memory(), []
    index = torch.arange(ENVS)
    for _ in range(STEPS):
        here, wanted = symbols[index, state], symbols[index, goal]
        inputs = memory.inputs(here, wanted)
        with torch.no_grad():
            logits, value = agent(*inputs)
        log_all = F.log_softmax(logits, -1)
        action = torch.multinomial(log_all.exp(), 1)[:, 0]
        state = moves[state, action]
        done = (state == goal) & (action == 4)
        goal = torch.where(done, torch.randint(CELLS, (ENVS,)), goal)
        memory.add(here, action, symbols[index, state])
        chosen = log_all.gather(1, action[:, None])[:, 0]
        record.append((inputs, action, chosen, value, done.float()))
    return record


def learn(agent, optimisers, record, loss_function):
    """One pass over a rollout in random minibatches."""
    rewards, values = torch.stack([r[4] for r in record]), torch.stack([r[3] for r in record])
    targets, running = torch.zeros_like(values), torch.zeros(ENVS)
    for t in reversed(range(STEPS)):
        following = values[t + 1] if t + 1 < STEPS else torch.zeros(ENVS)
        running = rewards[t] + 0.9 * following - values[t] + 0.9 * 0.95 * running
        targets[t] = values[t] + running
    flat = lambda items: torch.stack(items).flatten(0, 1)  # noqa: E731
    inputs = [flat([r[0][i] for r in record]) for i in range(6)]
    action, log_probability = flat([r[1] for r in record]), flat([r[2] for r in record])
    target, advantage = targets.flatten(), (targets - values).flatten()
    order = torch.randperm(STEPS * ENVS)
    for index in order.split(MINIBATCH):
        batch = {
            "inputs": [x[index] for x in inputs],
            "action": action[index],
            "log_probability": log_probability[index],
            "target": target[index],
            "advantage": advantage[index],
        }
        for optimiser in optimisers:
            optimiser.zero_grad()
        loss_function(agent, batch).backward()
        torch.nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
        for optimiser in optimisers:
            optimiser.step()


def main():
    """Time a few iterations."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--iterations", type=int, default=3)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    cells = torch.arange(CELLS)
    x, y = cells % SIZE, cells // SIZE
    offsets = ((0, 1), (0, -1), (-1, 0), (1, 0), (0, 0))
    moves = torch.stack([(y + dy) % SIZE * SIZE + (x + dx) % SIZE for dx, dy in offsets], 1)
    agent = EPN()
    inside = (".qkv", ".out", "mlp.", "readout.", "policy.")
    hidden = [p for n, p in agent.named_parameters() if p.ndim == 2 and any(part in n for part in inside)]
    chosen = {id(p) for p in hidden}
    rest = [p for p in agent.parameters() if id(p) not in chosen]
    optimisers = [torch.optim.Muon(hidden, lr=5e-3), torch.optim.Adam(rest, lr=1e-3)]
    acting = torch.compile(agent) if arguments.compile else agent
    loss_function = torch.compile(loss_of) if arguments.compile else loss_of
    seconds = []
    for _ in range(arguments.iterations + 1):
        began = time.perf_counter()
        record = rollout(acting, moves)
        acted = time.perf_counter()
        learn(agent, optimisers, record, loss_function)
        seconds.append((acted - began, time.perf_counter() - acted))
    act, update = min(s[0] for s in seconds[1:]), min(s[1] for s in seconds[1:])
    print(json.dumps({"steps_per_second": ENVS * STEPS / (act + update), "acting": act, "learning": update}))


main()
