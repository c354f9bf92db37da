"""`rapidtask watch`: an episode as a web page, to watch, to compare, to play."""

from __future__ import annotations

import sys
import webbrowser
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from rapidtask.commands.evaluate import Evaluate, PolicyName, make_policies
from rapidtask.envs.environment import Environment
from rapidtask.envs.registry import MemoryPlanning, WorldOptions, domain_name
from rapidtask.errors import InputError
from rapidtask.policies import POLICIES, Policy, make_policy
from rapidtask.pretrained.cards import pretrained_names


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Write one HTML file that shows an episode, and open it: no network needed, then or later."""

    world: WorldOptions = field(default_factory=MemoryPlanning)
    """Options of the world."""
    pretrained: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """An agent that comes with the package (`rapidtask agents` lists them); its world is the default."""
    checkpoint: Path | None = None
    """A trained agent: its file, a checkpoint, or the folder of its run, whose world is then the default."""
    policy: PolicyName | None = None
    """A reference policy; by default "hand-coded" if there is no trained agent."""
    compare: tuple[str, ...] = ("oracle", "hand-coded", "within-task")
    """Whom to show beside: reference policies ("all" for every one), agents that come with the package,
    files of trained agents."""
    greedy: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Let the agent of --checkpoint take its likeliest action instead of drawing one; --pretrained agents
    are then shown both ways."""
    options: tuple[str, ...] = ()
    """Options of the trained agents to change, as NAME=VALUE: iterations=6."""
    new_symbols: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Allow a world with more symbols than the agents were trained with; only fixed symbols can grow."""
    seed: int = 0
    """Seed of the world; the episode is the first that `rapidtask evaluate` runs with this seed."""
    views: bool = True
    """In street worlds, show what each place looks like: rendered views, also where agents see symbols."""
    out: Path = Path("episode.html")
    """The file to write."""
    open: bool = True
    """Open the page in a browser."""

    def run(self) -> None:
        """Record, write, open."""
        # Here, because the other commands need none of it.
        from rapidtask.viewer import make_page, record_episode
        from rapidtask.viewer.street_views import render_street_views

        if not self.out.parent.is_dir():
            raise InputError(f"--out {self.out}: there is no folder {self.out.parent}")
        environment = self.world.make()
        policies = {**self.watched(environment), **self.compared(environment)}
        recordings = []
        with Console(stderr=True).status("") as status:
            for position, (name, policy) in enumerate(policies.items(), start=1):
                status.update(f"{name}: recording ({position} of {len(policies)})")
                recordings.append(record_episode(environment, policy, name=name, seed=self.seed))
        views = render_street_views(environment, recordings[0].world) if self.views else None
        page = make_page(environment, recordings, title=world_title(self.world), views=views)
        try:
            self.out.write_text(page, encoding="utf-8")
        except OSError as error:
            raise InputError(f"--out {self.out}: {error.strerror}") from error
        print(self.out)
        sys.stdout.flush()
        if self.open:
            webbrowser.open(self.out.resolve().as_uri())

    def watched(self, environment: Environment) -> dict[str, Policy]:
        """What the page is about, by the name to show."""
        trained = self.pretrained or self.checkpoint is not None
        policy = self.policy or (None if trained else "hand-coded")
        return make_policies(self._choice(self.pretrained, self.checkpoint, policy), environment)

    def compared(self, environment: Environment) -> dict[str, Policy]:
        """What it is shown beside, by the name to show."""
        policies: dict[str, Policy] = {}
        for name in self.compare:
            if name == "all":
                policies |= {other: make_policy(other, environment) for other in reversed(POLICIES)}
            elif name in POLICIES:
                policies[name] = make_policy(name, environment)
            elif name in pretrained_names():
                policies |= make_policies(self._choice((name,), None, None), environment)
            elif Path(name).exists():
                policies |= make_policies(self._choice((), Path(name), None), environment)
            else:
                known = ", ".join((*POLICIES, "all", *pretrained_names()))
                raise InputError(f"--compare {name}: neither a file nor one of {known}")
        return policies

    def _choice(
        self, pretrained: tuple[str, ...], checkpoint: Path | None, policy: PolicyName | None
    ) -> Evaluate:
        # --greedy and --options are about trained agents, and not every choice has one.
        trained = bool(pretrained) or checkpoint is not None
        return Evaluate(
            world=self.world,
            pretrained=pretrained,
            checkpoint=checkpoint,
            policy=policy,
            greedy=self.greedy and trained,
            options=self.options if trained else (),
            new_symbols=self.new_symbols,
        )


def world_title(world: WorldOptions) -> str:
    """What the page calls a world."""
    if isinstance(world, MemoryPlanning):
        return f"Memory&Planning Game, {world.size}×{world.size}"
    names = {"streetlearn": "One-Shot StreetLearn"}
    return names.get(domain_name(world), domain_name(world))
