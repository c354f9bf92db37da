"""Stopping a run by a signal, at a moment that loses nothing."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def collect_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of dying of them; a second one of the same kind ends the process.

    Python runs handlers when the compiler returns, a minute later. A thread is told at once, and answers.
    """
    received: list[int] = []
    told, tells = socket.socketpair()
    tells.setblocking(False)

    def listen() -> None:
        heard: list[int] = []
        while number := told.recv(1):
            if number[0] in heard:
                print("Stopped at once. --resume goes on from the last checkpoint.", file=sys.stderr)
                os._exit(128 + number[0])
            if number[0] in SIGNALS:
                heard.append(number[0])
                print("Stopping after this iteration. Once more: at once.", file=sys.stderr, flush=True)

    previous = {number: signal.signal(number, lambda n, _: received.append(n)) for number in SIGNALS}
    woken_before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield received
    finally:
        signal.set_wakeup_fd(woken_before)
        for number, handler in previous.items():
            signal.signal(number, handler)
        tells.close()
        listener.join()
        told.close()
