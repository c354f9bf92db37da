"""Options of training, and the two recipes: the paper's and the fast one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from rapidtask.agents.epn import EPNConfig
from rapidtask.learning.optimisers import OptimiserName


@dataclass(frozen=True)
class LearningConfig:
    """Options of learning; the defaults are recipe `fast`."""

    num_envs: int = 64
    """Environments that act side by side, B."""
    stagger: bool = False
    """Cut each environment's first episode short, at another step each: they are never all in the same phase
    of an episode."""
    rollout_steps: int | None = None
    """Actions per environment between two rounds of learning, T; by default a whole episode and its reset."""
    cpu_devices: int = 2
    """On a CPU, parts that environments and minibatches are divided into and computed side by side. Results
    depend on it, not on how many cores there are."""
    minibatch_size: int = 256
    """Steps per parameter update."""
    shuffle: bool = True
    """Draw minibatches from all steps, where the agent is not recurrent; else whole rollouts."""
    learned_share: float = 0.5
    """Share of a rollout's shuffled steps that are learned from; those with large advantages come first."""
    discount: float = 0.9
    """Discount of rewards, gamma."""
    lambda_: float = 0.95
    """V-trace's mix of one-step (0) and whole returns (1)."""
    ratio_clip: float | None = 0.2
    """In shuffled minibatches, leave out of the policy gradient steps whose action's probability has already
    moved this far (PPO); None for V-trace's ratios alone."""
    entropy: float = 0.1
    """Weight of the policy's entropy at the start."""
    entropy_end: float = 0.001
    """Weight of the policy's entropy at the end of training; linear in between."""
    normalise_advantages: bool = True
    """Give advantages mean 0 and standard deviation 1 (PPO), over a rollout or, of whole rollouts, over a
    minibatch: late in training they are small, and the baseline's error would drown them."""
    value_weight: float = 0.5
    """Weight of the baseline's squared error."""
    random_iterations: bool = False
    """Whether the EPN learns to act after each number of planner iterations up to its own, drawn for every
    step it learns from."""
    optimiser: OptimiserName = "muon"
    """Muon for hidden matrices and Adam for the rest, or Adam, or the paper's RMSprop."""
    learning_rate: float = 5e-3
    """Learning rate at the start."""
    learning_rate_end: float = 0.1
    """Learning rate at the end, as a share of that at the start; linear in between."""
    gradient_clip: float = 1.0
    """Largest global norm of a gradient."""
    sum_loss: bool = False
    """Sum the loss over the steps of a minibatch, as IMPALA's reference does, instead of averaging it.
    RMSprop's epsilon and the clip are sizes of gradients: they mean something else then."""


FAST = LearningConfig()

PAPER = LearningConfig(
    stagger=True,
    learned_share=1.0,
    rollout_steps=20,
    minibatch_size=1280,
    shuffle=False,
    lambda_=1.0,
    ratio_clip=None,
    entropy=0.01,
    entropy_end=0.01,
    normalise_advantages=False,
    optimiser="rmsprop",
    learning_rate=2e-4,
    learning_rate_end=1.0,
    gradient_clip=40.0,
    sum_loss=True,
)
"""IMPALA's V-trace with RMSprop (paper, appendix). Minibatches of 64 unrolls of 20 steps, entropy, discount
and learning rate lie within the intervals that the paper tuned in; 40 is IMPALA's clip."""

Recipe = Literal["fast", "paper"]
RECIPES: dict[str, LearningConfig] = {"fast": FAST, "paper": PAPER}


RECURRENT = replace(
    FAST,
    minibatch_size=808,
    shuffle=False,
    learned_share=1.0,
    discount=0.98,
    ratio_clip=None,
    entropy=0.0029,
    entropy_end=0.0006,
    normalise_advantages=False,
    learning_rate=0.0141,
)
"""Recipe `fast` for agents that learn from whole rollouts: the best of the LSTM's search on the game."""

STREETS = "streetlearn"


def learning_for(recipe: str, agent: str) -> LearningConfig:
    """How a recipe trains an agent by default."""
    return RECURRENT if recipe == "fast" and agent != "epn" else RECIPES[recipe]


def epn_for(recipe: str, domain: str = "memory-planning") -> EPNConfig:
    """The EPN that a recipe trains by default."""
    # Ways are longer on streets.
    paper = replace(EPNConfig(), iterations=4 if domain == STREETS else 3)
    if recipe == "paper":
        return paper
    return replace(
        paper,
        block="residual",
        compare_places=True,
        # A head for each kind of match: look ahead, back, and at what starts or ends in the same place.
        num_heads=4,
        comparison_gain=8.0,
        state_in_rows=True,
        plan_with_newest=True,
        goal_as_successor=True,
        symbols="fixed",
        vision="whitened",
        readout_width=256 if domain == STREETS else None,
    )
