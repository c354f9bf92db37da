"""Options of training, and the two recipes: the paper's and the fast one."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from rapidtask.agents.epn import EPNConfig
from rapidtask.learning.optimisers import OptimiserName
from rapidtask.options import Count, Positive, Range, Share, Weight, check_options


@dataclass(frozen=True)
class LearningConfig:
    """Options of learning; the defaults are recipe `fast`."""

    num_envs: Count = 32
    """Environments that act side by side, B."""
    lag: Annotated[int, Range(0, 1)] = 0
    """With --world gymnasium, rollouts that the actors are behind the learner: with 1 they live the next one
    while it learns, and V-trace corrects for it."""
    rollout_steps: Count | None = None
    """Actions per environment between two rounds of learning, T; by default a whole episode and its reset.
    Environments whose episodes are cut into rollouts are spread over the phases of an episode."""
    cpu_devices: Count = 2
    """On a CPU, parts that environments and minibatches are divided into and computed side by side. Results
    depend on it, not on how many cores there are."""
    minibatch_size: Count = 64
    """Steps per parameter update."""
    learned_share: Annotated[float, Range(sys.float_info.min, 1.0)] | None = 0.5
    """Share of a rollout's steps that are learned from, in minibatches of single steps drawn from all, those
    with large advantages first; None for minibatches of whole rollouts, which recurrent agents need."""
    discount: Share = 0.9
    """Discount of rewards, gamma."""
    vtrace_lambda: Share = 0.95
    """V-trace's mix of one-step (0) and whole returns (1)."""
    ratio_clip: Positive | None = 0.2
    """In minibatches of single steps, leave out of the policy gradient those whose action's probability has
    already moved this far (PPO); None for V-trace's ratios alone."""
    entropy: Weight = 0.1
    """Weight of the policy's entropy at the start."""
    entropy_end: Weight = 0.001
    """Weight of the policy's entropy at the end of training; linear in between."""
    normalise_advantages: bool = True
    """Give advantages mean 0 and standard deviation 1 (PPO), over a rollout or, of whole rollouts, over a
    minibatch: late in training they are small, and the baseline's error would drown them."""
    optimiser: OptimiserName = "muon"
    """Muon for hidden matrices and Adam for the rest, or Adam, on the mean loss of a minibatch; or the
    paper's RMSprop on the summed loss, as IMPALA's reference has it."""
    learning_rate: Positive = 5e-3
    """Learning rate at the start."""
    learning_rate_end: Share = 0.1
    """Learning rate at the end, as a share of that at the start; linear in between."""
    gradient_clip: Positive = 1.0
    """Largest global norm of a gradient."""

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def sums_loss(self) -> bool:
        """Whether losses are summed: RMSprop's epsilon and IMPALA's clip are sizes of such gradients."""
        return self.optimiser == "rmsprop"


FAST = LearningConfig()

PAPER = LearningConfig(
    num_envs=64,
    learned_share=None,
    rollout_steps=20,
    minibatch_size=1280,
    vtrace_lambda=1.0,
    ratio_clip=None,
    entropy=0.01,
    entropy_end=0.01,
    normalise_advantages=False,
    optimiser="rmsprop",
    learning_rate=2e-4,
    learning_rate_end=1.0,
    gradient_clip=40.0,
)
"""IMPALA's V-trace with RMSprop (paper, appendix). Minibatches of 64 unrolls of 20 steps, entropy, discount
and learning rate lie within the intervals that the paper tuned in; 40 is IMPALA's clip."""

Recipe = Literal["fast", "paper"]
RECIPES: dict[str, LearningConfig] = {"fast": FAST, "paper": PAPER}


RECURRENT = replace(
    FAST,
    num_envs=64,
    minibatch_size=808,
    learned_share=None,
    discount=0.98,
    ratio_clip=None,
    entropy=0.0029,
    entropy_end=0.0006,
    normalise_advantages=False,
    learning_rate=0.0141,
)
"""Recipe `fast` for agents that learn from whole rollouts: the best of the LSTM's search on the game."""

STREETS, GYMNASIUM = "streetlearn", "gymnasium"


def learning_for(recipe: str, agent: str, domain: str = "memory-planning") -> LearningConfig:
    """How a recipe trains an agent by default."""
    learning = RECURRENT if recipe == "fast" and agent != "epn" else RECIPES[recipe]
    # The other cores are for environments in processes of their own, where a rollout is a whole life.
    return replace(learning, cpu_devices=1, rollout_steps=None) if domain == GYMNASIUM else learning


def epn_for(recipe: str, domain: str = "memory-planning") -> EPNConfig:
    """The EPN that a recipe trains by default."""
    paper = replace(EPNConfig(), iterations=4 if domain == STREETS else 3)
    if recipe == "paper":
        return paper
    return replace(
        paper,
        width=32,
        # A head for each kind of neighbour: look ahead, back, and at what starts or ends in the same place.
        num_heads=4,
        comparisons="neighbours",
        symbols="none",
        memory="set",
        block="recall",
        # Rows look around them, in training 2 to 4 times, on streets 3 to 5; what is far comes by values.
        learned_iterations=paper.iterations - 1,
        value_channels=16,
        readout_width=128,
        plan_with_newest=True,
        goal_as_successor=True,
        vision="whitened",
    )
