"""Folders of runs as `rapidtask train` leaves them, with agents that learned nothing; pages, read back."""

import json
from pathlib import Path

from epn_histories import fill
from rapidtask.agents.agent import Agent
from rapidtask.runs.agent_files import AGENT_FILE, save_agent
from rapidtask.runs.config import RunConfig


def untrained(config: RunConfig) -> Agent:
    """The agent of a run that is written here: of one seed always the same."""
    return fill(config.make_agent, config.seed)


def write_run(
    folder: Path, config: RunConfig, *, steps: int = 1040, seconds: float = 90.0, goals: float = 2.5
):
    """Two iterations, both evaluated; the second with `goals` per episode."""
    folder.mkdir(parents=True)
    save_agent(folder / AGENT_FILE, untrained(config), config)
    (folder / "config.json").write_text(json.dumps(config.to_json()))
    evaluation = {"evaluation_goals_per_episode": goals / 2, "evaluation_oracle_share_last_third": 0.2}
    first = {"iteration": 1, "steps": steps // 2, "seconds": seconds / 2, **evaluation}
    evaluation = {"evaluation_goals_per_episode": goals, "evaluation_oracle_share_last_third": 0.4}
    last = {"iteration": 2, "steps": steps, "seconds": seconds, **evaluation}
    (folder / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in (first, last)))
    return folder


def page_data(path: Path) -> dict:
    """What a page of the viewer shows."""
    _, _, rest = path.read_text(encoding="utf-8").partition('id="data">')
    return json.loads(rest.partition("</script>")[0])
