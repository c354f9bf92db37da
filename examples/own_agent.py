"""An agent of your own, from scratch: it remembers every move it saw and takes the shortest way it knows.

rapidtask score own_agent:make_agent --tasks game-3x3
"""

import numpy as np


class EdgeRememberer:
    """Plans over the moves that were seen in this episode; where it knows no way, it tries what is new."""

    def __init__(self, num_observations: int, num_actions: int) -> None:
        self.num_observations, self.num_actions = num_observations, num_actions

    def reset(self, num_episodes: int) -> None:
        """Forget everything: so many episodes begin."""
        # Where each action led from each place, -1 where it was not tried; which action completes a task.
        self.moves = np.full((num_episodes, self.num_observations, self.num_actions), -1)
        self.before = np.full(num_episodes, -1)
        self.collects = -1
        self.generator = np.random.default_rng(0)

    def act(self, observation: dict[str, np.ndarray]) -> np.ndarray:
        """The actions of all episodes."""
        places, goals = observation["position"].argmax(1), observation["goal"].argmax(1)
        taken, rewards = observation["previous_action"].argmax(1), observation["previous_reward"][:, 0]
        for i in np.flatnonzero(self.before >= 0):
            if rewards[i] < 1:  # after a task the agent may be elsewhere
                self.moves[i, self.before[i], taken[i]] = places[i]
            elif self.before[i] == self.last_goals[i]:
                self.collects = taken[i]  # it was on the goal already: this action completes tasks
        self.before, self.last_goals = places, goals
        return np.array([self.choose(*each) for each in zip(self.moves, places, goals, strict=True)])

    def choose(self, moves: np.ndarray, place: int, goal: int) -> int:
        """One episode's action: along the shortest known way to the goal, else to something not tried."""
        if place == goal and self.collects >= 0:
            return self.collects
        steps = self.steps_to(moves, np.arange(len(moves)) == goal)
        if place == goal or not np.isfinite(steps[place]):
            steps = self.steps_to(moves, (moves < 0).any(1))
            if steps[place] == 0:
                return int(self.generator.choice(np.flatnonzero(moves[place] < 0)))
        after = np.where(moves[place] >= 0, steps[moves[place]], np.inf)
        return int(self.generator.choice(np.flatnonzero(after == after.min())))

    def steps_to(self, moves: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Known moves from every place to the nearest target."""
        steps = np.where(targets, 0.0, np.inf)
        for _ in range(len(moves)):
            after = np.where(moves >= 0, steps[moves], np.inf).min(axis=1)
            shorter = np.minimum(steps, after + 1)
            if (shorter == steps).all():
                break
            steps = shorter
        return steps


def make_agent(spec):
    """What `rapidtask score` calls for every shape of worlds: an agent, or None where it cannot act."""
    return None if spec.pixels else EdgeRememberer(spec.num_observations, spec.num_actions)
