"""`rapidtask watch`: an episode as a web page, to watch, to compare, to play."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from rapidtask.commands.evaluate import AgentOptions
from rapidtask.envs.environment import Environment
from rapidtask.envs.registry import MemoryPlanning, StreetLearn, WorldOptions, domain_name
from rapidtask.errors import InputError
from rapidtask.policies import POLICIES, Policy, PolicyName, make_policy
from rapidtask.pretrained.cards import pretrained_names
from rapidtask.viewer import make_page, record_episode
from rapidtask.viewer.world_map import render_street_views


@dataclass(frozen=True, kw_only=True)
class Watch(AgentOptions):
    """Write one HTML file that shows an episode, and open it: no network needed, then or later.

    The episode is the first that `rapidtask evaluate` runs with this seed.
    """

    policy: PolicyName | None = None
    """A reference policy; by default "hand-coded" if there is no trained agent."""
    compare: tuple[str, ...] = ("oracle", "hand-coded", "within-task")
    """Whom to show beside: reference policies ("all" for every one), agents that come with the package,
    files of trained agents."""
    views: bool = True
    """In street worlds, show what each place looks like: rendered views, also where agents see symbols."""
    out: Path = Path("episode.html")
    """The file to write."""
    open: bool = True
    """Open the page in a browser."""

    def run(self) -> None:
        if not self.out.parent.is_dir():
            raise InputError(f"--out {self.out}: there is no folder {self.out.parent}")
        environment = self.world.make()
        policies = {**self.watched(environment), **self.compared(environment)}
        with Console(stderr=True).status("") as status:
            page = episode_page(
                self.world, environment, policies, self.seed, say=status.update, views=self.views
            )
        try:
            self.out.write_text(page, encoding="utf-8")
        except OSError as error:
            raise InputError(f"--out {self.out}: {error.strerror}") from error
        print(self.out, flush=True)
        if self.open:
            webbrowser.open(self.out.resolve().as_uri())

    def watched(self, environment: Environment) -> dict[str, Policy]:
        """What the page is about, by the name to show."""
        trained = self.trained(environment, self.pretrained, self.checkpoint)
        name = self.policy or (None if trained else "hand-coded")
        return trained if name is None else {**trained, name: make_policy(name, environment)}

    def compared(self, environment: Environment) -> dict[str, Policy]:
        """What it is shown beside, by the name to show."""
        policies: dict[str, Policy] = {}
        for name in self.compare:
            if name == "all":
                policies |= {other: make_policy(other, environment) for other in reversed(POLICIES)}
            elif name in POLICIES:
                policies[name] = make_policy(name, environment)
            elif name in pretrained_names():
                policies |= self.trained(environment, (name,))
            elif Path(name).exists():
                policies |= self.trained(environment, (), Path(name))
            else:
                known = ", ".join((*POLICIES, "all", *pretrained_names()))
                raise InputError(f"--compare {name}: neither a file nor one of {known}")
        return policies


def episode_page(
    world: WorldOptions,
    environment: Environment,
    policies: Mapping[str, Policy],
    seed: int,
    *,
    say: Callable[[str], None],
    played: int = 1,
    views: bool = True,
) -> str:
    """The first episode of policies as a page of the viewer; `played`: see `record_episode`."""
    recordings = []
    for position, (name, policy) in enumerate(policies.items(), start=1):
        say(f"{name}: recording ({position} of {len(policies)})")
        recordings.append(record_episode(environment, policy, name=name, seed=seed, played=played))
    pictures = render_street_views(environment, int(recordings[0].episode.world)) if views else None
    title = "One-Shot StreetLearn" if isinstance(world, StreetLearn) else domain_name(world)
    if isinstance(world, MemoryPlanning):
        title = f"Memory&Planning Game, {world.size}×{world.size}"
    return make_page(environment, recordings, title=title, views=pictures)
