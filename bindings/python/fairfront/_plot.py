"""The front drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairfront._classifier import FairFrontClassifier


def plot_front(front: FairFrontClassifier, x: str | None, y: str | None, ax: Any) -> Any:
    """Draw two columns of a front, the model in use and the unmitigated one."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "plot() draws with matplotlib, which is not installed; install it, or use report()"
        ) from error
    x, y = x or _usual(front, 1), y or _usual(front, 0)
    table = front.front_
    for name in (x, y):
        if name not in table:
            raise ValueError(f"front_ has no column {name!r}; look at clf.front_.columns")
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    ax.scatter(table[x], table[y], s=14, label="front")
    unmitigated = front.unmitigated_
    ax.scatter([unmitigated[x]], [unmitigated[y]], marker="D", color="tab:gray", label="unmitigated")
    at = front._point
    if at is not None:
        ax.scatter([table[x][at]], [table[y][at]], s=90, facecolors="none", edgecolors="tab:red", label="in use")
    ax.set(xlabel=x, ylabel=y)
    ax.legend()
    return ax


def _usual(front: FairFrontClassifier, at: int) -> str:
    """The column that the front is judged by, on the rows that decide."""
    run = front._run
    # The front is judged by what is to be minimised; people read the accuracy.
    measures = ["accuracy" if name == "1 - accuracy" else name for name in run.measures]
    names = measures or run.objectives
    at = min(at, len(names) - 1)
    columns = run.columns()
    split = "validation" if any(name.startswith("validation.") for name in columns) else "train"
    if measures:
        return f"{split}.{names[at]}"
    return f"validation.objective.{names[at]}" if split == "validation" else f"objective.{names[at]}"
