"""Pictures of street worlds, and the commands that list, import and draw cities."""

import numpy as np
import pytest
from PIL import Image

from city_samples import gexf_text
from rapidtask.cities.catalogue import CITIES_VARIABLE
from rapidtask.cities.city_graph import CityError
from rapidtask.cities.generated import generated_city
from rapidtask.cities.gexf import save_city
from rapidtask.cities.loaders import load_city
from rapidtask.commands.cities import ImportCity, ListCities, ShowCity
from rapidtask.draw import Scene
from rapidtask.draw.canvas import AGENT, GOAL, TRAIL
from rapidtask.draw.streets import HEADER, draw_streets
from rapidtask.envs.street_options import StreetLearn


def scene(pool, world, state, goal, trail=()):
    worlds = pool.worlds
    labels = tuple(range(worlds.num_observations))
    return Scene(worlds.rules, len(labels), labels, state, goal, trail, 7, 200, 2, pool.places, world)


def where(picture, color):
    """Mean (x, y) of the pixels of a colour below the header."""
    rows, columns = np.nonzero((picture[HEADER:] == color).all(axis=2))
    return np.array([columns.mean(), rows.mean() + HEADER])


@pytest.mark.parametrize("rules", ["paper", "release"])
def test_street_pictures(rules):
    pool = StreetLearn(city="oldmarket", rules=rules, pool_size=4).sample()
    world = 1
    count = int(pool.worlds.num_states[world])
    city = pool.places.cities[0]
    tail = pool.places.tail[world, :count]
    north, south = (int(f(city.lat[tail])) for f in (np.argmax, np.argmin))
    picture = draw_streets(scene(pool, world, north, south), width=320)
    assert picture.shape == (320 + HEADER, 320, 3)
    assert picture.dtype == np.uint8
    # North is up, and east is right.
    assert where(picture, AGENT)[1] < where(picture, GOAL)[1]
    east, west = (int(f(city.lng[tail])) for f in (np.argmax, np.argmin))
    picture = draw_streets(scene(pool, world, east, west), width=320)
    assert where(picture, AGENT)[0] > where(picture, GOAL)[0]


def test_the_pointer_shows_the_direction_and_the_trail_the_way():
    pool = StreetLearn(city="oldmarket", pool_size=4).sample()
    world, table = 0, np.asarray(pool.worlds.next_state[0])
    count = int(pool.worlds.num_states[0])
    states = range(count)
    # Two states at one node that look in different directions are drawn differently.
    here = next(s for s in states if table[s, 1] != s)
    goal = next(s for s in states if pool.places.tail[0, s] != pool.places.tail[0, here])
    one, other = (draw_streets(scene(pool, world, s, goal)) for s in (here, int(table[here, 1])))
    assert (one != other).any()
    moved = next(s for s in states if s != goal and pool.places.tail[0, s] != pool.places.tail[0, goal])
    reached = int(table[moved, 0])
    trail = draw_streets(scene(pool, world, reached, goal, (moved, reached)))
    plain = draw_streets(scene(pool, world, reached, goal))
    assert (trail == TRAIL).all(axis=2).sum() > 50 > (plain == TRAIL).all(axis=2).sum()


def test_import_list_show(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(CITIES_VARIABLE, raising=False)
    source = tmp_path / "My Town.gexf"
    save_city(generated_city("starcross"), tmp_path / "s.gexf.gz")
    source.write_bytes((tmp_path / "s.gexf.gz").read_bytes())
    ImportCity(str(source), out=tmp_path / "out").run()
    assert load_city(tmp_path / "out" / "my_town.gexf.gz").num_nodes == generated_city("starcross").num_nodes
    assert "1020 intersections" in capsys.readouterr().out
    ListCities(cities=str(tmp_path / "out")).run()
    listed = capsys.readouterr().out
    for word in ("my_town", "seinebank", "held-out", "generated"):
        assert word in listed
    ShowCity("my_town", cities=str(tmp_path / "out"), out=tmp_path / "map.png").run()
    with Image.open(tmp_path / "map.png") as picture:
        assert picture.size == (1400, 700)
        assert len(picture.getcolors(1 << 24)) > 50


def test_commands_say_what_is_wrong(tmp_path, capsys):
    source = tmp_path / "parts.gexf"
    source.write_bytes(
        gexf_text([(0, 0), (0, 0.001), (0.001, 0), (1, 1), (1, 1.001)], [(0, 1), (0, 2), (3, 4)])
    )
    ImportCity(str(source), out=tmp_path / "out").run()
    assert "warning" in (error := capsys.readouterr().err)
    assert "kept the largest of 2 unconnected parts: 3 of 5 nodes" in error
    with pytest.raises(CityError, match="not a usable name"):
        ImportCity(str(source), out=tmp_path / "out", name="../up").run()
    (tmp_path / "file").touch()
    with pytest.raises(CityError, match=r"^--out: .*cannot be written"):
        ImportCity(str(source), out=tmp_path / "file").run()
    with pytest.raises(CityError, match="train: stands for 12 cities; name one"):
        ShowCity("train", cities=None).run()
    with pytest.raises(CityError, match=r"^--out: .*cannot be written"):
        ShowCity("starcross", out=tmp_path / "none" / "map.png").run()
    bad = tmp_path / "bad.gexf.gz"
    bad.write_bytes(b"\x1f\x8b\x08")
    before = sorted((tmp_path / "out").iterdir())
    with pytest.raises(CityError, match=r"bad.gexf.gz: the gzip file is truncated"):
        ImportCity(str(bad), out=tmp_path / "out").run()
    assert sorted((tmp_path / "out").iterdir()) == before
