"""What decoders made of situations in worlds that they were not trained on: losses, accuracy, reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from rapidtask.experiments.planner.decoder import Training
from rapidtask.experiments.planner.situations import Situations


@dataclass(frozen=True, eq=False)
class Decoded:
    """Test situations as read by the decoders of every iteration (I) and seed (R)."""

    training: Training
    test: Situations
    log_likelihood: Float[np.ndarray, "I R K C"]
    """Of each distance in each situation."""
    fewest_pairs: int = 20
    """Distances with fewer pairs in the test are not reported."""

    @property
    def target(self) -> Int[np.ndarray, " K"]:
        """The true distance, with all beyond the last class in it."""
        return np.minimum(self.test.distance, self.log_likelihood.shape[-1] - 1)

    @property
    def of_truth(self) -> Float[np.ndarray, "I R K"]:
        """Log-likelihood of the true distance."""
        return np.take_along_axis(self.log_likelihood, self.target[None, None, :, None], axis=-1)[..., 0]

    @property
    def loss(self) -> Float[np.ndarray, "I R"]:
        """Mean cross-entropy in the test's worlds."""
        return -self.of_truth.mean(axis=-1)

    @property
    def right(self) -> Float[np.ndarray, "I R K"]:
        """1 where the likeliest distance is the true one."""
        return (self.log_likelihood.argmax(-1) == self.target).astype(float)

    @property
    def expected(self) -> Float[np.ndarray, "I R K"]:
        """Expected distance."""
        return np.exp(self.log_likelihood) @ np.arange(self.log_likelihood.shape[-1])

    @property
    def distances(self) -> list[int]:
        """Distances with enough pairs in the test; not the last class, which stands for all further ones."""
        counts = np.bincount(self.test.distance)[: self.log_likelihood.shape[-1] - 1]
        return [d for d in range(len(counts)) if counts[d] >= self.fewest_pairs]

    def accuracy(self, distance: int) -> Float[np.ndarray, "I R"]:
        """Share of pairs at this distance that are read correctly."""
        return self.right[..., self.test.distance == distance].mean(axis=-1)

    def likelihood(self, distance: int) -> Float[np.ndarray, "I R"]:
        """Mean likelihood of the truth at this distance."""
        return np.exp(self.of_truth[..., self.test.distance == distance]).mean(axis=-1)


def reach(
    distances: list[int], accuracies: Float[np.ndarray, " N"], level: float = 0.5
) -> tuple[float, bool]:
    """The distance at which accuracy first falls below a level, between distances by linear interpolation.

    Returns:
        The distance, and whether accuracy did fall below: if not, the distance is the largest there was.
    """
    for i, (distance, accuracy) in enumerate(zip(distances, accuracies, strict=True)):
        if accuracy < level:
            if i == 0:
                return float(distance), True
            before = accuracies[i - 1]
            share = (before - level) / (before - accuracy)
            return float(distances[i - 1] + share * (distance - distances[i - 1])), True
    return float(distances[-1]), False
