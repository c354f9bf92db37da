"""Lines of street figures: one per agent over seeds, with whiskers; reference policies dashed."""

from __future__ import annotations

from matplotlib.axes import Axes

from rapidtask.experiments.material import Rows
from rapidtask.experiments.street_scores import seeds_note, summary
from rapidtask.experiments.style import colour_of, name_of, quiet
from rapidtask.policies import POLICIES

SHARE = "oracle_share_last_third"
GOALS = "goals_per_episode"
Y_LABELS = {SHARE: "share of the oracle, last third (%)", GOALS: "goals per episode"}


def draw_lines(
    axes: Axes, rows: Rows, x: str, y: str, *, line: str = "agent", colours: dict[str, str] | None = None
) -> None:
    """Means over seeds against x, one line for each value of a column.

    Args:
        axes: where to draw.
        rows: rows of `street_scores.score_row`, with the columns named here.
        x: column of the places.
        y: `SHARE` (drawn in percent) or `GOALS`.
        line: column that tells the lines apart.
        colours: colour of each line, if not that of its label.
    """
    factor = 100.0 if y == SHARE else 1.0
    for label in dict.fromkeys(row[line] for row in rows):
        ours = [row for row in rows if row[line] == label]
        reference = ours[0]["agent"] in POLICIES
        places = sorted({row[x] for row in ours})
        points = [summary([row for row in ours if row[x] == place], y, factor) for place in places]
        axes.errorbar(
            places,
            [mean for mean, _ in points],
            [error for _, error in points],
            color=(colours or {}).get(label) or colour_of(label),
            marker="" if reference else "o",
            markersize=4.5,
            linewidth=1.2 if reference else 2.0,
            linestyle=(0, (4, 2)) if reference else "-",
            label=name_of(label) + seeds_note(ours),
        )
    axes.set(ylabel=Y_LABELS[y])
    axes.set_ylim(0, 106) if y == SHARE else axes.set_ylim(bottom=0)
    quiet(axes)
