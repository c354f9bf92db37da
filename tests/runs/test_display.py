"""What a run prints where there is no terminal."""

import io
from dataclasses import replace
from types import SimpleNamespace

from rich.console import Console
from rich.live import Live

from rapidtask.runs.display import RunDisplay
from rapidtask.runs.run import Progress
from tiny_training import tiny_run


def lines(steps, *iterations):
    display, output = RunDisplay(replace(tiny_run(), steps=steps)), io.StringIO()
    trainer = SimpleNamespace(num_iterations=4, steps_per_iteration=104)
    scores = SimpleNamespace(goals_per_episode=2.5, oracle_share_last_third=0.5)
    with Live(console=Console(file=output, width=80)) as live:
        for number in iterations:
            display.show(Progress(number, 0, trainer, number, number, 1.0, scores), live)
    return output.getvalue().strip().splitlines()


def test_the_last_numbers_are_printed_however_soon_they_come():
    first, last = lines(416, 1, 2, 3, 4)
    assert first.startswith("steps 104 of 416  ")
    assert last.startswith("steps 416 of 416  ")
    assert last.endswith("held-out worlds 2.50 goals, 50.0% of the oracle in the last third")


def test_more_steps_than_were_asked_for_are_explained():
    (line,) = lines(400, 1)
    assert line.startswith("steps 104 of 416 (--steps 400 in whole iterations)  ")
