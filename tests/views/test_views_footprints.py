"""Buildings of OpenStreetMap files: read with their heights, seen where they stand, as high as they are."""

import numpy as np
import pytest

from rapidtask.cities.loaders import load_city
from rapidtask.views.camera import ACROSS, EYE, SIDE, UP, Camera, WallHits
from rapidtask.views.frame_build import build_store
from rapidtask.views.houses import shade_facades
from rapidtask.views.renderer import RenderedFrames, cast_layers
from rapidtask.views.scene import make_scene
from rapidtask.worlds.frame_store import FrameError, graph_fingerprint

pytest.importorskip("osmium")

METRE = 1 / 111_195.08
"""Degrees of latitude; at the equator of longitude too."""
EAST, NORTH = np.array([1.0, 0.0]), np.array([0.0, 1.0])
STREET = [(0.0, -100.0), (0.0, 100.0)]
"""A street along the meridian, metres east and north of its middle."""


def rectangle(west, south, east, north):
    return [(west, south), (east, south), (east, north), (west, north), (west, south)]


LOW = (rectangle(12, -10, 22, 10), {"building": "yes", "height": "7.5"})
HIGH = (rectangle(-25, -10, -15, 10), {"building": "house", "building:levels": "5"})


def write_osm(path, buildings, extra=""):
    """A street and buildings; corners that close an outline are the same node, as in real files."""
    nodes, ways, number = [], [], {}

    def way(points, tags):
        refs = []
        for point in points:
            if point not in number:
                number[point] = len(number) + 1
                east, north = point
                nodes.append(
                    f'<node id="{number[point]}" lat="{north * METRE:.9f}" lon="{east * METRE:.9f}"/>'
                )
            refs.append(f'<nd ref="{number[point]}"/>')
        pairs = "".join(f'<tag k="{key}" v="{value}"/>' for key, value in tags.items())
        ways.append(f'<way id="{len(ways) + 1}">{"".join(refs)}{pairs}</way>')

    way(STREET, {"highway": "residential"})
    for points, tags in buildings:
        way(points, tags)
    path.write_text(f'<osm version="0.6" generator="t">{"".join(nodes + ways)}{extra}</osm>')
    return path


def city_with(tmp_path, *buildings, extra=""):
    return load_city(write_osm(tmp_path / "street.osm", buildings, extra))


def look(scene, place, ahead):
    camera = Camera(np.asarray(place, float), ahead)
    return camera, cast_layers(scene, camera)[0]


def painted_rows(scene, hits, column):
    """The rows of one column that the wall met there covers."""
    only = np.arange(SIDE) == column
    hits = WallHits(np.where(only, hits.depth, np.inf), hits.along, hits.stretch, hits.outward)
    depth = np.full((SIDE, SIDE), np.inf, np.float32)
    shade_facades(scene, hits, np.zeros((SIDE, SIDE, 3), np.float32), depth)
    assert np.isinf(depth[:, ~only]).all()
    return np.flatnonzero(np.isfinite(depth[:, column]))


def test_buildings_are_read_with_their_heights(tmp_path):
    buildings = city_with(tmp_path, LOW, HIGH).buildings
    assert buildings is not None
    assert buildings.offsets.tolist() == [0, 4, 8]
    assert buildings.height.tolist() == [7.5, 15.0]
    assert buildings.lng[:4] / METRE == pytest.approx([12, 22, 22, 12], abs=0.02)
    assert city_with(tmp_path).buildings is None


def test_buildings_of_pbf_files(tmp_path):
    import osmium

    text, path = write_osm(tmp_path / "a.osm", [LOW, HIGH]), tmp_path / "b.osm.pbf"
    with osmium.SimpleWriter(str(path)) as writer:
        for item in osmium.FileProcessor(str(text)):
            writer.add(item)
    one, other = load_city(text).buildings, load_city(path).buildings
    assert one is not None
    assert other is not None
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize(
    ("tags", "height"),
    [
        ({"height": "12"}, 12.0),
        ({"height": " 12.5 m "}, 12.5),
        ({"height": "12", "building:levels": "9"}, 12.0),
        ({"height": "tall", "building:levels": "2"}, 6.0),
        ({"height": "-4", "building:levels": "2.5"}, 7.5),
        ({"height": "nan"}, None),
        ({"height": "inf"}, None),
        ({"height": "1e300"}, None),
        ({"height": "99999"}, None),
        ({"height": "0"}, None),
        ({"building:levels": "2;3"}, None),
        ({"building:levels": "3 m"}, None),
        ({}, None),
    ],
)
def test_heights_that_are_no_numbers_are_unknown(tmp_path, tags, height):
    city = city_with(tmp_path, (LOW[0], {"building": "yes", **tags}))
    assert city.buildings is not None
    if height is None:
        assert np.isnan(city.buildings.height).all()
        scene = make_scene(city)
        # It gets a height like the generated houses'.
        assert 3 < scene.wall_top.max() < 45
    else:
        assert city.buildings.height.tolist() == [height]


