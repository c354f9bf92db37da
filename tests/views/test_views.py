"""Rendered views: street-like geometry, the same pixels for the same place, told apart from each other."""

import io
import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rapidtask.cities.city_graph import make_city
from rapidtask.cities.generated import generated_city
from rapidtask.errors import InputError
from rapidtask.views.camera import SIDE
from rapidtask.views.renderer import VERSION, RenderedFrames, cast_rays, render_view
from rapidtask.views.scene import make_light, make_scene
from rapidtask.views.textures import load_texels
from rapidtask.worlds.frame_store import half_edges_of
from rapidtask.worlds.streets import sample_pool

NUM_WORLDS = 3


def cross_city(order=(0, 1, 2, 3, 4, 5, 6, 7, 8)):
    """A crossing with arms of two pieces to the north, east, south and west; `order` renumbers the nodes."""
    steps = [(0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (-1, 0), (-2, 0), (0, -1), (0, -2)]
    metres = 40.0 / 111_195.0
    lat = np.array([48.85 + north * metres for north, _ in steps])
    lng = np.array([2.35 + east * metres / np.cos(np.radians(48.85)) for _, east in steps])
    edges = np.array([(0, 1), (1, 2), (0, 3), (3, 4), (0, 5), (5, 6), (0, 7), (7, 8)])
    order = np.array(order)
    place = np.empty(9, int)
    place[order] = np.arange(9)
    return make_city("cross", lat[place], lng[place], order[edges])


@pytest.fixture(scope="module")
def frames():
    return RenderedFrames(generated_city("seinebank"))


@pytest.fixture(scope="module")
def neighbourhoods(frames):
    """The frames of each world of a small pool, as lists."""
    pool = sample_pool([frames.city], NUM_WORLDS, 3)
    views = []
    for world in range(NUM_WORLDS):
        count = int(pool.worlds.num_states[world])
        views.append(
            frames.make(
                half_edges_of(frames.city, pool.places.tail[world, :count], pool.places.first[world, :count])
            )
        )
    return pool, views


def test_facades_stand_beside_the_street_and_open_at_crossings():
    city = cross_city()
    scene = make_scene(city)
    half_width = scene.plan.half_width
    # From the end of the southern arm, looking north across the junction.
    camera = scene.camera(6, 5)
    hits = cast_rays(scene, camera)
    side = hits.depth * np.abs(np.linspace(-1, 1, SIDE) * np.tan(np.radians(30)))
    # The outermost rays meet the walls of the own street, at its half width.
    own = int(scene.plan.street[np.argmax((scene.plan.piece_ends == 6).any(1))])
    assert side[0] == pytest.approx(half_width[own], rel=0.02)
    assert side[-1] == pytest.approx(half_width[own], rel=0.02)
    # The dead end ahead closes the street beyond its last node: 80 m to the crossing, 80 m on, and a bit.
    assert 160 < hits.depth[SIDE // 2] < 175
    # Some rays enter the side streets, whose far walls stand about 80 m ahead.
    assert (
        (hits.depth > 80) & (hits.depth < 80 + half_width.max() + 1) & (side > half_width[own] + 0.5)
    ).any()


def test_walls_stand_in_no_street():
    city = generated_city("oldmarket")
    scene = make_scene(city)
    plan, walls = scene.plan, scene.walls
    for share in (0.25, 0.5, 0.75):
        points = walls.start + share * (walls.end - walls.start)
        _, near = scene.plan.tree.query(points, k=12)
        step = points[:, None] - plan.nodes[plan.piece_ends[near, 0]]
        along = (step * plan.direction[near]).sum(-1)
        across = np.abs((step * plan.normal[near]).sum(-1))
        width = plan.half_width[plan.street[near]]
        inside = (along > 0.1) & (along < plan.length[near] - 0.1) & (across < width - 0.1)
        assert not inside.any()


def test_every_ray_ends_at_a_wall():
    """No gap between walls: near rays never slip through into the inside of a block."""
    scene = make_scene(cross_city())
    for node in range(9):
        for towards in range(9):
            if node != towards:
                camera = scene.camera(node, towards)
                assert np.isfinite(cast_rays(scene, camera).depth).all(), (node, towards)


def test_a_street_has_sky_above_and_road_below(neighbourhoods):
    _, views = neighbourhoods
    every = np.concatenate(views).astype(float)
    bottom = every[:, -8:].mean(axis=(1, 2))
    # Roads are grey; the sky, where it is seen, is bluer than anything else.
    assert (np.ptp(bottom, axis=1) < 40).all()
    blue = every[:, :30, :, 2] - every[:, :30, :, 0]
    assert (blue.max(axis=(1, 2)) > 40).mean() > 0.9
    assert every.std(axis=(1, 2, 3)).min() > 25


def test_the_same_place_and_heading_give_the_same_pixels(frames):
    scene = make_scene(frames.city)
    half_edges = np.array([5, 400, 9000])
    again = [
        render_view(scene, scene.camera(a, b))
        for a, b in zip(frames.city.tails[half_edges], frames.city.neighbours[half_edges], strict=True)
    ]
    assert np.array_equal(frames.make(half_edges), np.stack(again))


def test_pixels_change_with_the_version_only():
    """Agents that are shipped were trained on the frames of version 1: brightness of three, by quarters."""
    frames = RenderedFrames(cross_city()).make(np.array([0, 5, 9]))
    quarters = frames.reshape(3, 2, 42, 2, 42, 3).mean(axis=(2, 4, 5)).reshape(3, 4)
    expected = [[129.4, 156.2, 96.6, 99.7], [125.0, 140.6, 61.1, 81.3], [129.9, 149.5, 74.3, 84.5]]
    assert VERSION == "street renderer 1"
    assert quarters == pytest.approx(np.array(expected), abs=0.1)


def test_the_numbering_of_a_file_changes_nothing():
    order = (4, 8, 0, 2, 6, 1, 3, 7, 5)
    one, other = RenderedFrames(cross_city()), RenderedFrames(cross_city(order))
    ours = half_edges_of(one.city, np.array([0, 5]), np.array([3, 0]))
    theirs = half_edges_of(other.city, np.array([order[0], order[5]]), np.array([order[3], order[0]]))
    mine, yours = one.make(ours).astype(int), other.make(theirs).astype(int)
    # Means over nodes in another order round differently, in the last digit.
    assert (np.abs(mine - yours) > 3).mean() < 0.01


def test_a_house_keeps_its_colour_from_every_approach():
    """The wall met by the rays to one point is the same house from two places."""
    scene = make_scene(cross_city())
    own = scene.plan.street[np.argmax((scene.plan.piece_ends == 6).any(1))]
    width = scene.plan.half_width[own]
    houses = []
    for node, towards in ((5, 0), (6, 5)):
        camera = scene.camera(node, towards)
        hits = cast_rays(scene, camera)
        # The ray towards one and the same point of a wall: 60 m north of node 6, on the right-hand side.
        target = scene.plan.nodes[6] + np.array([width, 62.0])
        depth, right = camera.local(target[None])
        column = int((right[0] / depth[0] / np.tan(np.radians(30)) + 1) / 2 * SIDE)
        houses.append(int(np.searchsorted(scene.houses.begins, hits.along[column], side="right") - 1))
    assert houses[0] == houses[1]


def test_turning_left_then_right_returns_the_view(neighbourhoods):
    pool, views = neighbourhoods
    for world, frames in enumerate(views):
        table = np.asarray(pool.worlds.next_state[world])
        states = np.arange(len(frames))
        assert np.array_equal(frames[table[table[states, 1], 2]], frames)
        turned = table[states, 1] != states
        assert (frames[table[states, 1]] != frames)[turned].any(axis=(1, 2, 3)).all()


def jpeg(frame, quality=75):
    """What a lossy file does to a frame."""
    buffer = io.BytesIO()
    Image.fromarray(frame).save(buffer, "JPEG", quality=quality)
    return np.asarray(Image.open(buffer))


def test_views_are_told_apart_far_above_noise(neighbourhoods):
    _, views = neighbourhoods
    for frames in views:
        flat = frames.reshape(len(frames), -1).astype(np.float32)
        noisy = np.stack([jpeg(frame) for frame in frames]).reshape(len(frames), -1).astype(np.float32)
        noise = np.sqrt(((flat - noisy) ** 2).mean(1))
        apart = np.sqrt(((flat[:, None] - flat[None]) ** 2).mean(-1))
        np.fill_diagonal(apart, np.inf)
        assert apart.min() > 2 * noise.max(), (apart.min(), noise.max())
        assert np.median(apart.min(1)) > 4 * np.median(noise), (np.median(apart.min(1)), np.median(noise))


def test_a_small_classifier_names_states_from_noisy_frames(neighbourhoods):
    """Ridge regression on frames an eighth the size, trained and tested on different noise and jitter."""
    _, views = neighbourhoods
    generator = np.random.default_rng(0)

    def features(frames):
        small = frames[:, 2:82, 2:82].reshape(len(frames), 10, 8, 10, 8, 3).mean(axis=(2, 4))
        return np.concatenate([small.reshape(len(frames), -1) / 255, np.ones((len(frames), 1))], 1)

    def spoil(frames):
        noisy = (
            frames + generator.normal(0, 20, frames.shape) + generator.normal(0, 8, (len(frames), 1, 1, 3))
        )
        shifted = np.roll(noisy, generator.integers(-1, 2, 2), axis=(1, 2))
        return np.stack([jpeg(frame) for frame in np.clip(shifted, 0, 255).astype(np.uint8)])

    for frames in views:
        names = np.arange(len(frames))
        seen = np.concatenate([features(spoil(frames)) for _ in range(8)])
        labels = np.eye(len(frames))[np.tile(names, 8)]
        weights = np.linalg.solve(seen.T @ seen + 0.05 * np.eye(seen.shape[1]), seen.T @ labels)
        tested = np.concatenate([features(spoil(frames)) for _ in range(4)])
        right = (tested @ weights).argmax(1) == np.tile(names, 4)
        assert right.mean() > 0.97, right.mean()


def test_light_follows_the_hour():
    city = cross_city()
    noon, evening = (RenderedFrames(city, hour).make(np.array([0])) for hour in (13.0, 20.5))
    warmth = [frame[..., 0].mean() / frame[..., 2].mean() for frame in (noon, evening)]
    assert warmth[1] > warmth[0] + 0.05
    assert make_light(8.0).to_sun[0] > 0 > make_light(18.0).to_sun[0]
    with pytest.raises(InputError, match="hour is 2"):
        make_light(2.0)


def test_the_stored_textures_are_those_that_are_drawn():
    script = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "draw_textures.py"))
    for name, drawn in script["draw_textures"]().items():
        assert np.array_equal(load_texels(name), drawn), name


def test_a_city_of_two_nodes_can_be_seen():
    city = make_city("lane", np.array([48.0, 48.0003]), np.array([2.0, 2.0]), np.array([[0, 1]]))
    frames = RenderedFrames(city).make(np.array([0, 1]))
    assert frames.shape == (2, 84, 84, 3)
