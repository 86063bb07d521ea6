"""The front as a pandas frame; imported only where pandas is installed."""

from __future__ import annotations

from typing import Any

import pandas


class FrontFrame(pandas.DataFrame):  # type: ignore[misc]
    """A front, one row a point; a pandas frame in every way."""

    @property
    def _constructor(self) -> type[FrontFrame]:
        return FrontFrame

    def to_arrow(self) -> Any:
        """The same as a ``pyarrow.Table``."""
        import pyarrow

        return pyarrow.Table.from_pandas(pandas.DataFrame(self), preserve_index=False)

    def to_polars(self) -> Any:
        """The same as a ``polars.DataFrame``."""
        import polars

        return polars.DataFrame({name: self[name].to_numpy() for name in self.columns})
