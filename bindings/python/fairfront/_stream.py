"""What ``partial_fit`` keeps between batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairfront._fairfront import Live
from fairfront._predict import Looks


@dataclass
class Stream:
    """A front that batches bring up to date, and what the first of them settled."""

    live: Live
    looks: Looks
    settled: dict[str, Any]

    def check(self, now: dict[str, Any]) -> None:
        """Refuse parameters that have changed."""
        for name, value in now.items():
            if repr(value) != repr(self.settled[name]):
                raise ValueError(
                    f"{name}={value!r} was {self.settled[name]!r} when the first batch settled it; set it back, or "
                    "begin anew with a clone of the estimator"
                )
