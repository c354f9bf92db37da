"""An episode on streets as a moving picture inside a web page: the map, the views, the steps of each task."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from rapidtask.draw import symbol
from rapidtask.evaluation.play import Episodes
from rapidtask.experiments.player import PLAYER_SCRIPT
from rapidtask.experiments.style import colour_of
from rapidtask.viewer.world_map import SIDE, street_map
from rapidtask.worlds.streets import StreetPool


def street_episode(
    trace: Episodes, episode: int, pool: StreetPool, views: Sequence[str] | None = None
) -> dict[str, Any]:
    """One episode as JSON: the map, the state before each action and after the last, and its tasks.

    Args:
        trace: what happened, in worlds of the pool.
        episode: which of its episodes.
        pool: the worlds with their places.
        views: address of each state's picture, if there are any.
    """
    world = int(trace.world[episode])
    drawing = street_map(pool.places, world)
    count = len(drawing["lines"])
    num_symbols = pool.worlds.num_observations
    return {
        "side": SIDE,
        "around": drawing["around"],
        "lines": drawing["lines"],
        "places": [int(state) for state in trace.state[:, episode]],
        "goals": [int(goal) for goal in trace.goal[:-1, episode]],
        "forward": [pool.worlds.rules.actions[a] == "forward" for a in trace.action[:, episode]],
        "completed": [int(done) for done in trace.completed[:, episode]],
        "symbols": [symbol(int(i), num_symbols) for i in trace.symbols[episode][:count]],
        "views": list(views) if views is not None else None,
        "tasks": tasks_of(trace, episode, np.asarray(pool.worlds.distance[world])),
    }


def tasks_of(trace: Episodes, episode: int, distance: np.ndarray) -> list[dict[str, int]]:
    """The tasks completed: the step each ended at, the steps it took, and the fewest that were possible."""
    tasks: list[dict[str, int]] = []
    start = 0
    for end in np.flatnonzero(trace.completed[:, episode]).tolist():
        shortest = int(distance[trace.state[start, episode], trace.goal[start, episode]])
        tasks.append({"end": end + 1, "steps": end + 1 - start, "shortest": shortest})
        start = end + 1
    return tasks


def street_animation(episode: dict[str, Any], name: str) -> str:
    """The player: map, what is seen and sought, controls, and a bar for each task completed so far."""
    # A closing tag inside the data would end the script.
    text = json.dumps({**episode, "colour": colour_of(name)}).replace("</", "<\\/")
    picture = '<img alt="">' if episode["views"] is not None else '<div class="symbol"></div>'
    return (
        f'<div id="streets"><div class="street"><svg viewBox="0 0 {SIDE:.0f} {SIDE:.0f}" role="img" '
        f'aria-label="{name} on the map"></svg><div><figure class="here">{picture}'
        f'<figcaption>sees</figcaption></figure><figure class="goal">{picture}'
        "<figcaption>seeks</figcaption></figure></div></div>"
        '<div class="controls"><button>Pause</button><input type="range" min="0" value="0" aria-label="step">'
        '<output></output></div><div class="tasks"></div><small>steps of each task; black: the fewest'
        f" possible</small></div><script>const STREETS = {text};{PLAYER_SCRIPT}{SCRIPT}</script>"
    )


SCRIPT = """
(() => {
  const e = STREETS, root = document.getElementById('streets'), last = e.goals.length;
  const svg = root.querySelector('svg'), slider = root.querySelector('input');
  const button = root.querySelector('button'), steps = root.querySelector('output');
  const bars = root.querySelector('.tasks');
  const points = line => line.map(p => p.join(',')).join(' ');
  const street = (line, colour, width) => `<polyline points="${points(line)}" fill="none" ` +
    `stroke="${colour}" stroke-width="${width}" stroke-linecap="round" stroke-linejoin="round"/>`;
  const arrow = (state, colour, length) => {
    const [a, b] = e.lines[state], d = [b[0] - a[0], b[1] - a[1]], n = Math.hypot(...d) || 1;
    const u = [d[0] / n, d[1] / n], at = (f, s) => [a[0] + f * u[0] - s * u[1], a[1] + f * u[1] + s * u[0]];
    return `<circle cx="${a[0]}" cy="${a[1]}" r="15" fill="${colour}"/>` +
      `<polygon points="${points([at(length, 0), at(length * .35, 20), at(length * .35, -20)])}" ` +
      `fill="${colour}"/>` + street([a, at(length * .5, 0)], colour, 11);
  };
  const ground = e.around.map(line => street(line, '#e5e7eb', 4)).join('') +
    e.lines.map(line => street(line, '#9ca3af', 8)).join('');
  const most = Math.max(1, ...e.tasks.map(task => task.steps));
  const show = (place, state) => {
    const figure = root.querySelector(place), image = figure.querySelector('img');
    if (image) image.src = e.views[state];
    else figure.querySelector('.symbol').textContent = e.symbols[state];
  };
  function draw(t) {
    const here = e.places[t], goal = e.goals[Math.min(t, last - 1)];
    const done = e.tasks.filter(task => task.end <= t);
    const begin = done.length ? done[done.length - 1].end : 0;
    let out = ground;
    new Set(e.places.slice(0, t + 1)).forEach(s => { out += street(e.lines[s].slice(0, 2), '#93c5fd', 8); });
    for (let k = begin; k < t; k++) if (e.forward[k]) out += street(e.lines[e.places[k]], e.colour, 9);
    out += arrow(goal, '#ea580c', 70) + arrow(here, e.colour, 55);
    svg.innerHTML = out;
    show('.here', here);
    show('.goal', goal);
    bars.innerHTML = done.map(({steps, shortest}) =>
      `<div style="height:${steps / most * 100}%;background:${e.colour}" title="${steps} steps">` +
      `<i style="bottom:${shortest / steps * 100}%"></i></div>`).join('');
    slider.value = t;
    steps.textContent = `step ${t} of ${last}, ${done.length} goals`;
  }
  play(draw, last, slider, button, 260);
})();
"""
