"""Every city at hand as the evaluation city: how far what was learned reaches."""

from __future__ import annotations

import dataclasses

from matplotlib.figure import Figure

from rapidtask.cities.catalogue import TRAIN, CityEntry, list_cities, select_cities
from rapidtask.envs.street_options import StreetLearn
from rapidtask.experiments.material import Material, NotAvailable, Rows
from rapidtask.experiments.street_lines import SHARE
from rapidtask.experiments.street_scores import score_row
from rapidtask.experiments.style import FAINT, colour_of, name_of, new_figure, quiet

NAME = "other_cities"
TITLE = "Beyond the paper: in every city at hand"
CAPTION = (
    "Share of the oracle in the last third, 5 intersections, 200 steps, in neighbourhoods of one city at a "
    "time. Cities in bold were not trained on (which is told by the cities at hand: the group of training "
    "cities is that of their folder, if it has any, else the generated ones); generated cities, in grey, "
    "come with the package. Whiskers: standard errors over episodes."
)
REFERENCES = ("within-task", "edges-inverse")
EPISODES = 300


def table(material: Material) -> Rows:
    """Scores of the agents that see symbols, per city."""
    agents = [
        label for label in material.main_contenders if material.contenders[label].observations == "symbols"
    ]
    if not agents:
        raise NotAvailable("no trained agent: none is shipped, and no run has one")
    trained_on = training_cities(material)
    rows: Rows = []
    for entry in list_cities(material.world.cities):
        world = dataclasses.replace(material.world, city=entry.name)
        notes = {"city": entry.name, **origin(entry), "trained_on": int(entry.name in trained_on)}
        for name in (*agents, *REFERENCES, "oracle"):
            rows.append({**score_row(material, name, world, EPISODES), **notes})
    return rows


def training_cities(material: Material) -> set[str]:
    """Names of the cities that the first of the agents was trained on."""
    names: set[str] = set()
    world = next(iter(material.contenders.values())).config.world
    assert isinstance(world, StreetLearn)
    for part in world.city.split(","):
        group = select_cities(TRAIN, material.world.cities) if part == TRAIN else []
        names |= {entry.name for entry in group} or {part}
    return names


def origin(entry: CityEntry) -> dict[str, str]:
    """Where a city comes from."""
    return {"origin": "generated" if entry.path is None else "file"}


def plot(rows: Rows) -> Figure:
    """One line of points per city, best share of the EPN first."""
    first = rows[0]["agent"]
    shares = {row["city"]: row[SHARE] for row in rows if row["agent"] == first}
    groups = {row["city"]: (row["trained_on"], row["origin"]) for row in rows}
    order = sorted(shares, key=lambda city: (groups[city], -shares[city]))
    figure = new_figure(7.0, 1.1 + 0.22 * len(order))
    axes = figure.subplots()
    for label in dict.fromkeys(row["agent"] for row in rows if row["agent"] != "oracle"):
        ours = {row["city"]: row for row in rows if row["agent"] == label}
        reference = label in REFERENCES
        axes.errorbar(
            [100 * ours[city][SHARE] for city in order],
            range(len(order)),
            xerr=[100 * ours[city][f"{SHARE}_stderr"] for city in order],
            color=colour_of(label),
            marker="|" if reference else "o",
            markersize=8 if reference else 5,
            linestyle="none",
            elinewidth=1,
            label=name_of(label),
        )
    axes.set_yticks(range(len(order)), order)
    for tick, city in zip(axes.get_yticklabels(), order, strict=True):
        trained, source = groups[city]
        tick.set_fontweight("normal" if trained else "bold")
        tick.set_color(FAINT if source == "generated" else "#1f2937")
    axes.invert_yaxis()
    axes.set(xlabel="share of the oracle, last third (%)", xlim=(0, 104))
    quiet(axes, grid="both")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=6)
    return figure
