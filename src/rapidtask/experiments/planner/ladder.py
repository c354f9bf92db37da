"""The ladder: from the paper's EPN to ours one change at a time, all trained equally long, from reward."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rapidtask.agents.epn import EPNConfig
from rapidtask.errors import InputError
from rapidtask.evaluation import Scores
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations, columns, same_but_seed
from rapidtask.experiments.figure import GOALS, SHARE, Drawing, Experiment, Figure, NotAvailable, Row, Table
from rapidtask.experiments.logged_runs import LoggedRun
from rapidtask.learning.config import FAST, PAPER, LearningConfig, Recipe, epn_for
from rapidtask.runs.agent_files import CONFIG_FILE
from rapidtask.runs.config import RunConfig
from rapidtask.runs.provenance import training_command

GAP = 0.8  # between the ladder and what stands beside it, in bars


@dataclass(frozen=True)
class Rung:
    """One bar: an EPN and how it learns."""

    name: str
    agent: EPNConfig
    learning: LearningConfig = FAST
    recipe: Recipe = "fast"
    """The recipe that its training command starts from."""
    beside: bool = False
    """Whether it stands beside the ladder: it is no step on the way from the paper's EPN to ours."""


def climb() -> Iterator[Rung]:
    """The ladder itself: each rung has the options of the one before, but for those of its name."""
    agent, fast = epn_for("paper"), epn_for("fast")
    # Sizes of steps and of gradients mean something else to each optimiser: they change with it.
    muon = ("optimiser", "learning_rate", "learning_rate_end", "gradient_clip")
    muon = {name: getattr(FAST, name) for name in muon}
    yield Rung("the paper's EPN, recipe paper", agent, PAPER, "paper")
    yield Rung("… Muon in place of RMSprop", agent, replace(PAPER, **muon), "paper")
    yield Rung("… learning as in fast", agent)
    ours = lambda *names: {name: getattr(fast, name) for name in names}  # noqa: E731
    changes: dict[str, dict[str, Any]] = {
        "residual block": {"block": "residual"},
        # There are no frames in the game: how they would be seen changes nothing.
        "fixed symbols": {"symbols": "fixed", **ours("vision")},
        "places compared in rows and readout": {"comparisons": "rows"},
        "and in attention": {"comparisons": "attention", **ours("num_heads")},
        # In the game nothing respawns, and a completed task's row is the same either way.
        "newest transition before planning": {"plan_with_newest": True, "goal_as_successor": True},
        "rows know the current state": {"state_in_rows": True},
        "each iteration starts from the rows": ours("block"),
        "a set of rows that see neighbours alone, no symbols, half the width": ours(
            "comparisons", "memory", "symbols", "width", "readout_width"
        ),
        "thoughts of different lengths": {"iterations": 5, "learned_iterations": 3},
        "values, the state at the readout only: ours": ours(
            "value_channels", "state_in_rows", "iterations", "learned_iterations"
        ),
    }
    for name, options in changes.items():
        agent = replace(agent, **options)
        yield Rung(f"… {name}", agent)


LADDER = tuple(climb())
ATTENTION = 1 + [rung.name for rung in LADDER].index("… and in attention")
"""Number of the last rung whose rows know nothing of the current state before planning."""


def stand_beside() -> Iterator[Rung]:
    """What the planner and its block are worth, without values."""
    plain = LADDER[-2].agent
    for iterations in (0, 1, 2, 4):
        name = f"no values, always {style.plural(iterations)}" if iterations else "no values, no planner"
        thinks = replace(plain, iterations=iterations, learned_iterations=None)
        yield Rung(name, thinks, beside=True)
    # With the rung of the same options it answers whether a planner is needed: with neither planner nor the
    # current state in its rows, a row cannot tell that it continues another.
    unlocated = replace(LADDER[ATTENTION - 1].agent, iterations=0)
    yield Rung(f"as {ATTENTION}, no planner, current state at the readout only", unlocated, beside=True)
    yield Rung(
        "no values, LayerNorm on the attention's output", replace(plain, block="norm_after"), beside=True
    )
    yield Rung("no values, no LayerNorm", replace(plain, block="no_norm"), beside=True)


RUNGS = (*LADDER, *stand_beside())


@dataclass
class LadderRuns(Evaluations):
    """Runs, and the rungs that they may be of."""

    rungs: Sequence[Rung] = RUNGS
    steps: int = 80_000
    """Environment steps that every run is configured for."""
    seeds: Sequence[int] = (0, 1, 2)
    """Seeds of the runs that each rung should have."""

    @property
    def how(self) -> str:
        """How the figure was measured, and what is not in it, for the README."""
        missing = [f'"{rung.name}"' for rung in self.rungs if not self.finished(rung)]
        absent = f"; no finished runs of: {', '.join(missing)}" if missing else ""
        return f"{self.episodes} episodes per run{absent}"

    def config(self, rung: Rung, seed: int) -> RunConfig:
        """The run to train for a rung; one device, so that runs can be trained side by side."""
        learning = replace(rung.learning, cpu_devices=1)
        return RunConfig(self.world, rung.agent, learning, rung.recipe, seed, self.steps)

    def find_run(self, rung: Rung, seed: int) -> LoggedRun | None:
        """The run of a rung, whatever its folder is called; of several the one that got furthest."""
        wanted = self.config(rung, seed)
        of_seed = [run for run in self.runs if run.config.seed == seed]
        # A recipe is only where options start from.
        found = [run for run in of_seed if same_but_seed(replace(run.config, recipe=rung.recipe), wanted)]
        return max(found, key=lambda run: run.steps, default=None)

    def finished(self, rung: Rung) -> list[LoggedRun]:
        """The runs of a rung that are trained to the end, one per seed."""
        return [run for seed in self.seeds if (run := self.find_run(rung, seed)) and run.is_finished]


