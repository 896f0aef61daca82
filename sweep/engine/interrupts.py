"""Ctrl-C and SIGTERM while a sweep runs: one clean stop, whatever Ray has set up for them."""

from __future__ import annotations

import signal

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stoppable:
    """Inside, either signal raises KeyboardInterrupt once; further ones change nothing."""

    def __enter__(self) -> Stoppable:
        self.before = {number: signal.getsignal(number) for number in SIGNALS}
        self.stopped = False
        self.arm()
        return self

    def __exit__(self, *unused: object) -> None:
        if not self.stopped:  # while stopping, further signals stay ignored
            for number, handler in self.before.items():
                signal.signal(number, handler)

    def arm(self) -> None:
        """Take the signals; again after Ray has started, which takes them for itself."""
        for number in SIGNALS:
            signal.signal(number, self._stop)

    def _stop(self, *unused: object) -> None:
        # A second signal must not cut the commit short.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        self.stopped = True
        raise KeyboardInterrupt
