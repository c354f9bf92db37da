"""Every city at hand as the evaluation city: how far what was learned reaches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rapidtask.cities.catalogue import TRAIN, list_cities, select_cities
from rapidtask.envs.street_options import StreetLearn
from rapidtask.experiments import style
from rapidtask.experiments.evaluations import Evaluations
from rapidtask.experiments.figure import SHARE, Drawing, Figure, NotAvailable, Table
from rapidtask.experiments.streets.scores import main_symbol_agents, score_row
from rapidtask.policies import POLICIES


@dataclass(frozen=True, kw_only=True)
class OtherCities(Figure[Evaluations]):
    """Share of the oracle, city by city."""

    name: str = "other_cities"
    title: str = "Beyond the paper: in every city at hand"
    caption: str = (
        "Share of the oracle in the last third, 5 intersections, 200 steps, in neighbourhoods of one city at "
        "a time. Cities in bold were not trained on (which is told by the cities at hand: the group of "
        "training cities is that of their folder, if it has any, else the generated ones); generated cities, "
        "in grey, come with the package. Whiskers: standard errors over episodes."
    )
    references: tuple[str, ...] = ("within-task", "edges-inverse", "oracle")
    episodes: int = 300
    cities: tuple[str, ...] | None = None
    """Names of the cities; all at hand, if None."""

    def table(self, source: Evaluations) -> Table:
        """Scores of the agents that see symbols, per city."""
        agents = main_symbol_agents(source)
        if not agents:
            raise NotAvailable("no trained agent: none is shipped, and no run has one")
        trained_on = training_cities(source)
        rows: Table = []
        for entry in list_cities(source.world.cities):
            if self.cities is not None and entry.name not in self.cities:
                continue
            world = replace(source.world, city=entry.name)
            notes = {
                "city": entry.name,
                "origin": "generated" if entry.path is None else "file",
                "trained_on": int(entry.name in trained_on),
            }
            for name in (*agents, *self.references):
                rows.append({**score_row(source, name, world, self.episodes), **notes})
        return rows

    def plot(self, rows: Table) -> Drawing:
        """One line of points per city, best share of the EPN first."""
        first = rows[0]["agent"]
        shares = {row["city"]: row[SHARE] for row in rows if row["agent"] == first}
        groups = {row["city"]: (row["trained_on"], row["origin"]) for row in rows}
        order = sorted(shares, key=lambda city: (groups[city], -shares[city]))
        drawing = style.new_figure(7.0, 1.1 + 0.22 * len(order))
        axes = drawing.subplots()
        for label in dict.fromkeys(row["agent"] for row in rows if row["agent"] != "oracle"):
            ours = {row["city"]: row for row in rows if row["agent"] == label}
            axes.errorbar(
                [100 * ours[city][SHARE] for city in order],
                range(len(order)),
                xerr=[100 * ours[city][f"{SHARE}_stderr"] for city in order],
                color=style.colour_of(label),
                marker="|" if label in POLICIES else "o",
                markersize=8 if label in POLICIES else 5,
                linestyle="none",
                elinewidth=1,
                label=style.name_of(label),
            )
        axes.set_yticks(range(len(order)), order)
        for tick, city in zip(axes.get_yticklabels(), order, strict=True):
            trained, origin = groups[city]
            tick.set_fontweight("normal" if trained else "bold")
            tick.set_color(style.FAINT if origin == "generated" else style.INK)
        axes.invert_yaxis()
        axes.set(xlabel=style.Y_LABELS[SHARE], xlim=(0, 104))
        style.quiet(axes, grid="both")
        style.shared_legend(drawing, ncols=6)
        return drawing


def training_cities(source: Evaluations) -> set[str]:
    """Names of the cities that the first of the agents was trained on."""
    names: set[str] = set()
    world = next(iter(source.agents.values())).config.world
    assert isinstance(world, StreetLearn)
    for part in world.city.split(","):
        group = select_cities(TRAIN, source.world.cities) if part == TRAIN else []
        names |= {entry.name for entry in group} or {part}
    return names
