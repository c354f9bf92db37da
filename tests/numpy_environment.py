"""The Memory&Planning Game in plain Python and NumPy, written from the rules alone: slow, and independent."""

import numpy as np


class NumpyMemoryPlanning:
    """One game on coordinates (x, y); what is random is drawn by the caller's generator."""

    MOVES = ((0, 1), (0, -1), (-1, 0), (1, 0))  # up, down, left, right; action 4 collects

    def __init__(self, generator, size=4, steps=100, respawn=False, per_step_reward=0.0):
        self.generator, self.size, self.steps = generator, size, steps
        self.respawn, self.per_step_reward = respawn, per_step_reward

    def reset(self):
        self.t = 0
        self.symbols = self.generator.permutation(self.size**2).reshape(self.size, self.size)  # [y, x]
        self.position = self.draw_cell()
        self.goal = self.draw_goal()
        return self.observe()

    def step(self, action):
        self.t += 1
        reward = self.per_step_reward
        if action == 4:
            if self.position == self.goal:
                reward = 1.0
                if self.respawn:
                    self.position = self.draw_cell()
                self.goal = self.draw_goal()
        else:
            dx, dy = self.MOVES[action]
            x, y = self.position
            self.position = ((x + dx) % self.size, (y + dy) % self.size)
        return self.observe(), reward, self.t >= self.steps

    def observe(self):
        (x, y), (goal_x, goal_y) = self.position, self.goal
        position, goal = np.zeros(self.size**2, np.int32), np.zeros(self.size**2, np.int32)
        position[self.symbols[y, x]] = 1
        goal[self.symbols[goal_y, goal_x]] = 1
        return {"position": position, "goal": goal}

    def draw_cell(self):
        return tuple(int(i) for i in self.generator.integers(self.size, size=2))

    def draw_goal(self):
        while (cell := self.draw_cell()) == self.position:
            pass
        return cell
