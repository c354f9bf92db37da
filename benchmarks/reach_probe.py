"""How far plans reach: the probability of moves on a shortest way, by its length, with every move known.

python benchmarks/reach_probe.py [--agents NAME ...] [--intersections 100] [--iterations 4 | --sweeps 64]

The largest neighbourhoods of the held-out city (the real one, if RAPIDTASK_CITIES names it), all of their
transitions in memory: what is measured is the plan alone, not exploration.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

import rapidtask
from rapidtask.agents.epn import EPN
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import Environment, TimeStep
from rapidtask.envs.street_options import StreetLearn
from rapidtask.evaluation.report import make_table, print_table
from timing import machine

LENGTHS = ((1, 4), (5, 8), (9, 12), (13, 16), (17, 24), (25, 60))
BATCH, DRAWS, WORLDS = 32, 3, 2


def situations(environment: Environment, world: int, generator: np.random.Generator):
    """A batch of memories of the whole world, timesteps, lengths of ways, and which moves lie on them."""
    worlds, moves = environment.pool.worlds, environment.rules.num_moves
    num_states, distance = int(worlds.num_states[world]), np.asarray(worlds.distance[world], int)
    following = np.asarray(worlds.next_state[world])[:num_states, :moves]
    pairs = []
    for low, high in LENGTHS:
        near = distance[:num_states, :num_states]
        found = np.argwhere((near >= low) & (near <= high))
        if len(found):
            pairs.append(found[generator.integers(len(found), size=BATCH // len(LENGTHS) + 1)])
    here, goal = np.resize(generator.permutation(np.concatenate(pairs)), (BATCH, 2)).astype(np.int32).T
    rows = [*np.indices(following.shape), following, np.ones_like(following), np.ones_like(following)]
    slots = moves * int(np.max(worlds.num_states))
    padded = [np.pad(row.ravel().astype(np.int32), (0, slots - following.size)) for row in rows]
    none = np.zeros(BATCH, np.int32)
    memory = Memory(*(np.tile(row, (BATCH, 1)) for row in padded), *(none, here, goal))  # pyright: ignore
    no, zero = none > 0, none.astype(np.float32)
    timestep = TimeStep(here, goal, none, zero, no, zero + 1, no, no)  # pyright: ignore
    after = distance[following[here], goal[:, None]]
    return memory, timestep, distance[here, goal], after == after.min(axis=1, keepdims=True)


@eqx.filter_jit
def decide(agent: EPN, memory: Memory, timestep: TimeStep) -> jax.Array:
    """Probabilities of actions."""
    return jax.nn.softmax(agent.act(memory, timestep, agent.embed()).logits)


def main(
    agents: Sequence[str] = ("epn-streetlearn-symbols",),
    intersections: int = 100,
    iterations: Sequence[int] = (),
    sweeps: Sequence[int] = (4, 16, 64),
) -> None:
    """Measure and print."""
    town = StreetLearn(num_intersections=intersections, episode_steps=40 * intersections, pool_size=WORLDS)
    environment = town.held_out().make()
    headings = ["agent", "thinking", *(f"{low}-{high}" for low, high in LENGTHS)]
    caption = (
        f"{intersections} intersections, by length in moves; {BATCH * DRAWS * WORLDS} situations; {machine()}"
    )
    table = make_table("Probability of moves on a shortest way", headings, caption)
    for name in agents:
        is_file = Path(name).exists()
        trained, config = rapidtask.load_agent(Path(name)) if is_file else rapidtask.load_pretrained(name)
        for thought in [("iterations", n) for n in iterations] or [("sweeps", n) for n in sweeps]:
            options = {thought[0]: thought[1]}
            agent, _ = rapidtask.fit_agent(trained, config, environment, new_symbols=True, **options)
            assert isinstance(agent, EPN)
            generator, lengths, right = np.random.default_rng(0), [], []
            for world in np.repeat(np.arange(WORLDS), DRAWS):
                memory, timestep, length, best = situations(environment, int(world), generator)
                lengths.append(length)
                right.append((np.asarray(decide(agent, memory, timestep))[:, : best.shape[1]] * best).sum(1))
            length, chance = np.concatenate(lengths), np.concatenate(right)
            means = (chance[(length >= low) & (length <= high)] for low, high in LENGTHS)
            table.add_row(
                name,
                f"{thought[1]} {thought[0]}",
                *(f"{part.mean():.2f}" if len(part) else "–" for part in means),
            )
    print_table(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # pyright: ignore
    parser.add_argument("--agents", nargs="+")
    parser.add_argument("--intersections", type=int)
    parser.add_argument("--iterations", type=int, nargs="+", help="of attention; values come to rest")
    parser.add_argument("--sweeps", type=int, nargs="+", help="of values")
    main(**{name: value for name, value in vars(parser.parse_args()).items() if value is not None})
