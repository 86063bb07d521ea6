"""Pack tables into block files, which may be larger than memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from typing import Any

from fairfront import _columns
from fairfront._dataset import Policy, check_numeric, column_roles, spellings
from fairfront._fairfront import Packer, pack_files
from fairfront._labels import labels_of_order
from fairfront._progress import seed, threads


def pack(
    X: Any,
    out: str | os.PathLike[str],
    y: str,
    *,
    sensitive_features: str | Iterable[str] | None = None,
    sample_weight: str | None = None,
    numeric: bool = False,
    pos_label: Any = None,
    order: Iterable[Any] | None = None,
    validation_fraction: float = 0.0,
    holdout_fraction: float = 0.0,
    missing: str = "keep",
    missing_sensitive: str = "error",
    pool_rare: int = 0,
    min_group: int = 30,
    pool_groups: int = 0,
    reference: dict[str, Any] | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    work_dir: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Write the encoded rows of a table to a block file, for fits on tables larger than memory.

    ``FairFrontClassifier().fit(out)``, or ``FairFrontRegressor().fit(out)`` for numbers, reads the file, with the same
    results as a fit on the table. So do the estimators of ``fairfront.ray`` and ``fairfront.dask``, and the command
    ``fairfront fit``.

    Parameters
    ----------
    X : path, list of paths, table, or iterable of tables
        CSV or Parquet files, or tables with the same columns: pandas frames, or tables with the Arrow interface such
        as those of pyarrow and Polars. An iterable is read once.
    out : str or path-like
        The block file to write. An existing file is replaced.
    y : str
        The name of the target column.
    sensitive_features : str or list of str, default=None
        The names of the sensitive columns; ``"sex:race"`` combines two of them.
    sample_weight : str, default=None
        The name of the column of weights.
    numeric : bool, default=False
        Whether the target is a number, for :class:`fairfront.FairFrontRegressor`.
    pos_label : label, default=None
        The favorable class of two. By default, the last one in sorted order.
    order : list of labels, default=None
        More than two classes from the lowest to the highest, if their order has a meaning.
    validation_fraction : float, default=0.0
        The share of the rows, drawn with ``random_state``, that do not train models but help to choose them.
    holdout_fraction : float, default=0.0
        The share of the rows that influence no model and no choice. They certify requirements and are reported.
    missing : {"keep", "error", "drop"}, default="keep"
        How to treat rows with missing values, as in :class:`fairfront.FairFrontClassifier`.
    missing_sensitive : {"error", "group", "loss-only", "drop"}, default="error"
        How to treat rows with missing sensitive values.
    pool_rare : int, default=0
        Categories with fewer training rows than this are pooled into one.
    min_group : int, default=30
        Groups with fewer training rows than this are reported, but left out of differences and ratios.
    pool_groups : int, default=0
        Groups with fewer training rows than this are pooled into one group, ``(other)``.
    reference : dict, default=None
        The reference group of sensitive features, such as ``{"race": "White"}``. Fronts then have the adverse impact
        ratio, shortfall, odds ratio and standardized mean difference of every other group against it.
    random_state : int, RandomState, Generator or None, default=0
        The seed of the split and of the order of the rows. ``None`` draws a seed at random.
    n_jobs : int, default=None
        The number of threads, as in :class:`fairfront.FairFrontClassifier`.
    work_dir : str or path-like, default=None
        The folder for temporary files, which need about as much space as the table. By default, the folder of ``out``.

    Returns
    -------
    dict
        ``rows_read``, ``rows_used``, ``rows`` of each split, ``bytes_per_row`` and ``bytes``.

    Raises
    ------
    ValueError
        If the table is invalid, or if it has missing values that a policy rejects. No file is written then.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> from fairfront import FairFrontClassifier, pack
    >>> def batches():
    ...     for day in range(3):
    ...         yield pd.DataFrame({"income": [1.0, 2.0 + day], "sex": ["f", "m"], "paid": ["no", "yes"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows.ffb")
    ...     summary = pack(batches(), path, "paid", sensitive_features="sex")
    >>> summary["rows"]
    {'train': 6, 'validation': 0, 'test': 0}
    """
    from fairfront._base import FairFrontWarning

    policy = Policy(
        validation_fraction,
        holdout_fraction,
        missing,
        missing_sensitive,
        pool_rare,
        min_group,
        pool_groups,
        seed(random_state),
        reference,
    )
    check_numeric(numeric, pos_label)
    target, names, weight = column_roles(y, sensitive_features, sample_weight)
    path = os.fspath(out)
    work = os.fspath(work_dir) if work_dir is not None else os.path.dirname(path) or "."
    roles = {
        "target": target,
        "numeric": bool(numeric),
        "order": [] if order is None else [_columns.group(label) for label in labels_of_order(order)],
        "sensitive": names,
        "weight": weight,
        "settings": policy.settings(),
    }
    n_threads = threads(n_jobs)
    if _columns.is_path(X):
        # Booleans have two spellings.
        found = spellings(pos_label)
        for positive in found[:-1]:
            try:
                summary = pack_files(_columns.paths(X), path, work, {**roles, "positive": positive}, n_threads)
                break
            except ValueError:
                continue
        else:
            summary = pack_files(_columns.paths(X), path, work, {**roles, "positive": found[-1]}, n_threads)
    else:
        packer = Packer({**roles, "positive": spellings(pos_label)[0]}, work)
        for table in _tables(X):
            columns = _columns.features(table, "pack").columns
            packer.push(columns)
        summary = packer.finish(path, n_threads)
    for warns, message in summary.pop("messages"):
        if warns:
            warnings.warn(message, FairFrontWarning, stacklevel=2)
    return summary


def _tables(X: Any) -> Iterable[Any]:
    """The tables of X that have rows."""
    if _is_table(X):
        X = [X]
    elif isinstance(X, (bytes, dict)) or not hasattr(X, "__iter__"):
        raise TypeError(f"X is {type(X).__name__}; pass a path, a table, or an iterable of tables")
    for table in X:
        if not _is_table(table):
            raise TypeError(
                f"X contains {type(table).__name__}; pass pandas frames, or tables with the Arrow interface, such as "
                "those of pyarrow and Polars"
            )
        if _n_rows(table) != 0:
            yield _with_stream(table)


def _is_table(X: Any) -> bool:
    return _columns.is_pandas_frame(X) or hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")


def _n_rows(table: Any) -> int | None:
    """The number of rows, if it is known without reading the table."""
    rows = getattr(table, "num_rows", None)
    if isinstance(rows, int):
        return rows
    return len(table) if hasattr(table, "__len__") else None


def _with_stream(table: Any) -> Any:
    """A table with the stream interface; a single record batch may only have the one for arrays."""
    if _columns.is_pandas_frame(table) or hasattr(table, "__arrow_c_stream__"):
        return table
    import pyarrow

    return pyarrow.table(table)
