"""`rapidtask cities render` and `rapidtask cities views` on a small city."""

import numpy as np
import pytest
from PIL import Image

from rapidtask.cities.city_graph import CityError, make_city
from rapidtask.cities.gexf import save_city
from rapidtask.commands.cities import RenderCity, ShowViews
from rapidtask.errors import InputError
from rapidtask.worlds.frame_store import FrameError, FrameStore


@pytest.fixture(scope="module")
def city_file(tmp_path_factory):
    """Three by three crossings, bent a little."""
    generator = np.random.default_rng(0)
    east, north = (part.ravel() for part in np.meshgrid(np.arange(4), np.arange(4)))
    lat = 48 + 6e-4 * north + generator.normal(0, 4e-5, 16)
    lng = 2 + 9e-4 * east + generator.normal(0, 4e-5, 16)
    edges = [(i, i + 1) for i in range(16) if i % 4 < 3] + [(i, i + 4) for i in range(12)]
    city = make_city("small", lat, lng, np.array(edges), source="a test", licence="CC0-1.0")
    return save_city(city, tmp_path_factory.mktemp("city") / "small.gexf.gz")


def test_a_city_is_rendered_and_looked_at(city_file, tmp_path, capsys):
    render = RenderCity(str(city_file), out=tmp_path / "frames", workers=1)
    render.run()
    out = capsys.readouterr().out
    assert "48 frames, 1 MB, street renderer" in out
    store = FrameStore(tmp_path / "frames" / "small")
    assert len(store.read(np.arange(len(store)))) == len(store)
    before = (store.path / "frames.npy").stat().st_mtime_ns
    render.run()
    assert (store.path / "frames.npy").stat().st_mtime_ns == before
    with pytest.raises(FrameError, match="holds other frames already"):
        RenderCity(str(city_file), out=tmp_path / "frames", workers=1, hour=18.0).run()

    sheet = ShowViews(
        str(city_file), frames=tmp_path / "frames", out=tmp_path / "sheet.png", num_intersections=2
    )
    sheet.run()
    picture = np.asarray(Image.open(tmp_path / "sheet.png").convert("RGB"))
    assert picture.shape[1] > 1000
    # Sky, on the side where the views are.
    right = picture[:, picture.shape[1] // 2 :].astype(int)
    assert ((right[..., 2] - right[..., 0]) > 60).mean() > 0.02


def test_wrong_options_are_named(city_file, tmp_path):
    with pytest.raises(CityError, match="--workers: 0"):
        RenderCity(str(city_file), out=tmp_path, workers=0).run()
    with pytest.raises(InputError, match="hour is 3"):
        RenderCity(str(city_file), out=tmp_path / "night", workers=1, hour=3.0).run()
    with pytest.raises(FrameError, match="no such frame store"):
        ShowViews(str(city_file), frames=tmp_path, num_intersections=2, out=tmp_path / "x.png").run()
    with pytest.raises(InputError, match="--hour"):
        ShowViews(str(city_file), frames=tmp_path, hour=9.0, num_intersections=2).run()
    with pytest.raises(CityError, match="cannot be written"):
        ShowViews(str(city_file), num_intersections=2, out=tmp_path / "none" / "x.png").run()
