"""The front as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from fairfront._fairfront import Run


class FrontDict(dict[str, npt.NDArray[np.float64]]):
    """The columns of a front where pandas is not installed: arrays by name, one value for each point."""

    def to_arrow(self) -> Any:
        """The same as a ``pyarrow.Table``."""
        import pyarrow

        return pyarrow.table(dict(self))

    def to_polars(self) -> Any:
        """The same as a ``polars.DataFrame``."""
        import polars

        return polars.DataFrame(dict(self))


def front_table(run: Run) -> Any:
    """The front as a pandas frame, or as a dict of arrays where pandas is not installed."""
    columns = run.columns()
    try:
        from fairfront._frame import FrontFrame
    except ImportError:
        return FrontDict(columns)
    frame = FrontFrame(columns)
    frame.index.name = "point"
    return frame
