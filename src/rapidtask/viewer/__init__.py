"""An episode as one web page: watch it, compare agents on it, play it against the agent.

`record_episode` runs a policy and keeps what happened, `make_page` turns recordings into one HTML file that
needs no network.
"""

from rapidtask.viewer.page import make_page
from rapidtask.viewer.recording import Recording, record_episode

__all__ = ["Recording", "make_page", "record_episode"]
