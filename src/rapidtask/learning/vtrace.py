"""V-trace (Espeholt et al. 2018, IMPALA, section 4.1): off-policy corrected targets for an actor-critic."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class VTrace(eqx.Module):
    """Targets of one trajectory."""

    values: Float[Array, " T"]
    """v_t: what the baseline should say."""
    advantages: Float[Array, " T"]
    """r_t + γ_t v_{t+1} - V_t: times the clipped ratio, what the policy gradient is scaled by."""


def vtrace(
    values_tm1: Float[Array, " T"],
    values_t: Float[Array, " T"],
    rewards_t: Float[Array, " T"],
    discounts_t: Float[Array, " T"],
    ratios_tm1: Float[Array, " T"],
    *,
    lambda_: float = 1.0,
    rho_bar: float = 1.0,
    c_bar: float = 1.0,
) -> VTrace:
    """V-trace targets of one trajectory; the caller vmaps over environments.

    Args:
        values_tm1: baseline of the state each action was taken in.
        values_t: baseline of the state it led to, in the same episode; the bootstrap is its last entry.
        rewards_t: reward of each action.
        discounts_t: discount after each action, 0 where the episode terminated.
        ratios_tm1: probability of each action now over that when it was taken; 0 for an action that was
            ignored, whose difference then reaches no earlier step.
        lambda_: mixes one-step and longer returns.
        rho_bar: clip of the ratios that weight temporal differences; it decides what is converged to.
        c_bar: clip of the ratios that carry differences backwards; it decides how fast.
    """
    rho = jnp.minimum(rho_bar, ratios_tm1)
    c = lambda_ * jnp.minimum(c_bar, ratios_tm1)
    differences = rho * (rewards_t + discounts_t * values_t - values_tm1)

    def back(correction: Array, inputs: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        difference, discount, carried = inputs
        correction = difference + discount * carried * correction
        return correction, correction

    _, corrections = jax.lax.scan(back, jnp.zeros(()), (differences, discounts_t, c), reverse=True)
    targets_tm1 = values_tm1 + corrections
    # v_{t+1}: the next step's target; the bootstrap value after the last.
    targets_t = jnp.concatenate([targets_tm1[1:], values_t[-1:]])
    mixed_t = lambda_ * targets_t + (1 - lambda_) * values_t
    advantages = rewards_t + discounts_t * mixed_t - values_tm1
    return VTrace(jax.lax.stop_gradient(targets_tm1), jax.lax.stop_gradient(advantages))
