"""Keys from a terminal, one by one and without Enter, or characters from any stream."""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Callable, Iterator
from typing import TextIO

try:
    import termios
    import tty
except ImportError:  # Windows: keys are read as lines, followed by Enter
    termios = tty = None

ESCAPE = "\x1b"
ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
ESCAPE_SECONDS = 0.05
"""How long the rest of an arrow key may take before an escape is taken for the Esc key itself."""


@contextlib.contextmanager
def read_keys(stream: TextIO) -> Iterator[Iterator[str]]:
    """The keys of a stream until its end: characters, or "up", "down", "left", "right" for the arrows.

    If the stream is a terminal, keys arrive as they are pressed and are not echoed; the terminal is put back
    as it was on leaving, however that happens.
    """
    if termios is None or tty is None or not stream.isatty():
        yield _keys(lambda timeout: stream.read(1))
        return
    descriptor = stream.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield _keys(lambda timeout: _read_terminal(descriptor, timeout))
    finally:
        # TCSAFLUSH also drops keys pressed after the end, which would otherwise be typed into the shell.
        termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)


def _read_terminal(descriptor: int, timeout: float | None) -> str:
    """One character, or nothing at the end or when the time is over."""
    if timeout is not None and not select.select([descriptor], [], [], timeout)[0]:
        return ""
    try:
        return os.read(descriptor, 1).decode("latin-1")
    except OSError:  # the terminal has gone
        return ""


def _keys(read: Callable[[float | None], str]) -> Iterator[str]:
    """Put escape sequences together: an arrow is Esc [ A, or Esc O A in a terminal's application mode."""
    while character := read(None):
        if character != ESCAPE:
            yield character
            continue
        introducer = read(ESCAPE_SECONDS)
        if introducer not in ("[", "O"):
            yield ESCAPE
            if introducer:
                yield introducer
            continue
        final = read(ESCAPE_SECONDS)
        while final and not final.isalpha() and final != "~":  # parameters, as in Esc [ 1 ; 5 A
            final = read(ESCAPE_SECONDS)
        if final in ARROWS:
            yield ARROWS[final]
