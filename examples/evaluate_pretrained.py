"""Load an agent that comes with the package and score it on worlds it has never seen."""

import sys

from rapidtask import list_pretrained, load_pretrained
from rapidtask.evaluation import evaluate
from rapidtask.policies import make_policy
from rapidtask.policies.learned import make_learned_policy


def main(name: str, episodes: int = 200) -> None:
    """Print the goals per episode of the agent and of the oracle."""
    agent, config = load_pretrained(name)
    environment = config.world.held_out().make()
    policies = {name: make_learned_policy(agent, environment), "oracle": make_policy("oracle", environment)}
    for scores in evaluate(environment, policies, episodes=episodes):
        print(f"{scores.policy}: {scores.goals_per_episode:.1f} goals per episode")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"which agent? {', '.join(card.name for card in list_pretrained()) or 'none is shipped'}")
    main(sys.argv[1])
