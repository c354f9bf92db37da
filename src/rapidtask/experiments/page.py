"""A report as one web page that needs nothing else: table, figures and an animated episode inside."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass

from rapidtask.evaluation import Scores
from rapidtask.experiments.results import Result, figure_bytes
from rapidtask.experiments.style import colour_of, name_of

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1f2937; background: #fff; max-width: 60rem;
  margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.8rem; line-height: 1.2; margin-bottom: .3rem; }
h1 + h1, p + h1 { margin-top: 4rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; }
p.note { background: #fff7ed; border-left: 4px solid #ea580c; padding: .6rem .9rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid #e5e7eb; }
th:first-child, td:first-child { text-align: left; }
tr.reference td { color: #6b7280; }
td i { display: inline-block; width: .7rem; height: .7rem; border-radius: 2px; margin-right: .5rem; }
img { max-width: 100%; }
small, figcaption { color: #6b7280; }
.players { display: flex; gap: 2rem; flex-wrap: wrap; }
.player { flex: 1 1 18rem; max-width: 26rem; margin: 0; }
.player svg { width: 100%; margin-top: .4rem; }
.strip { position: relative; height: 12px; background: #f3f4f6; border-radius: 3px; margin-top: .3rem; }
.strip i { position: absolute; top: 0; width: 3px; height: 12px; margin-left: -2px; }
.controls { display: flex; gap: .8rem; align-items: center; margin-top: .8rem; }
.controls input { flex: 1; }
button { font: inherit; padding: .15rem .8rem; min-width: 7rem; }
.street { display: flex; gap: 1.5rem; flex-wrap: wrap; }
.street > svg { flex: 3 1 22rem; max-width: 32rem; background: #f9fafb; border-radius: 6px; }
.street > div { flex: 1 1 11rem; }
.street figure { margin: 0 0 .8rem; }
.street img { width: 100%; max-width: 11rem; border-radius: 4px; display: block; }
.street .symbol { font-size: 2.2rem; background: #f3f4f6; border-radius: 4px; width: 5rem;
  text-align: center; }
.tasks { display: flex; align-items: flex-end; gap: 2px; height: 110px; margin-top: .8rem; }
.tasks div { flex: 1 1 0; max-width: 1.4rem; position: relative; }
.tasks i { position: absolute; left: 0; right: 0; border-top: 2px solid #111827; }
footer { margin-top: 3rem; color: #6b7280; font-size: .85rem; }
"""


@dataclass(frozen=True)
class Section:
    """What a report says about another domain, after the first."""

    title: str
    introduction: str
    scores: Sequence[Scores]
    animation: str
    """The animated episode, as HTML."""
    animation_caption: str
    results: Sequence[Result]


@dataclass(frozen=True)
class Report:
    """What a report says."""

    title: str
    introduction: str
    notes: Sequence[str]
    """What is missing, said plainly."""
    scores: Sequence[Scores]
    references: Sequence[str]
    """Names among the scores that are reference policies."""
    animation: str
    """The animated episode, as HTML."""
    animation_caption: str
    results: Sequence[Result]
    footer: str
    more: Sequence[Section] = ()
    """Other domains."""


def report_page(report: Report) -> str:
    """The page."""
    figures = "".join(_figure(result) for result in report.results if result.figure is not None)
    more = "".join(_section(section, report.references) for section in report.more)
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in report.notes)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(report.title)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{html.escape(report.title)}</h1><p>{html.escape(report.introduction)}</p>{notes}"
        f"<h2>Scores in worlds never seen</h2>{_table(report.scores, report.references)}"
        f"<h2>An episode</h2>{report.animation}<p><small>{html.escape(report.animation_caption)}</small></p>"
        f"{figures}{more}<footer>{html.escape(report.footer)}</footer></body></html>\n"
    )


def _section(section: Section, references: Sequence[str]) -> str:
    figures = "".join(_figure(result) for result in section.results if result.figure is not None)
    return (
        f"<h1>{html.escape(section.title)}</h1><p>{html.escape(section.introduction)}</p>"
        f"<h2>Scores in streets never walked</h2>{_table(section.scores, references)}"
        f"<h2>An episode on the map</h2>{section.animation}"
        f"<p><small>{html.escape(section.animation_caption)}</small></p>{figures}"
    )


def _table(all_scores: Sequence[Scores], references: Sequence[str]) -> str:
    rows = ""
    for scores in all_scores:
        reference = scores.policy in references
        rows += (
            f'<tr{" class=reference" if reference else ""}><td><i style="background:'
            f'{colour_of(scores.policy)}"></i>{html.escape(name_of(scores.policy))}</td>'
            f"<td>{scores.goals_per_episode:.2f} ± {scores.goals_per_episode_stderr:.2f}</td>"
            f"<td>{scores.goals_last_third:.2f}</td><td>{scores.oracle_share_last_third:.1%}</td></tr>"
        )
    return (
        "<table><thead><tr><th>agent</th><th>goals per episode</th><th>in the last third</th>"
        f"<th>share of the oracle there</th></tr></thead><tbody>{rows}</tbody></table>"
        "<p><small>Mean ± standard error. Grey: reference policies, which are not learned.</small></p>"
    )


def _figure(result: Result) -> str:
    assert result.figure is not None
    data = base64.b64encode(figure_bytes(result.figure, "svg")).decode()
    title, caption = (html.escape(text) for text in (result.entry.title, result.entry.caption))
    return (
        f'<h2>{title}</h2><img alt="{title}" src="data:image/svg+xml;base64,{data}">'
        f"<p><small>{caption}</small></p>"
    )