@dataclass(frozen=True)
class Job:
    """A run that is still to be trained, or to be gone on with."""

    config: RunConfig
    folder: Path
    resume: bool

    @property
    def command(self) -> str:
        """The command that trains it."""
        out = f"--out {shlex.quote(str(self.folder))}" + (" --resume" if self.resume else "")
        return f"{training_command(self.config)} {out}"


def list_jobs(source: LadderRuns, folder: Path) -> list[Job]:
    """What is left to train into a folder: all rungs of the first seed, then of the next."""
    jobs: list[Job] = []
    for seed in source.seeds:
        for number, rung in enumerate(source.rungs, start=1):
            run = source.find_run(rung, seed)
            if run is None:
                name = re.sub(r"\W+", "-", rung.name.replace("'s", "").lower()).strip("-")
                target = folder / f"{number:02d}-{name}-seed-{seed}"
                if (target / CONFIG_FILE).is_file():
                    other = f"{target} holds a run with other options or steps"
                    raise InputError(f"--runs: {other}; move it away")
                jobs.append(Job(source.config(rung, seed), target, resume=False))
            elif not run.is_finished:
                jobs.append(Job(run.config, run.folder, resume=True))
    return jobs


class Ladder(Figure[LadderRuns]):
    """Bars of all rungs that have finished runs."""

    title: str = "From the paper's EPN to ours, one change at a time"
    caption: str = (
        "Memory&Planning Game, reward alone, equally many steps. Each bar of the ladder has the changes of "
        "all bars above it and the one that it names; below the gap, one change of ours (or of the bar named "
        "by its number). Share of the oracle in the last third of the episode, and goals per episode, from a "
        "fresh evaluation with sampled actions in held-out worlds. Bars: mean over seeds; dots: seeds; "
        "whiskers: standard errors over seeds (of a single seed: over episodes). The table holds the steps, "
        "minutes and command of every bar."
    )

    def table(self, source: LadderRuns) -> Iterator[Row]:
        if not any(source.finished(rung) for rung in source.rungs):
            raise NotAvailable(f"no finished runs of {source.steps} steps with the options of a rung")
        for number, rung in enumerate(source.rungs, start=1):
            if runs := source.finished(rung):
                scores = [source.scores(name) for name in source.load(runs)]
                yield {
                    "number": number,
                    "rung": rung.name,
                    **over_seeds(scores, GOALS),
                    **over_seeds(scores, SHARE),
                    "steps": int(np.mean([run.steps for run in runs])),
                    "minutes": float(np.mean([run.minutes for run in runs])),
                    "seeds": " ".join(str(run.config.seed) for run in runs),
                    "episodes": scores[0].episodes,
                    "command": training_command(runs[0].config),
                    "beside": rung.beside,
                }

    def plot(self, rows: Table) -> Drawing:
        drawing, axes = style.subplots(7.4, 0.27 * len(rows) + 0.9, grid="x")
        places = [-(index + GAP * row["beside"]) for index, row in enumerate(rows)]
        for place, row in zip(places, rows, strict=True):
            ours = row["rung"].endswith(": ours")
            colour = style.colour_of("random" if row["beside"] else "EPN" if ours else "EPN, recipe paper")
            share, error = 100 * row[SHARE], 100 * row[f"{SHARE}_stderr"]
            axes.barh(place, share, height=0.7, xerr=error, color=colour, error_kw=style.WHISKERS)
            seeds = [100 * float(word) for word in row[f"{SHARE}_of_seeds"].split()]
            axes.plot(seeds, [place - 0.2] * len(seeds), ".", color=style.INK, markersize=3)
            axes.text(103, place, f"{row[GOALS]:.1f} goals", va="center", fontsize=7.5, color=style.FAINT)
        axes.set_yticks(places, [f"{row['number']}  {row['rung']}" for row in rows], color=style.INK)
        title = f"Memory&Planning 4×4, {rows[0]['steps'] / 1e6:.2g}M steps"
        axes.set(xlim=(0, 101), xlabel=style.Y_LABELS[SHARE], title=title)
        return drawing


def over_seeds(scores: Sequence[Scores], name: str) -> dict[str, Any]:
    """Mean, standard error (of a single seed: over episodes), and the values of the seeds."""
    rows = [columns(each, f"{name}±") for each in scores]
    mean, stderr = style.mean_over_seeds(rows, name)
    of_seeds = " ".join(f"{row[name]:.4f}" for row in rows)
    return {name: mean, f"{name}_stderr": stderr, f"{name}_of_seeds": of_seeds}


EXPERIMENT = Experiment("Results: the ladder", (Ladder(),), LadderRuns, "memory-planning")
