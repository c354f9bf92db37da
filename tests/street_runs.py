"""Small street worlds to make figures from: two cities, short episodes, agents that learned nothing."""

from dataclasses import replace

import numpy as np

from fake_runs import write_run
from rapidtask.cities.city_graph import make_city
from rapidtask.cities.gexf import save_city
from rapidtask.envs.street_options import StreetLearn
from rapidtask.runs.config import RunConfig
from tiny_training import EPN, LSTM

TRAINED_IN = StreetLearn(episode_steps=12, pool_size=4)
WORLD = TRAINED_IN.held_out()
PLANNER = replace(EPN, iterations=4, block="recall", value_channels=2)
CONFIG = RunConfig(world=TRAINED_IN, agent=PLANNER)


def write_cities(folder, side=6):
    """Two cities of `side` by `side` crossings, bent a little: one held out, one to train in."""
    generator = np.random.default_rng(0)
    east, north = (part.ravel() for part in np.meshgrid(np.arange(side), np.arange(side)))
    count = side * side
    edges = [(i, i + 1) for i in range(count) if i % side < side - 1]
    edges += [(i, i + side) for i in range(count - side)]
    for name in ("paris_se", "village"):
        lat = 48 + 6e-4 * north + generator.normal(0, 4e-5, count)
        lng = 2 + 9e-4 * east + generator.normal(0, 4e-5, count)
        city = make_city(name, lat, lng, np.array(edges), source="a test", licence="CC0-1.0")
        save_city(city, folder / f"{name}.gexf.gz")
    return folder


def write_street_runs(root):
    """Runs of planners with 1, 2 and 4 iterations (two seeds), and of an LSTM; the second of 4 is better."""
    write_run(root / "one", replace(CONFIG, agent=replace(PLANNER, iterations=1)), goals=2.0)
    write_run(root / "two", replace(CONFIG, agent=replace(PLANNER, iterations=2)), goals=3.0)
    write_run(root / "four-0", CONFIG, goals=4.0)
    write_run(root / "four-1", replace(CONFIG, seed=1), goals=6.0)
    write_run(root / "lstm", replace(CONFIG, agent=LSTM))
    return root
