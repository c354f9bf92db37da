"""Where the steps of an agent go in the last third of episodes: along known ways, or to find out; and waste.

python benchmarks/steps_probe.py [--agents NAME ...] [--intersections 5] [--episodes 64] [--greedy]

A step is *known* if the moves made so far in the episode lead to the goal, else it *explores*. Wasted are the
moves by which the way to the goal, or to the nearest move that was not made, does not become shorter.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import rapidtask
from rapidtask.envs.street_options import StreetLearn
from rapidtask.evaluation.play import play
from rapidtask.evaluation.report import make_table, print_table
from rapidtask.policies.learned import make_learned_policy
from timing import machine

FAR = 10**6


def steps_to(successor: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Fewest known moves to a target from each state, and from the nowhere that moves not made lead to."""
    distance = np.append(np.where(targets, 0, FAR), FAR)
    while (shorter := np.minimum(distance[:-1], distance[successor].min(1) + 1)).sum() < distance[:-1].sum():
        distance[:-1] = shorter
    return distance


def main(
    agents: Sequence[str] = ("epn-streetlearn-symbols",),
    intersections: int = 5,
    episodes: int = 64,
    greedy: bool = False,
    seed: int = 11,
) -> None:
    """Measure and print."""
    town = StreetLearn(num_intersections=intersections, episode_steps=40 * intersections).held_out()
    environment = town.make()
    following, num_moves = np.asarray(environment.pool.worlds.next_state), environment.rules.num_moves
    num_states, third = following.shape[1], town.episode_steps // 3
    headings = [
        "agent",
        "goals",
        "known: steps",
        "wasted",
        "further than need be",
        "explores: steps",
        "wasted",
    ]
    caption = (
        f"{intersections} intersections, a last third of {third} steps, {episodes} episodes; {machine()}"
    )
    table = make_table("Where steps go", headings, caption)
    for name in agents:
        is_file = Path(name).exists()
        trained, config = rapidtask.load_agent(Path(name)) if is_file else rapidtask.load_pretrained(name)
        agent, _ = rapidtask.fit_agent(trained, config, environment, new_symbols=True)
        played = play(environment, make_learned_policy(agent, environment, greedy=greedy), episodes, seed)
        known, explores = [], []
        for number in range(episodes):
            world, moves = played.world[number], np.full((num_states, num_moves), num_states)
            distance = np.asarray(environment.pool.worlds.distance[world], int)
            seen = np.zeros(num_states + 1, bool)
            for t in range(town.episode_steps):
                here, goal, move = (x[t, number] for x in (played.state, played.goal, played.action))
                seen[[here, *moves[here]]] = True
                if t >= town.episode_steps - third:
                    ways = steps_to(moves, np.arange(num_states) == goal)
                    found = known if ways[here] < FAR else explores
                    if found is explores:
                        ways = steps_to(moves, (moves == num_states).any(1) & seen[:-1])
                    tries = moves[here, move] == num_states
                    waste = 0 if tries else ways[moves[here, move]] - ways[here] + 1
                    found.append((min(waste, 2), min(ways[here], FAR) - distance[here, goal]))
                moves[here, move] = following[world, here, move]
        cells = [f"{len(known) / episodes:.1f}", f"{sum(w > 0 for w, _ in known) / episodes:.1f}"]
        cells += [f"{np.mean([further for _, further in known]):.2f} moves"]
        cells += [f"{len(explores) / episodes:.1f}", f"{sum(w > 0 for w, _ in explores) / episodes:.1f}"]
        table.add_row(name, f"{played.completed[-third:].sum(0).mean():.2f}", *cells)
    print_table(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # pyright: ignore
    parser.add_argument("--agents", nargs="+")
    parser.add_argument("--intersections", type=int)
    parser.add_argument("--episodes", type=int)
    parser.add_argument("--greedy", action="store_true", default=None)
    main(**{name: value for name, value in vars(parser.parse_args()).items() if value is not None})
