"""An episode as a moving picture inside a web page: plain SVG and a little JavaScript, nothing to load."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from typing import Any

from rapidtask.draw import symbol
from rapidtask.evaluation.play import Episodes
from rapidtask.experiments.player import PLAYER_SCRIPT
from rapidtask.experiments.style import FAINT, colour_of
from rapidtask.worlds.memory_planning import ACTIONS


def episode_data(trace: Episodes, episode: int, num_observations: int) -> dict[str, Any]:
    """One episode as JSON: where the agent was before each action, and after the last."""
    return {
        "places": [int(place) for place in trace.state[:, episode]],
        "goals": [int(goal) for goal in trace.goal[:-1, episode]],
        "actions": [ACTIONS[int(action)] for action in trace.action[:, episode]],
        "completed": [int(done) for done in trace.completed[:, episode]],
        "symbols": [symbol(int(i), num_observations) for i in trace.symbols[episode]],
    }


def animation(episodes: Mapping[str, dict[str, Any]], size: int) -> str:
    """Players side by side, in step with each other, with one set of controls.

    Args:
        episodes: `episode_data` by the name to show, all of the same world and length.
        size: cells a side of the grid.
    """
    panels = "".join(
        f'<figure class="player"><figcaption><b style="color:{colour_of(name)}">{html.escape(name)}</b> '
        f'<span class="score"></span></figcaption><svg viewBox="0 0 {size * 100} {size * 100}" role="img" '
        f'aria-label="{html.escape(name)} playing an episode"></svg><div class="strip"></div></figure>'
        for name in episodes
    )
    data = {
        "size": size,
        "faint": FAINT,
        "players": [{"colour": colour_of(name), **episode} for name, episode in episodes.items()],
    }
    # A closing tag inside the data would end the script.
    text = json.dumps(data).replace("</", "<\\/")
    return (
        f'<div class="players">{panels}</div><div class="controls"><button id="play">Pause</button>'
        '<input id="time" type="range" min="0" value="0" aria-label="step"><output id="step"></output></div>'
        f"<script>const EPISODES = {text};{PLAYER_SCRIPT}{SCRIPT}</script>"
    )


SCRIPT = """
(() => {
  const {size, players} = EPISODES, last = players[0].goals.length;
  const svgs = document.querySelectorAll('.player svg'), scores = document.querySelectorAll('.score');
  const strips = document.querySelectorAll('.strip');
  const slider = document.getElementById('time'), button = document.getElementById('play');
  const steps = document.getElementById('step');
  const centre = s => [(s % size) * 100 + 50, (size - 1 - Math.floor(s / size)) * 100 + 50];
  const moves = {up: [0, -100], down: [0, 100], left: [-100, 0], right: [100, 0]};
  const line = (a, b, colour) => `<line x1="${a[0]}" y1="${a[1]}" x2="${b[0]}" y2="${b[1]}" ` +
    `stroke="${colour}" stroke-width="9" stroke-linecap="round" opacity=".55"/>`;
  function draw(t) {
    players.forEach((p, i) => {
      const seen = new Set(p.places.slice(0, t + 1));
      const goal = p.goals[Math.min(t, last - 1)], here = p.places[t];
      let done = 0, begin = 0;
      for (let k = 0; k < t; k++) if (p.completed[k]) { done++; begin = k + 1; }
      let out = '';
      for (let s = 0; s < size * size; s++) {
        const [x, y] = centre(s);
        const fill = s === goal ? '#fdba74' : seen.has(s) ? '#e6eeff' : '#eceef1';
        out += `<rect x="${x - 46}" y="${y - 46}" width="92" height="92" rx="12" fill="${fill}"/>`;
        const ink = seen.has(s) || s === goal ? '#1f2937' : '#c3c8d0';
        out += `<text x="${x}" y="${y + 12}" text-anchor="middle" font-size="34" fill="${ink}">` +
          `${p.symbols[s]}</text>`;
      }
      for (let k = begin; k < t; k++) {
        const d = moves[p.actions[k]];
        if (!d) continue;
        const a = centre(p.places[k]), b = centre(p.places[k + 1]);
        if (Math.hypot(b[0] - a[0] - d[0], b[1] - a[1] - d[1]) < 1) out += line(a, b, p.colour);
        else {
          out += line(a, [a[0] + d[0] / 2, a[1] + d[1] / 2], p.colour);
          out += line([b[0] - d[0] / 2, b[1] - d[1] / 2], b, p.colour);
        }
      }
      const [x, y] = centre(here);
      out += `<circle cx="${x}" cy="${y}" r="30" fill="${p.colour}"/>`;
      out += `<text x="${x}" y="${y + 12}" text-anchor="middle" font-size="34" fill="#fff">` +
        `${p.symbols[here]}</text>`;
      if (t && p.completed[t - 1])
        out += `<circle cx="${x}" cy="${y}" r="42" fill="none" stroke="#ea580c" stroke-width="8"/>`;
      svgs[i].innerHTML = out;
      scores[i].textContent = `${done} goals, ${seen.size} of ${size * size} cells seen`;
      strips[i].innerHTML = p.completed.map((c, k) => c && k < t ?
        `<i style="left:${(k + 1) / last * 100}%;background:${p.colour}"></i>` : '').join('');
    });
    slider.value = t;
    steps.textContent = `step ${t} of ${last}`;
  }
  play(draw, last, slider, button, 220);
})();
"""
