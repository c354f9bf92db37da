"""Recall: each rival learns a task that needs its memory, and fails at it without.

An episode shows pairs, an observation and the action taken with it; after a delay the goal asks for a pair by
its observation, and the policy should name its action. Supervised, so that a failure is the memory's.
"""

import dataclasses
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import pytest

from rapidtask.agents.rivals.lstm import LSTMConfig
from rapidtask.agents.rivals.merlin import MerlinConfig
from rapidtask.agents.rivals.mra import MRAConfig
from rapidtask.agents.rivals.transformer import TransformerConfig
from rapidtask.envs.environment import EnvironmentSpec, TimeStep

NUM_SYMBOLS, NUM_DISTRACTORS, NUM_ACTIONS = 16, 4, 5
CHANCE = 1 / NUM_ACTIONS

LSTM = LSTMConfig(embedding_width=32, torso_width=64, width=128, policy_width=64)
MERLIN = MerlinConfig(embedding_width=32, width=64, latent_width=64, policy_width=64)
MRA = MRAConfig(embedding_width=32, torso_width=64, width=64, key_width=32, policy_width=64)
TRANSFORMER = TransformerConfig(embedding_width=32, width=64, policy_width=64)


@dataclass(frozen=True)
class Recall:
    """Sizes of the task."""

    num_pairs: int
    delay: int
    num_questions: int

    @property
    def num_steps(self):
        return 1 + self.num_pairs + self.delay + self.num_questions

    def sample(self, key, batch_size):
        """Timesteps `[T, B]` and the right actions of the questions, which end the episode."""
        keys = jax.random.split(key, 6)
        shape = (self.num_steps, batch_size)

        def distractors(key):
            return NUM_SYMBOLS + jax.random.randint(key, shape, 0, NUM_DISTRACTORS)

        order = jax.random.uniform(keys[0], (NUM_SYMBOLS, batch_size))
        shown = jnp.argsort(order, axis=0)[: self.num_pairs]
        actions = jax.random.randint(keys[1], shape, 0, NUM_ACTIONS).at[0].set(0)
        pairs = slice(1, 1 + self.num_pairs)
        asked = jax.random.randint(keys[2], (self.num_questions, batch_size), 0, self.num_pairs)
        goals = distractors(keys[4]).at[-self.num_questions :].set(jnp.take_along_axis(shown, asked, 0))
        first = jnp.zeros(shape, bool).at[0].set(True)
        timesteps = TimeStep(
            observation=distractors(keys[3]).at[pairs].set(shown),
            goal=goals,
            action=actions,
            reward=jnp.zeros(shape),
            completed=~first & first,
            discount=jnp.ones(shape),
            first=first,
            last=~first & first,
        )
        return timesteps, jnp.take_along_axis(actions[pairs], asked, 0)


def train(config, task, *, num_updates, batch_size=32, learning_rate=2e-3, num_slots=None, fixed_batch=False):
    """Share of right answers, and loss, of each update."""
    num_slots = num_slots or task.num_steps
    spec = EnvironmentSpec(NUM_SYMBOLS + NUM_DISTRACTORS, NUM_ACTIONS, num_slots)
    agent = config.make(spec, 0)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(learning_rate))

    def loss(agent, key):
        timesteps, answers = task.sample(key, batch_size)
        output, _ = agent.unroll(agent.initial_state(batch_size), timesteps, agent.embed())
        logits = output.logits[-task.num_questions :]
        nats = optax.softmax_cross_entropy_with_integer_labels(logits, answers).mean()
        return nats + output.auxiliary_loss.mean(), (jnp.mean(logits.argmax(-1) == answers), nats)

    @eqx.filter_jit
    def update(agent, optimiser_state, key):
        (_, score), gradient = eqx.filter_value_and_grad(loss, has_aux=True)(agent, key)
        change, optimiser_state = optimiser.update(gradient, optimiser_state)
        return eqx.apply_updates(agent, change), optimiser_state, score

    optimiser_state = jax.jit(optimiser.init)(eqx.filter(agent, eqx.is_array))
    scores = []
    for i in range(num_updates):
        key = jax.random.fold_in(jax.random.key(1), 0 if fixed_batch else i)
        agent, optimiser_state, score = update(agent, optimiser_state, key)
        scores.append(score)
    right, nats = zip(*scores, strict=True)
    return jnp.stack(right), jnp.stack(nats)


def final_score(*args, **kwargs):
    """Share of right answers in the last 25 updates, each on episodes never seen before."""
    return float(train(*args, **kwargs)[0][-25:].mean())


@pytest.mark.parametrize(
    "config", [LSTM, MERLIN, MRA, TRANSFORMER], ids=["lstm", "merlin", "mra", "transformer"]
)
def test_recall_is_learned_by_heart_in_a_few_updates(config):
    """Quick: gradients reach what it takes to fit one small batch."""
    small = {"embedding_width": 16, "width": 32, "policy_width": 32}
    config = dataclasses.replace(config, **small)
    task = Recall(num_pairs=2, delay=1, num_questions=2)
    _, nats = train(config, task, num_updates=40, batch_size=8, learning_rate=1e-2, fixed_batch=True)
    assert nats[0] > 1.4  # log 5 = 1.61: near chance
    assert nats[-1] < 0.3


@pytest.mark.slow
def test_lstm_recalls_three_pairs():
    score = final_score(LSTM, Recall(3, 0, 3), num_updates=2500, batch_size=128, learning_rate=3e-3)
    assert score > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("retroactive", [True, False])
def test_merlin_recalls_eight_pairs_by_its_memory(retroactive):
    config = dataclasses.replace(MERLIN, retroactive=retroactive)
    assert final_score(config, Recall(8, 16, 8), num_updates=700) > 0.9


@pytest.mark.slow
def test_mra_recalls_eight_pairs_by_its_memory():
    assert final_score(MRA, Recall(8, 16, 8), num_updates=500) > 0.9


@pytest.mark.slow
def test_a_transformer_recalls_eight_pairs():
    assert final_score(TRANSFORMER, Recall(8, 16, 8), num_updates=700) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("config", "num_updates"), [(MERLIN, 700), (MRA, 500)], ids=["merlin", "mra"])
def test_without_its_memory_none_recalls_eight_pairs(config, num_updates):
    """One slot, filled by the first step, which shows nothing: what is left is the LSTM."""
    assert final_score(config, Recall(8, 16, 8), num_updates=num_updates, num_slots=1) < CHANCE + 0.1
