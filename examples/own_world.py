"""Your own environment: a graph becomes an RTS world, an agent is trained in it and evaluated."""

import sys
from dataclasses import dataclass
from pathlib import Path

import networkx as nx

from rapidtask.envs import EnvironmentSpec, WorldOptions
from rapidtask.envs.registry import DOMAINS
from rapidtask.evaluation import evaluate
from rapidtask.learning.config import epn_for
from rapidtask.policies import make_policy
from rapidtask.policies.learned import make_learned_policy
from rapidtask.runs.agent_files import load_agent
from rapidtask.runs.config import RunConfig
from rapidtask.runs.run import RunOptions, run
from rapidtask.worlds import WorldPool, make_pool, world_from_graph


@dataclass(frozen=True)
class Metro(WorldOptions):
    """Stations on two lines that cross; in every episode they have new names."""

    episode_steps: int = 60
    stations: int = 12

    @property
    def spec(self) -> EnvironmentSpec:
        # A name for each station; up to three neighbours to go to, and collect.
        return EnvironmentSpec(self.stations, num_actions=4, episode_steps=self.episode_steps)

    def sample(self) -> WorldPool:
        graph = nx.cycle_graph(self.stations)
        graph.add_edges_from([(0, self.stations // 2), (self.stations // 4, 3 * self.stations // 4)])
        world, _ = world_from_graph(graph)
        return make_pool(world, shuffle_observations=True)


def main(folder: Path, steps: int) -> None:
    """Train for so many steps, keep the run in the folder, print goals per episode."""
    DOMAINS["metro"] = Metro  # its name in the files of runs
    run(RunConfig(world=Metro(), agent=epn_for("fast"), steps=steps), folder, RunOptions())
    agent, config = load_agent(folder)
    environment = config.world.make()
    policies = {"epn": make_learned_policy(agent, environment)}
    policies |= {name: make_policy(name, environment) for name in ("edges", "oracle")}
    for scores in evaluate(environment, policies, episodes=100):
        print(f"{scores.policy}: {scores.goals_per_episode:.1f} goals per episode")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200_000)
