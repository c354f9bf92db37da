"""Scores, figures and an episode to watch, as one web page that loads nothing from elsewhere."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass

from rapidtask.evaluation import Scores
from rapidtask.experiments import style
from rapidtask.experiments.results import Result, drawing_bytes
from rapidtask.policies import POLICIES

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1f2937; background: #fff; max-width: 60rem;
  margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.8rem; line-height: 1.2; margin-bottom: .3rem; }
p + h1 { margin-top: 4rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid #e5e7eb; }
th:first-child, td:first-child { text-align: left; }
tr.reference td { color: #6b7280; }
td i { display: inline-block; width: .7rem; height: .7rem; border-radius: 2px; margin-right: .5rem; }
img { max-width: 100%; }
iframe { width: 100%; height: 46rem; border: 1px solid #e5e7eb; border-radius: 6px; }
small, footer { color: #6b7280; }
footer { margin-top: 3rem; font-size: .85rem; }
"""


@dataclass(frozen=True)
class Section:
    """What a report says about one domain."""

    title: str
    introduction: str
    scores: Sequence[Scores]
    episode: str
    """Address of a page of the viewer."""
    caption: str
    """Which episode that is."""
    results: Sequence[Result]


def report_page(sections: Sequence[Section], footer: str) -> str:
    """The page."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(sections[0].title)}</title><style>{STYLE}</style></head><body>"
        f"{''.join(map(_section, sections))}<footer>{html.escape(footer)}</footer></body></html>\n"
    )


def _section(section: Section) -> str:
    figures = ""
    for result in section.results:
        if result.drawing is not None:
            data = base64.b64encode(drawing_bytes(result.drawing, "svg")).decode()
            title, caption = html.escape(result.entry.title), html.escape(result.entry.caption)
            figures += f'<h2>{title}</h2><img alt="{title}" src="data:image/svg+xml;base64,{data}">'
            figures += f"<p><small>{caption}</small></p>"
    return (
        f"<h1>{html.escape(section.title)}</h1><p>{html.escape(section.introduction)}</p>"
        f"<h2>Scores</h2>{_table(section.scores)}"
        f'<h2>An episode</h2><iframe title="An episode" src="{section.episode}"></iframe>'
        f'<p><small>{html.escape(section.caption)} <a href="{section.episode}">On a page of its own.</a>'
        f"</small></p>{figures}"
    )


def _table(all_scores: Sequence[Scores]) -> str:
    rows = "".join(
        f'<tr{" class=reference" if scores.policy in POLICIES else ""}><td><i style="background:'
        f'{style.colour_of(scores.policy)}"></i>{html.escape(style.name_of(scores.policy))}</td>'
        f"<td>{scores.goals_per_episode:.2f} ± {scores.goals_per_episode_stderr:.2f}</td>"
        f"<td>{scores.goals_last_third:.2f}</td><td>{scores.oracle_share_last_third:.1%}</td></tr>"
        for scores in all_scores
    )
    return (
        "<table><thead><tr><th>agent</th><th>goals per episode</th><th>in the last third</th>"
        f"<th>share of the oracle there</th></tr></thead><tbody>{rows}</tbody></table>"
        "<p><small>Mean ± standard error. Grey: reference policies, which are not learned.</small></p>"
    )
