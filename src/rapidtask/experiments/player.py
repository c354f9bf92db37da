"""What plays an episode in a page: a script that both animations begin with."""

PLAYER_SCRIPT = """
function play(draw, last, slider, button, pace) {
  let t = 0, playing = true;
  slider.max = last;
  button.onclick = () => {
    playing = !playing;
    if (playing && t >= last) t = 0;
    button.textContent = playing ? 'Pause' : 'Play';
  };
  slider.oninput = () => { t = +slider.value; playing = false; button.textContent = 'Play'; draw(t); };
  setInterval(() => {
    if (!playing) return;
    draw(t);
    if (t >= last) { playing = false; button.textContent = 'Play again'; } else t++;
  }, pace);
  draw(0);
}
"""
"""Defines `play`: draws the steps up to `last` one after another, `pace` milliseconds each."""
