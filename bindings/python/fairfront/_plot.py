"""Plots of a front with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fairfront._front_estimator import FrontEstimator


def plot_front(front: FrontEstimator[Any], x: str | None, y: str | None, ax: Any) -> Any:
    """Draw two columns of a front, the model in use and the unmitigated one."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "plot() needs matplotlib, which is not installed; install matplotlib, or use report()"
        ) from error
    x, y = x or _usual(front, 1), y or _usual(front, 0)
    table = front.front_
    for name in (x, y):
        if name not in table:
            raise ValueError(f"front_ has no column {name!r}; choose one of front_.columns")
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    ax.scatter(table[x], table[y], s=14, label="front")
    unmitigated = front.unmitigated_
    ax.scatter([unmitigated[x]], [unmitigated[y]], marker="D", color="tab:gray", label="unmitigated")
    if front._model_id is not None:
        in_use = [[np.asarray(table[name])[front._model_id - 1]] for name in (x, y)]
        ax.scatter(*in_use, s=90, facecolors="none", edgecolors="tab:red", label="in use")
    ax.set(xlabel=x, ylabel=y)
    ax.legend()
    return ax


def _usual(front: FrontEstimator[Any], at: int) -> str:
    """The column of a value that the front compares, on validation rows if there are any."""
    run = front._run
    # The front minimizes 1 - accuracy; the plot shows the accuracy.
    measures = ["accuracy" if name == "1 - accuracy" else name for name in run.measures]
    if run.is_number and not measures:
        # Measures are in the unit of y, and objectives are not.
        known = [objective.get("measure") for objective in front.run_info_["meaning"]["objectives"]]
        measures = known if all(known) else []
    names = measures or run.objectives
    at = min(at, len(names) - 1)
    columns = run.columns()
    split = "validation" if any(name.startswith("validation.") for name in columns) else "train"
    if measures:
        return f"{split}.{names[at]}"
    return f"validation.objective.{names[at]}" if split == "validation" else f"objective.{names[at]}"
