"""The state of ``partial_fit`` between batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairfront._fairfront import Live
from fairfront._predict import Looks


@dataclass
class Stream:
    """A front that batches update, and the parameters that the first batch fixed."""

    live: Live
    looks: Looks
    settled: dict[str, Any]

    def check(self, now: dict[str, Any]) -> None:
        """Reject parameters that have changed."""
        for name, value in now.items():
            if repr(value) != repr(self.settled[name]):
                raise ValueError(
                    f"{name}={value!r} was {self.settled[name]!r} in the first batch, which fixed it; set it back, or "
                    "start over with a clone of the estimator"
                )
