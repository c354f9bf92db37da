"""The page's network, run by Node where it is installed, against Python's."""

import json
import re
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from rapidtask.envs.registry import MemoryPlanning
from rapidtask.viewer import make_page
from viewer_samples import NEIGHBOURS, PAPER, RESIDUAL, VALUES, walked

STEPS = 60
REPLAY = "console.log(JSON.stringify([replay(RUNS[0]), RUNS[0].probability]));"


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.parametrize(
    "config",
    [RESIDUAL, PAPER, NEIGHBOURS, VALUES],
    ids=lambda config: f"{config.block}-{config.value_channels}",
)
def test_the_page_s_network_is_python_s(config, tmp_path):
    environment, recordings = walked(MemoryPlanning(size=3, episode_steps=STEPS), config)
    page = make_page(environment, recordings, title="network")
    data = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert data is not None
    document = f"const document = {{ getElementById: () => ({{ textContent: {json.dumps(data[1])} }}) }};"
    static = files("rapidtask.viewer") / "static"
    code = [(static / name).read_text("utf-8") for name in ("data.js", "network.js")]
    script = tmp_path / "replay.js"
    script.write_text("\n".join([document, *code, REPLAY]), "utf-8")
    answer = subprocess.run(["node", str(script)], capture_output=True, text=True, check=True).stdout
    ours, python = (np.array(part) for part in json.loads(answer))
    np.testing.assert_allclose(ours, python, atol=1e-4)
    assert python.std(axis=0).max() > 0.05
