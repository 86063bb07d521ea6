"""The front as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fairfront._fairfront import Run


class FrontDict(dict[str, npt.NDArray[Any]]):
    """The columns of a front if pandas is not installed: arrays by name, with one value per model."""

    def to_arrow(self) -> Any:
        """Convert the front to a ``pyarrow.Table``.

        Returns
        -------
        pyarrow.Table
            The columns of the front.
        """
        import pyarrow

        return pyarrow.table(dict(self))

    def to_polars(self) -> Any:
        """Convert the front to a ``polars.DataFrame``.

        Returns
        -------
        polars.DataFrame
            The columns of the front.
        """
        import polars

        return polars.DataFrame(dict(self))


def front_table(run: Run) -> Any:
    """The front as a pandas frame, or as a dict of arrays if pandas is not installed."""
    columns: dict[str, npt.NDArray[Any]] = {**run.columns()}
    if run.families is not None:
        columns = {"family": np.asarray(run.families, dtype=object), **columns}
    try:
        from pandas import RangeIndex

        from fairfront._frame import FrontFrame
    except ImportError:
        return FrontDict(columns)
    frame = FrontFrame(columns)
    frame.index = RangeIndex(1, len(frame) + 1, name="model_id")
    return frame
