"""Pareto fronts between prediction loss and fairness measures."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairfront._fairfront import __version__

if TYPE_CHECKING:
    from fairfront import indicators, metrics
    from fairfront._audit import Audit, audit
    from fairfront._base import FairFrontWarning
    from fairfront._classifier import FairFrontClassifier
    from fairfront._dataset import Dataset
    from fairfront._interrupt import Interrupted
    from fairfront._model import FairClassifier, FairRegressor
    from fairfront._objective import Objective, Rows
    from fairfront._pack import pack
    from fairfront._problem import Batch, Problem
    from fairfront._regressor import FairFrontRegressor
    from fairfront._solver import Front, eps_fair, pf_smg, trace, weighted
    from fairfront.indicators import (
        hypervolume,
        is_nondominated,
        min_norm,
        performance_profile,
        purity,
        spread,
    )

# The module of each public name. A module is imported when one of its names is first used. `__all__` and
# the imports above are for tools that read this file without running it; a test compares the three lists.
_MODULES = {
    # Estimators
    "FairClassifier": "fairfront._model",
    "FairFrontClassifier": "fairfront._classifier",
    "FairFrontRegressor": "fairfront._regressor",
    "FairFrontWarning": "fairfront._base",
    "FairRegressor": "fairfront._model",
    "Interrupted": "fairfront._interrupt",
    # Audits
    "Audit": "fairfront._audit",
    "audit": "fairfront._audit",
    # Low level
    "Batch": "fairfront._problem",
    "Dataset": "fairfront._dataset",
    "Front": "fairfront._solver",
    "Objective": "fairfront._objective",
    "Problem": "fairfront._problem",
    "Rows": "fairfront._objective",
    "eps_fair": "fairfront._solver",
    "hypervolume": "fairfront.indicators",
    "is_nondominated": "fairfront.indicators",
    "min_norm": "fairfront.indicators",
    "pack": "fairfront._pack",
    "performance_profile": "fairfront.indicators",
    "pf_smg": "fairfront._solver",
    "purity": "fairfront.indicators",
    "spread": "fairfront.indicators",
    "trace": "fairfront._solver",
    "weighted": "fairfront._solver",
}
_SUBMODULES = ("indicators", "metrics")

__all__ = [
    "Audit",
    "Batch",
    "Dataset",
    "FairClassifier",
    "FairFrontClassifier",
    "FairFrontRegressor",
    "FairFrontWarning",
    "FairRegressor",
    "Front",
    "Interrupted",
    "Objective",
    "Problem",
    "Rows",
    "__version__",
    "audit",
    "eps_fair",
    "hypervolume",
    "indicators",
    "is_nondominated",
    "metrics",
    "min_norm",
    "pack",
    "performance_profile",
    "pf_smg",
    "purity",
    "spread",
    "trace",
    "weighted",
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
