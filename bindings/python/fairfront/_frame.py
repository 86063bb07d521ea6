"""The front as a pandas frame; imported only if pandas is installed."""

from __future__ import annotations

from typing import Any

import pandas


class FrontFrame(pandas.DataFrame):  # type: ignore[misc]
    """A pandas frame with one row per model of a front."""

    @property
    def _constructor(self) -> type[FrontFrame]:
        return FrontFrame

    def to_arrow(self) -> Any:
        """Convert the front to a ``pyarrow.Table``.

        Returns
        -------
        pyarrow.Table
            The columns of the front.
        """
        import pyarrow

        return pyarrow.Table.from_pandas(pandas.DataFrame(self), preserve_index=False)

    def to_polars(self) -> Any:
        """Convert the front to a ``polars.DataFrame``.

        Returns
        -------
        polars.DataFrame
            The columns of the front.
        """
        import polars

        return polars.DataFrame({name: self[name].to_numpy() for name in self.columns})
