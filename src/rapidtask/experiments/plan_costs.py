"""What a plan costs against the rows of memory: time and room."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import jax
import numpy as np

from rapidtask.agents.epn import EPN, EPNConfig
from rapidtask.agents.memory import Memory
from rapidtask.envs.environment import EnvironmentSpec, TimeStep
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations
from rapidtask.experiments.figure import Drawing, Figure, NotAvailable, Row, Table
from rapidtask.experiments.tables import array, group_by, values

NEIGHBOURS, PAIRS, RECENT = "neighbours, in lists", "all pairs, masked", "Nxk, k = 50"
NUM_MOVES = 3


class PlanCosts(Figure[Evaluations]):
    """Neighbours in lists, the same as a mask of all pairs, and the paper's Nxk."""

    title: str = "Beyond the paper: what a plan costs"
    caption: str = (
        "One plan of an agent of recipe `fast`, its values included, over all transitions of a world whose "
        "three moves permute its states: with neighbours looked up in lists (from 256 rows on), as a mask of "
        "all pairs, which is the same plan, and for the 50 most recent rows attending to all (Nxk), without "
        "values. Left: milliseconds of the clock, the least of several. Right: working memory."
    )
    rows: tuple[int, ...] = (100, 300, 1000, 3000, 10_000)
    most_pairs: int = 3000
    """Rows up to which all pairs are tried: 10,000 would need gigabytes."""
    repeats: int = 20

    def table(self, source: Evaluations) -> Iterator[Row]:
        config = source.epn().config.agent
        if config.comparisons != "neighbours":
            raise NotAvailable(
                "needs an EPN whose rows see their neighbours (--agent.comparisons neighbours)"
            )
        yield from self.costs(config)

    def costs(self, config: EPNConfig) -> Iterator[Row]:
        """Milliseconds and megabytes of plans by an agent with fresh weights; equal plans are compared."""
        recent = replace(config, comparisons="attention", recent_rows=50, learned_iterations=None)
        recent = replace(recent, value_channels=0)
        for num_rows in self.rows:
            memory, plans = all_transitions(num_rows), {}
            shape = EnvironmentSpec(num_rows // NUM_MOVES, NUM_MOVES, num_rows)
            for kind, options in ((NEIGHBOURS, config), (PAIRS, config), (RECENT, recent)):
                if kind != PAIRS or num_rows <= self.most_pairs:
                    agent = options.make(shape, 0)
                    plans[kind], cost = self._measure(agent, memory, masked=kind == PAIRS)
                    yield {"plan": kind, "rows": memory.origin.shape[1], **cost}
            if PAIRS in plans:
                np.testing.assert_allclose(plans[PAIRS], plans[NEIGHBOURS], rtol=1e-3, atol=1e-3)

    def _measure(self, agent: EPN, memory: Memory, *, masked: bool) -> tuple[np.ndarray, Row]:
        none = np.zeros(1, np.int32)
        no, zero = none > 0, none.astype(np.float32)
        timestep = TimeStep(none, none + 1, none, zero, no, zero, no, no)  # pyright: ignore

        @jax.jit
        def plan(memory: Memory) -> jax.Array:
            # Who is to tell its attention plans by masks; what is not used of it is not computed.
            made = agent.plan(memory, timestep, agent.embed(), only_last=True, with_attention=masked)
            return agent.with_values(made.beliefs[-1], made.memory, agent.embed())

        compiled, seconds = plan.lower(memory).compile(), []
        result = jax.block_until_ready(compiled(memory))
        for _ in range(self.repeats):
            began = time.perf_counter()
            jax.block_until_ready(compiled(memory))
            seconds.append(time.perf_counter() - began)
        room = compiled.memory_analysis().temp_size_in_bytes  # pyright: ignore[reportOptionalMemberAccess]
        return np.asarray(result), {"milliseconds": 1e3 * min(seconds), "megabytes": room / 1e6}

    def plot(self, rows: Table) -> Drawing:
        drawing, panels = style.subplots(7.6, 3.4, 1, 2)
        for axes, (column, label) in zip(
            panels, (("milliseconds", "ms a plan"), ("megabytes", "MB")), strict=True
        ):
            for kind, ours in group_by(rows, "plan").items():
                axes.plot(array(ours, "rows"), array(ours, column), "o-", lw=1.8, ms=4, label=kind)
            axes.set(xlabel="rows of memory", ylabel=label, xscale="log", yscale="log")
            axes.set_xticks(values(rows, "rows"), [f"{n:,}" for n in values(rows, "rows")])
            axes.minorticks_off()
        style.shared_legend(drawing)
        return drawing


def all_transitions(num_rows: int) -> Memory:
    """One memory with every transition of a random world where as many moves lead to a place as from it."""
    generator, states = np.random.default_rng(0), num_rows // NUM_MOVES
    moves = np.stack([generator.permutation(states) for _ in range(NUM_MOVES)], axis=1)
    origin, action = (x.reshape(1, -1) for x in np.indices(moves.shape))
    one = np.ones_like(origin)
    rows = [x.astype(np.int32) for x in (origin, action, moves.reshape(1, -1), one, one)]
    return Memory(*rows, *(np.zeros(1, np.int32) for _ in range(3)))  # pyright: ignore
