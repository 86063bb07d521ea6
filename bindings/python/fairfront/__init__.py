"""Every worthwhile trade-off between accuracy and fairness, at once."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairfront._fairfront import __version__

if TYPE_CHECKING:
    from fairfront import indicators, metrics
    from fairfront.indicators import (
        hypervolume,
        is_nondominated,
        min_norm,
        performance_profile,
        purity,
        spread,
    )

# Where each name lives: a module is imported when one of its names is first asked for. `__all__` and
# the imports above are for tools that read this file without running it; a test compares the three.
_MODULES = {
    # Low level
    "hypervolume": "fairfront.indicators",
    "is_nondominated": "fairfront.indicators",
    "min_norm": "fairfront.indicators",
    "performance_profile": "fairfront.indicators",
    "purity": "fairfront.indicators",
    "spread": "fairfront.indicators",
}
_SUBMODULES = ("indicators", "metrics")

__all__ = [
    "__version__",
    "hypervolume",
    "indicators",
    "is_nondominated",
    "metrics",
    "min_norm",
    "performance_profile",
    "purity",
    "spread",
]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"fairfront.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'fairfront' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
