"""Views cropped from panoramas of a LevelDB written here: the bearings come out as they went in."""

import io

import numpy as np
import pytest
from PIL import Image

from city_samples import field
from rapidtask.cities.city_graph import CityError
from rapidtask.cities.leveldb import PanoramaReader
from rapidtask.cities.loaders import load_city
from rapidtask.commands.cities import RenderCity
from rapidtask.errors import InputError
from rapidtask.views import panoramas
from rapidtask.views.frame_build import build_store
from rapidtask.views.panoramas import PanoramaFrames, crop_view

plyvel = pytest.importorskip("plyvel")

HEIGHT, WIDTH = 256, 512
"""Panoramas of 0.7° a pixel."""


def bearing_image(heading, kind="PNG"):
    """A panorama whose colours say the absolute bearing and the elevation of each pixel.

    Red and green are the cosine and sine of the bearing, blue is the elevation.
    """
    bearing = np.radians(heading) + ((np.arange(WIDTH) + 0.5) / WIDTH - 0.5) * 2 * np.pi
    up = 0.5 - (np.arange(HEIGHT) + 0.5) / HEIGHT
    image = np.empty((HEIGHT, WIDTH, 3))
    image[..., 0], image[..., 1] = 127.5 + 120 * np.cos(bearing), 127.5 + 120 * np.sin(bearing)
    image[..., 2] = 127.5 + 240 * up[:, None]
    buffer = io.BytesIO()
    options = {"quality": 97, "subsampling": 0} if kind == "JPEG" else {}
    Image.fromarray(np.round(image).astype(np.uint8)).save(buffer, kind, **options)
    return buffer.getvalue()


def recovered_bearings(frame):
    """Absolute bearing in degrees of each column of a view, from its colours."""
    row = frame[40:44].astype(float).mean(axis=0)
    return np.degrees(np.arctan2(row[:, 1] - 127.5, row[:, 0] - 127.5)) % 360


def column_angles():
    """Degrees to the right of the centre, for each column of a 60° rectilinear view."""
    return np.degrees(np.arctan((2 * (np.arange(84) + 0.5) / 84 - 1) * np.tan(np.radians(30))))


def turn(a, b):
    return (np.asarray(a) - b + 180) % 360 - 180


def write_dataset(path, images=None):
    """Fourteen panoramas along winding streets, each turned its own way; a crumb of three apart from them."""
    generator = np.random.default_rng(2)
    names = [f"pano{i}" for i in range(14)] + ["far0", "far1", "far2"]
    lat = 48.85 + np.cumsum(generator.normal(0, 0.0004, 17))
    lng = 2.35 + np.cumsum(generator.normal(0, 0.0006, 17))
    links = [(i, i + 1) for i in range(13)] + [(0, 5), (3, 9), (2, 12), (14, 15), (15, 16)]
    headings = generator.uniform(0, 360, 17)
    graph = b""
    # The crumb comes first: nodes are not numbered as records are.
    for i in [14, 15, 16, *range(14)]:
        others = b"".join(field(3, names[b]) for a, b in links if a == i)
        graph += field(3, field(1, names[i]) + field(2, 12) + others)
        graph += field(5, field(1, names[i]) + field(9, field(1, lat[i]) + field(2, lng[i])))
    with plyvel.DB(str(path), create_if_missing=True) as database:
        database.put(b"panos_connectivity", graph)
        for i, name in enumerate(names):
            image = bearing_image(headings[i], "JPEG" if i % 2 else "PNG") if images is None else images
            pano = field(1, name) + field(13, float(headings[i])) + (field(16, image) if image else b"")
            database.put(name.encode(), pano)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    path = tmp_path_factory.mktemp("panoramas") / "tiny"
    write_dataset(path)
    return path


def worst_error(path):
    """Largest error of the recovered bearings, degrees, over all columns of the views of all edges."""
    city = load_city(path)
    frames = PanoramaFrames(city, path).make(np.arange(len(city.neighbours)))
    errors = []
    for half_edge, frame in enumerate(frames):
        expected = np.degrees(city.bearings[half_edge]) + column_angles()
        errors.append(np.abs(turn(recovered_bearings(frame), expected)).max())
    return max(errors)


def test_bearings_are_recovered_on_all_edges(dataset):
    city = load_city(dataset)
    assert city.num_nodes == 14
    assert worst_error(dataset) < 1.0


@pytest.mark.parametrize(
    "spoil", [lambda yaw: -yaw, lambda yaw: yaw + np.radians(1.5), lambda yaw: yaw + np.pi]
)
def test_a_wrong_sign_or_offset_would_be_seen(dataset, monkeypatch, spoil):
    right = panoramas.crop_view
    monkeypatch.setattr(panoramas, "crop_view", lambda image, yaw: right(image, spoil(yaw)))
    assert worst_error(dataset) > 1.0


def test_elevations_are_recovered():
    image = np.asarray(Image.open(io.BytesIO(bearing_image(0.0))))
    frame = crop_view(image, 0.3).astype(float)
    up = np.degrees(np.arctan((1 - 2 * (np.arange(84) + 0.5) / 84) * np.tan(np.radians(30))))
    assert np.abs((frame[:, 41:43, 2].mean(1) - 127.5) / 240 * 180 - up).max() < 0.6
    # Rectilinear: at the sides the same row looks less far up.
    corner = np.degrees(np.arctan(np.tan(np.radians(30)) * np.cos(np.radians(30)))) * 83 / 84
    assert (frame[0, 0, 2] - 127.5) / 240 * 180 == pytest.approx(corner, abs=1.0)


def test_the_seam_of_a_panorama_is_not_seen():
    image = np.asarray(Image.open(io.BytesIO(bearing_image(0.0))))
    seam = crop_view(image, np.pi).astype(int)
    assert np.abs(np.diff(seam, axis=1)).max() < 8
    assert np.abs(turn(recovered_bearings(seam), 180 + column_angles())).max() < 0.5


def test_panoramas_fill_a_frame_store(dataset, tmp_path):
    city = load_city(dataset)
    source = PanoramaFrames(city, dataset)
    store = build_store(source, tmp_path, workers=2)
    assert store.info.source == "panoramas"
    assert store.info.licence == "StreetLearn's terms of use"
    assert np.array_equal(store.frames, source.make(np.arange(len(city.neighbours))))


def test_more_workers_than_panoramas_admit_are_refused(dataset, tmp_path):
    with pytest.raises(CityError, match="--workers: one process"):
        RenderCity(str(dataset), out=tmp_path, workers=2).run()
    RenderCity(str(dataset), out=tmp_path).run()


def test_panoramas_that_are_missing_or_damaged_are_named(tmp_path):
    for name, image, problem in (
        ("none", b"", "has no image"),
        ("bad", b"not an image", "cannot be decoded"),
    ):
        write_dataset(tmp_path / name, image or None if name == "bad" else b"")
        city = load_city(tmp_path / name)
        with pytest.raises(InputError, match=f"panorama 'pano0' {problem}|'pano0' {problem}"):
            PanoramaFrames(city, tmp_path / name).make(np.array([0]))


def test_the_reader_refuses_another_city(dataset, tmp_path):
    write_dataset(tmp_path / "other", b"x")
    city = load_city(dataset)
    moved = type(city)(**{**vars_of(city), "lat": city.lat + 0.1})
    with pytest.raises(CityError, match="other panoramas"):
        PanoramaReader(tmp_path / "other", moved)


def vars_of(city):
    names = ("name", "lat", "lng", "offsets", "neighbours", "bearings")
    return {name: getattr(city, name) for name in names}
