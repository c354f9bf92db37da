"""What a person sees while a run trains."""

from __future__ import annotations

from datetime import timedelta

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from rapidtask.envs.registry import MemoryPlanning
from rapidtask.runs.config import RunConfig, agent_name
from rapidtask.runs.run import Progress

REFERENCE_GOALS = {"within-task": 10.8, "edges": 17.3, "hand-coded": 28.8, "oracle": 31.6}
"""Goals per episode of the reference policies on the 4x4 game: `rapidtask evaluate --policy all`."""
COMPILING = "Compiling, about a minute; less if the same was compiled before …"
SECONDS_BETWEEN_LINES = 30
"""How often a run whose output is no terminal prints a line."""


class RunDisplay:
    """A live panel on a terminal; otherwise a line now and then."""

    def __init__(self, config: RunConfig):
        world = config.world
        standard = isinstance(world, MemoryPlanning) and world == MemoryPlanning()
        self._references = REFERENCE_GOALS if standard else {}
        self._title = f"{agent_name(config.agent)}, recipe {config.recipe}, seed {config.seed}"
        self._steps, self._printed = config.steps, float("-inf")

    def begin(self, live: Live) -> None:
        """Say what the run is doing before there is anything to show."""
        live.update(COMPILING) if live.console.is_terminal else live.console.print(COMPILING)

    def show(self, progress: Progress, live: Live) -> None:
        """Show where the run stands."""
        if live.console.is_terminal:
            table = Table(title=self._title, title_justify="left", show_header=False, box=None)
            bar = ProgressBar(progress.trainer.num_iterations, progress.iteration, width=40)
            for row in {"progress": bar, **self._numbers(progress)}.items():
                table.add_row(*row)
            live.update(table, refresh=True)
            return
        last = progress.iteration == progress.trainer.num_iterations
        if last or progress.seconds - self._printed >= SECONDS_BETWEEN_LINES:
            self._printed = progress.seconds
            line = "  ".join(f"{name} {value}" for name, value in self._numbers(progress).items())
            live.console.print(line, soft_wrap=True)

    def _numbers(self, progress: Progress) -> dict[str, str]:
        trainer, goals = progress.trainer, progress.goals_per_episode
        timed = progress.iteration - progress.first_iteration - 1
        seconds = progress.seconds_here
        speed = timed * trainer.steps_per_iteration / seconds if seconds and timed else 0.0
        done = progress.iteration * trainer.steps_per_iteration
        left = (trainer.num_iterations - progress.iteration) * trainer.steps_per_iteration
        more = "" if done + left == self._steps else f" (--steps {self._steps} in whole iterations)"
        numbers = {
            "steps": f"{done:,} of {done + left:,}{more}",
            "steps/s": f"{speed:,.0f}",
            "goals per episode": f"{goals:.2f}{self._against(goals)}",
            "time left": str(timedelta(seconds=round(left / speed))) if speed else "–",
        }
        if progress.scores is not None:
            numbers["held-out worlds"] = (
                f"{progress.scores.goals_per_episode:.2f} goals, "
                f"{progress.scores.oracle_share_last_third:.1%} of the oracle in the last third"
            )
        return numbers

    def _against(self, goals: float) -> str:
        """The reference lines around a score."""
        above = [f"above {name} {value}" for name, value in self._references.items() if goals > value][-1:]
        below = [f"below {name} {value}" for name, value in self._references.items() if goals <= value][:1]
        return f" ({', '.join(above + below)})" if above or below else ""
