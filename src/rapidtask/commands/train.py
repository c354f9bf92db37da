"""`rapidtask train`: train an agent, with checkpoints, logs and evaluations; stop and resume at any time."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.live import Live

from rapidtask.agents.agent import Agent
from rapidtask.errors import InputError
from rapidtask.pretrained.load import find_agent, fit_agent
from rapidtask.runs.agent_files import AGENT_FILE, CHECKPOINTS, load_agent
from rapidtask.runs.checkpoint import list_checkpoints
from rapidtask.runs.config import RunConfig, agent_name
from rapidtask.runs.display import RunDisplay
from rapidtask.runs.distributed import connect, split_cpu
from rapidtask.runs.run import RunOptions, RunResult, run


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(RunConfig):
    """What commands that train have in common: the configuration of a run."""

    def config(self) -> RunConfig:
        """The configuration without a command's own options."""
        return RunConfig(**{option.name: getattr(self, option.name) for option in fields(RunConfig)})


@dataclass(frozen=True, kw_only=True)
class Train(TrainingOptions):
    """Train an agent from scratch, or go on with a run that was stopped."""

    run_options: RunOptions = field(default_factory=RunOptions)
    """Checkpoints and evaluations."""
    out: Path
    """Folder of the run: its configuration, log, checkpoints and trained agent."""
    resume: bool = False
    """Go on from the newest checkpoint in --out, with the options found there; --steps may be more."""
    distributed: str | None = None
    """Join other processes: coordinator:port,process_id,num_processes, or "auto" (cluster's variables)."""

    def run(self) -> None:
        if self.distributed is None:
            split_cpu(self.learning.cpu_devices)
        else:
            connect(self.distributed)
        console = Console(stderr=True)
        if self.resume and not list_checkpoints(self.out / CHECKPOINTS):
            console.print(f"--resume: no checkpoint in {self.out}; a new run begins", soft_wrap=True)
        try:
            options, agent = self.run_options, self.initial_agent()
            result = run_shown(self.config(), self.out, options, self.resume, console, agent)
        except (ValueError, RuntimeError) as error:
            if "Gloo" not in str(error):
                raise
            # To leave as usual would be to wait for the other process, and then to abort.
            lost = "lost another process of the run; go on from the newest checkpoint with --resume"
            print(f"rapidtask: error: --distributed: {lost}", file=sys.stderr, flush=True)
            os._exit(1)
        if result.stopped_by is not None:
            console.print(f"Stopped. Checkpoint: {result.checkpoint}", soft_wrap=True)
            again = shlex.join(["rapidtask", "train", "--resume", "--out", str(self.out)])
            console.print(f"Go on with: {again}", soft_wrap=True)
            sys.exit(128 + result.stopped_by)
        print(f"Trained agent: {self.out / AGENT_FILE}")

    def initial_agent(self) -> Agent | None:
        """The agent to start from, if there is one; a run that is resumed has weights of its own."""
        if self.init_from is None or (self.resume and list_checkpoints(self.out / CHECKPOINTS)):
            return None
        agent, config = load_agent(find_agent(self.init_from))
        name, ours = agent_name(config.agent), {"name": agent_name(self.agent), **asdict(self.agent)}
        for option, theirs in {"name": name, **asdict(config.agent)}.items():
            if ours.get(option) != theirs:
                flag = "--agent" if option == "name" else f"--agent.{option.replace('_', '-')}"
                raise InputError(f"{flag} {ours.get(option)}: the agent of --init-from has {theirs}")
        return fit_agent(agent, config, self.world, new_symbols=self.new_symbols)[0]


def run_shown(
    config: RunConfig,
    out: Path,
    options: RunOptions,
    resume: bool,
    console: Console,
    agent: Agent | None = None,
) -> RunResult:
    """Run a training, with fresh weights or those of an agent, and show how far it is."""
    display = RunDisplay(config)
    # The last of what it shows stays.
    with Live(console=console, refresh_per_second=4) as live:
        begin, show = partial(display.begin, live), partial(display.show, live=live)
        return run(config, out, options, resume=resume, start_from=agent, begin=begin, show=show)
