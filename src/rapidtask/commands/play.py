"""`rapidtask play`: a person plays the game in the terminal."""

from __future__ import annotations

from dataclasses import dataclass, field

from rapidtask.envs.registry import MemoryPlanning, WorldOptions


@dataclass(frozen=True, kw_only=True)
class Play:
    """Play the game yourself: arrow keys or wasd to move, space to collect, q to quit."""

    world: WorldOptions = field(default_factory=MemoryPlanning)
    """Options of the world."""
    seed: int = 0
    """Seed of the world."""
    reveal: bool = False
    """Draw the map that an agent never sees."""

    def run(self) -> None:
        """Play one episode."""
        from rapidtask.play import play

        play(self.world.make(), seed=self.seed, reveal=self.reveal)