def test_bad_buildings_do_not_break_a_city(tmp_path):
    yes = {"building": "yes", "height": "9"}
    bad = [
        (LOW[0][:-1], yes),  # not closed
        (LOW[0][:2] + LOW[0][:1], yes),  # two corners
        ([(12, 0), (12, 5), (12, 9), (12, 0)], yes),  # encloses nothing
        (LOW[0], {**yes, "building": "no"}),
    ]
    extra = (
        '<way id="901"><nd ref="1"/><nd ref="7777"/><nd ref="2"/><nd ref="1"/>'
        '<tag k="building" v="yes"/></way>'
        '<way id="902"><tag k="building" v="yes"/></way>'
    )
    assert city_with(tmp_path, *bad, extra=extra).buildings is None
    both = city_with(tmp_path, *bad, HIGH, extra=extra).buildings
    assert both is not None
    assert both.height.tolist() == [15.0]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_building_is_met_at_its_distance_and_height(tmp_path, reverse):
    outlines = [(points[::-1] if reverse else points, tags) for points, tags in (LOW, HIGH)]
    scene = make_scene(city_with(tmp_path, *outlines))
    for ahead, distance, height in ((EAST, 12.0, 7.5), (-EAST, 15.0, 15.0)):
        _, hits = look(scene, (0, 0), ahead)
        middle = slice(SIDE // 4, 3 * SIDE // 4)
        assert hits.depth[middle] == pytest.approx(distance, abs=0.02)
        assert hits.outward[SIDE // 2] == pytest.approx(-ahead, abs=1e-3)
        rows = painted_rows(scene, hits, SIDE // 2)
        # The rays of the rows that are wall rise from the ground to the height, to within a row.
        assert (np.diff(rows) == 1).all()
        if EYE + UP[0] * distance > height:
            assert EYE + UP[rows[0]] * distance <= height < EYE + UP[rows[0] - 1] * distance
        else:
            assert rows[0] == 0
        assert EYE + UP[rows[-1]] * distance >= 0 > EYE + UP[rows[-1] + 1] * distance
    # The high one is too high to see its top from the middle of the street; from across the street it ends.
    _, hits = look(scene, (10, 0), -EAST)
    rows = painted_rows(scene, hits, SIDE // 2)
    assert EYE + UP[rows[0]] * 25.0 <= 15.0 < EYE + UP[rows[0] - 1] * 25.0


def test_generated_facades_stay_where_there_is_no_building(tmp_path):
    with_them, without = make_scene(city_with(tmp_path, LOW, HIGH)), make_scene(city_with(tmp_path))
    half_width = float(without.plan.half_width[0])
    assert half_width < 8
    for scene, north, distance in (
        (with_them, 60, half_width),
        (without, 60, half_width),
        (without, 0, half_width),
    ):
        _, hits = look(scene, (0, north), EAST)
        assert hits.depth[SIDE // 2] == pytest.approx(distance, abs=0.02)
    # Between them: nothing generated before the building, nor within a metre of its corners.
    for north in np.linspace(-11, 11, 23):
        _, hits = look(with_them, (0, north), EAST)
        assert hits.depth[SIDE // 2] > 11.9
    for north in (-12.5, 12.5):
        _, hits = look(with_them, (0, north), EAST)
        assert hits.depth[SIDE // 2] == pytest.approx(half_width, abs=0.02)


def test_pictures_differ_with_buildings_and_stores_know_it(tmp_path):
    with_them, without = city_with(tmp_path, LOW, HIGH), city_with(tmp_path)
    assert graph_fingerprint(with_them) == graph_fingerprint(without)
    one, other = RenderedFrames(with_them), RenderedFrames(without)
    node = int(np.argmin(np.abs(without.lat - 20 * METRE)))
    half_edge = int(without.offsets[node]) + int(
        np.argmin(without.lat[without.neighbours[without.offsets[node] : without.offsets[node + 1]]])
    )
    views = [source.make(np.array([half_edge]))[0].astype(int) for source in (one, other)]
    assert np.sqrt(((views[0] - views[1]) ** 2).mean()) > 15
    # Far from them nothing has changed.
    last = int(np.argmax(without.lat))
    away = [source.make(without.offsets[last : last + 1])[0].astype(int) for source in (one, other)]
    assert (np.abs(away[0] - away[1]) > 3).mean() < 0.2
    build_store(other, tmp_path / "frames")
    with pytest.raises(FrameError, match="holds other frames already"):
        build_store(one, tmp_path / "frames")


def test_a_tower_is_seen_above_a_garage(tmp_path):
    garage = (rectangle(10, -5, 15, 5), {"building": "garage", "height": "2.5"})
    tower = (rectangle(30, -8, 45, 8), {"building": "yes", "height": "40"})
    scene = make_scene(city_with(tmp_path, garage, tower))
    near, far = cast_layers(scene, Camera(np.zeros(2), EAST))
    assert near.depth[SIDE // 2] == pytest.approx(10, abs=0.02)
    assert far.depth[SIDE // 2] == pytest.approx(30, abs=0.02)
    assert painted_rows(scene, far, SIDE // 2)[0] == 0


def test_a_street_leads_through_a_building(tmp_path):
    gate = (rectangle(-15, 20, 15, 30), {"building": "yes", "height": "12"})
    scene = make_scene(city_with(tmp_path, gate))
    _, hits = look(scene, (0, 0), NORTH)
    assert hits.depth[SIDE // 2] > 90
    # Rays that pass more than two metres from the middle of the street meet the building's face.
    beside = (np.abs(ACROSS * 20) > 2.1) & (np.abs(ACROSS * 20) < 6)
    assert hits.depth[beside] == pytest.approx(20, abs=0.02)
