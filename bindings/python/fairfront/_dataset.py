"""Data sets: features, target, sensitive features and weights."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from fairfront import _columns, _labels
from fairfront._fairfront import Dataset as _Inner
from fairfront._fairfront import is_block_file as _is_block_file
from fairfront._predict import Looks
from fairfront._progress import seed, threads, whole

#: Ways to treat rows with missing values.
MISSING = ("keep", "error", "drop")
MISSING_SENSITIVE = ("error", "group", "loss-only", "drop")


@dataclass
class Policy:
    """How to split rows, and how to treat missing values and small groups."""

    validation_fraction: float
    holdout_fraction: float
    missing: str
    missing_sensitive: str
    pool_rare: int
    min_group: int
    pool_groups: int
    seed: int
    reference: Any = None

    def __post_init__(self) -> None:
        self.reference = references(self.reference)
        for name in ("pool_rare", "min_group", "pool_groups"):
            setattr(self, name, whole(name, getattr(self, name), 0))
        for name, known in [("missing", MISSING), ("missing_sensitive", MISSING_SENSITIVE)]:
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r}: expected one of {list(known)}")
        for name in ("validation_fraction", "holdout_fraction"):
            share = getattr(self, name)
            if not isinstance(share, Real) or not 0.0 <= float(share) < 1.0:
                raise ValueError(f"{name}={share!r}: expected a number from 0 to below 1")
        if self.validation_fraction + self.holdout_fraction >= 1.0:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} and holdout_fraction={self.holdout_fraction!r}"
                " leave no rows for training; choose smaller shares"
            )

    def settings(self) -> dict[str, Any]:
        """The policy in the form that the extension expects."""
        shares = ("validation_fraction", "holdout_fraction")
        return {**vars(self), **{name: float(getattr(self, name)) for name in shares}}


def references(given: Any) -> list[tuple[str, str]]:
    """Reference groups as pairs of attribute and group."""
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise TypeError(f"reference={given!r}: expected a dict from attributes to groups, such as {{'sex': 'm'}}")
    for name in given:
        if not isinstance(name, str) or not name:
            raise TypeError(f"reference={given!r}: {name!r} is not the name of a sensitive feature")
    return [(name, _columns.group(group)) for name, group in given.items()]


@dataclass
class Given:
    """Checked X, y, sensitive features and weights, ready for the extension."""

    parts: dict[str, Any]
    features: _columns.Features
    #: The classes; ``None`` if the target is a number.
    target: _labels.Coded | None
    n_attributes: int

    @property
    def classes(self) -> Any:
        """The array of the classes; ``None`` if the target is a number."""
        return None if self.target is None else self.target.classes

    @property
    def positive(self) -> Any:
        """The favorable class; ``None`` unless there are two classes."""
        return None if self.target is None else self.target.positive

    def looks(self) -> Looks:
        """The classes and columns of these rows."""
        names = None if self.target is None or len(self.target.classes) == 2 else tuple(self.target.names)
        return Looks(self.classes, self.positive, self.features.n_features, self.features.names_in, class_names=names)


def assemble(
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    *,
    sensitive_probability: Any = None,
    who: str,
    policy: Policy,
    objectives: Sequence[Any],
    numeric: bool = False,
    pos_label: Any = None,
    order: Any = None,
    is_batch: bool = False,
    classes: tuple[npt.NDArray[Any], Any] | None = None,
    looks: Looks | None = None,
) -> Given:
    """Check the arguments and assemble their columns.

    Parameters
    ----------
    X, y, sensitive_features, sample_weight
        The arguments of ``fit``; X may also be columns that are already converted.
    sensitive_probability : dict, default=None
        The same: probabilities of the groups of attributes.
    who : str
        The name of the caller, for messages.
    policy : Policy
        How to split rows, and how to treat missing values and small groups.
    objectives : sequence
        The objectives, whose attributes may be intersections.
    numeric : bool, default=False
        Whether y is a number.
    pos_label : label, default=None
        The favorable class.
    order : list of labels, default=None
        More than two classes from the lowest to the highest, if their order has a meaning.
    is_batch : bool, default=False
        Whether the rows are a batch of a stream, which may have only one group.
    classes : tuple of array and label, default=None
        For the first rows of a stream, which may have only one class: the classes and the favorable class.
    looks : Looks, default=None
        For later rows of a stream: the classes and columns that they must have.
    """
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None")
    features = X if isinstance(X, _columns.Features) else _columns.features(X, who)
    if looks is not None:
        looks.align(features, who)
        if looks.classes is not None:
            classes = looks.classes, looks.positive
    lacking = features.columns.missing
    if lacking and policy.missing == "error":
        column, count = lacking[0]
        raise ValueError(
            f"Input X contains NaN: column {column!r} has {count} missing value(s). {who} accepts them with "
            "missing='keep'; otherwise impute the values or drop these rows."
        )
    weights = _columns.weights(sample_weight, features.n_rows)
    taken = set(features.columns.names)
    groups = []
    if sensitive_features is not None:
        groups = _columns.sensitive(sensitive_features, features.n_rows, policy.missing_sensitive)
    roles = []
    for feature in groups:
        if len(feature.groups) < 2 and not is_batch:
            raise ValueError(
                f"Sensitive feature {feature.name!r} has only one group, {feature.groups}; pass a "
                "feature with at least two groups."
            )
        groups_column = (free_name(feature.name, "sensitive", taken), feature.codes, feature.groups)
        roles.append((groups_column, feature.name))
    estimated = []
    for attribute, of_groups in _columns.probabilities(sensitive_probability, features.n_rows):
        if any(attribute == feature.name for feature in groups):
            raise ValueError(f"sensitive_probability: {attribute!r} is also a sensitive feature; rename one of them")
        columns = [(g, (free_name(f"P({attribute}={g})", "sensitive", taken), p)) for g, p in of_groups]
        estimated.append((free_name(attribute, "sensitive", taken), attribute, columns))
    # Batches of a stream may have different types; their target has one name.
    target_name = free_name("y" if is_batch else _target_name(y), "target", taken)
    coded: _labels.Coded | None = None
    target: tuple[Any, ...]
    if numeric:
        target = target_name, _labels.numbers(y, weights, who, features.n_rows, is_batch)
    else:
        coded = _labels.coded(y, weights, who, features.n_rows, pos_label, order, classes)
        target = target_name, coded.codes, coded.names
        if not is_batch:
            _labels.warn_about_few(coded, weights, who, stacklevel=5)
    is_binary = coded is not None and len(coded.classes) == 2
    parts = {
        "source": "X",
        "features": features.columns,
        "target": target,
        "numeric": numeric,
        "positive": coded.names[1] if coded is not None and is_binary else None,
        "classes": [] if coded is None or is_binary else coded.names,
        "order": [] if coded is None else coded.order,
        "sensitive": roles,
        "probabilities": estimated,
        "weight": None if weights is None else (free_name("sample_weight", "weight", taken), weights),
        "objectives": [objective for objective in objectives if isinstance(objective, str)],
    }
    return Given(parts, features, coded, len(groups) + len(estimated))


def free_name(name: str, role: str, taken: set[str]) -> str:
    """A name that is not taken by another column."""
    free, number = name, 1
    while free in taken:
        free = f"{name} ({role})" if number == 1 else f"{name} ({role} {number})"
        number += 1
    taken.add(free)
    return free


def _target_name(y: Any) -> str:
    name = getattr(y, "name", None)
    return name if isinstance(name, str) and name else "y"


def _names(sensitive_features: Any) -> list[Any]:
    """The names of sensitive columns of a file."""
    if sensitive_features is None:
        return []
    return [sensitive_features] if isinstance(sensitive_features, str) else list(sensitive_features)


def column_roles(y: Any, sensitive_features: Any, sample_weight: Any) -> tuple[str, list[str], str | None]:
    """The names of the target, of the sensitive columns and of the weights in a table."""
    if not isinstance(y, str):
        raise TypeError(f"y is {type(y).__name__}; pass the name of the target column")
    names = _names(sensitive_features)
    for name in [*names, *([] if sample_weight is None else [sample_weight])]:
        if not isinstance(name, str):
            raise TypeError("sensitive_features or sample_weight is not a string; pass column names")
    return y, names, sample_weight


def check_numeric(numeric: bool, pos_label: Any) -> None:
    """Reject a favorable class of numbers."""
    if numeric and pos_label is not None:
        raise ValueError("numeric and pos_label: both are set, but numbers have no classes; set only one of them")


def spellings(pos_label: Any) -> list[str | None]:
    """The strings that the favorable class may be in a file."""
    return [None] if pos_label is None else list(dict.fromkeys([_columns.text(pos_label), str(pos_label)]))


def read(
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    policy: Policy,
    n_threads: int,
    *,
    sensitive_probability: Any = None,
    numeric: bool = False,
    pos_label: Any = None,
    order: Any = None,
) -> _Inner:
    """Read rows from files, with roles given by column names."""
    if not isinstance(y, str):
        raise TypeError(f"y is {type(y).__name__}, but X is a path; pass the name of its target column")
    names = _names(sensitive_features)
    for name in [*names, *([] if sample_weight is None else [sample_weight])]:
        if not isinstance(name, str):
            raise TypeError("X is a path, but sensitive_features or sample_weight is not; pass column names")
    files, settings = _columns.paths(X), policy.settings()
    ordered = [] if order is None else [_columns.group(label) for label in _labels.labels_of_order(order)]
    estimated = _columns.probabilities(sensitive_probability, None)
    found = spellings(pos_label)
    for last, positive in enumerate(found, start=1):
        rest = (ordered, positive, names, estimated, sample_weight, settings, n_threads)
        try:
            dataset = _Inner.read(files, y, numeric, False, *rest)
            if numeric or not dataset.is_number:
                return dataset
            return _as_classes(files, y, rest) or dataset
        except ValueError:
            # Booleans have two spellings.
            if last == len(found):
                raise
    raise AssertionError("a file is read or rejected")


def _as_classes(files: list[str], y: str, rest: tuple[Any, ...]) -> _Inner | None:
    """The data set with a column of numbers as classes; ``None`` if these are too many or not whole."""
    try:
        dataset = _Inner.read(files, y, False, True, *rest)
    except ValueError as error:
        if f"at most {_labels.MOST_CLASSES} classes" in str(error):
            return None
        raise
    names = dataset.target_values
    return dataset if all(float(name).is_integer() for name in names) else None


def is_block_file(X: Any) -> bool:
    """Whether X is the path of a block file."""
    return isinstance(X, (str, os.PathLike)) and _is_block_file(os.fspath(X))


def open_block_file(path: str | os.PathLike[str], workers: Any = None, n_jobs: int | None = None) -> _Inner:
    """Open a block file, whose rows workers may hold."""
    return _Inner.open(os.fspath(path), workers, threads(n_jobs))


class Dataset:
    """Encoded rows with a target, sensitive attributes and weights, for a :class:`fairfront.Problem`.

    Parameters
    ----------
    X : array-like, sparse matrix, DataFrame, Arrow table, or path
        The features, of shape (n_samples, n_features). If X is the path of a CSV or Parquet file, or a list of paths,
        ``y``, ``sensitive_features`` and ``sample_weight`` name columns of the file.
    y : array-like of shape (n_samples,), or str
        The classes of the rows, of which there must be two, or numbers with ``numeric=True``.
    sensitive_features : list, array, Series, DataFrame or dict, default=None
        The groups of the rows, for one or several attributes, which keep their names.
    sample_weight : array-like of shape (n_samples,), or str, default=None
        The weights of the rows. By default, all rows have the same weight.
    sensitive_probability : dict, default=None
        Attributes of which only probabilities are known: for each, a dict from its groups to arrays of probabilities,
        or a DataFrame with a column per group. If X is a path, a dict from groups to columns, or a list of columns.
        Every row counts in each group with its probability.
    intersections : sequence of str, default=()
        Additional attributes that combine several others, such as ``"sex:race"``.
    numeric : bool, default=False
        Whether y is a number that models predict. Labels are then standardized: parameters, and the scores and labels
        of objectives, are in standard deviations of y from its mean in the training rows.
    pos_label : label, default=None
        The favorable class. By default, the last one in sorted order.
    validation_fraction : float, default=0.0
        The share of the rows, drawn with ``random_state``, that do not train models but help to choose them.
    holdout_fraction : float, default=0.0
        The share of the rows that influence no model and no choice. They certify requirements and are reported.
    missing : {"keep", "error", "drop"}, default="keep"
        How to treat rows with missing values in X. ``"keep"`` replaces a missing number by the mean and adds an
        indicator feature, and makes missing categories a category of their own. ``"error"`` rejects such rows, and
        ``"drop"`` drops them.
    missing_sensitive : {"error", "group", "loss-only", "drop"}, default="error"
        How to treat rows with missing sensitive values. ``"error"`` rejects them, ``"group"`` makes them a group of
        their own, ``"loss-only"`` uses them for the loss only, and ``"drop"`` drops them.
    pool_rare : int, default=0
        Categories with fewer training rows than this are pooled into one.
    min_group : int, default=30
        Groups with fewer training rows than this are reported, but left out of differences and ratios. For measures
        of positive or negative rows only, these rows count. ``fairfront.metrics`` leaves no group out.
    pool_groups : int, default=0
        Groups with fewer training rows than this are pooled into one group, ``(other)``.
    reference : dict, default=None
        The reference group of attributes, such as ``{"race": "White"}``. Runs measure adverse impact ratio, shortfall
        and odds ratio of every other group against it.
    random_state : int, RandomState, Generator or None, default=0
        The seed of the split. ``None`` draws a seed at random.
    n_jobs : int, default=None
        The number of threads; -1 uses all cores that are available to the process. By default, all of them too, or
        ``OMP_NUM_THREADS`` if that is smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from fairfront import Dataset, Problem
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> data = Dataset(X, [0, 1, 0, 1], sensitive_features={"sex": ["f", "m", "f", "m"]})
    >>> data
    <Dataset: 4 rows of X, 1 feature, attributes sex (f, m)>
    >>> Problem(data, ["log_loss(lambda=0)", "score_covariance(sex)"]).values([[0.0, 0.0]]).round(4)
    array([[0.6931, 0.    ]])
    """

    _inner: _Inner
    _names: list[str]

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        sensitive_probability: Any = None,
        intersections: Sequence[str] = (),
        numeric: bool = False,
        pos_label: Any = None,
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
    ) -> None:
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
        target = {"numeric": bool(numeric), "pos_label": pos_label}
        sensitive = sensitive_features, sensitive_probability
        self._inner = self._made(X, y, sensitive, sample_weight, intersections, target, policy, n_jobs)
        if self._inner.classes is not None:
            n_classes = len(self._inner.classes[0])
            raise ValueError(
                f"y has {n_classes} classes, but problems have two classes or numbers; pass two classes, such as y =="
                " label"
            )
        if self._inner.is_number and not numeric:
            # In files, the type of the column decides.
            raise ValueError(f"y: the column {y!r} is a number; pass numeric=True to predict it, or pos_label")
        # Encodes the rows now, so that later changes to the caller's arrays have no effect.
        self._names = self._inner.feature_names

    @staticmethod
    def _made(
        X: Any,
        y: Any,
        sensitive: tuple[Any, Any],
        sample_weight: Any,
        intersections: Sequence[str],
        target: dict[str, Any],
        policy: Policy,
        n_jobs: int | None,
    ) -> _Inner:
        sensitive_features, sensitive_probability = sensitive
        if _columns.is_path(X):
            names = [*_names(sensitive_features), *intersections]
            target = {**target, "sensitive_probability": sensitive_probability}
            return read(X, y, names, sample_weight, policy, threads(n_jobs), **target)
        objectives = [f"intersection({name})" for name in intersections]
        given = assemble(
            X,
            y,
            sensitive_features,
            sample_weight,
            sensitive_probability=sensitive_probability,
            who="Dataset",
            policy=policy,
            objectives=objectives,
            **target,
        )
        return _Inner.of(given.parts, policy.settings(), threads(n_jobs))

    @classmethod
    def known(cls, name: str, *, random_state: int | None = None, n_jobs: int | None = None) -> Dataset:
        """Load a known data set with its own target, attributes and split.

        Parameters
        ----------
        name : str
            ``"demo"``, ``"synthetic:SEED"``, ``"adult:sex"``, ``"adult:race"``, ``"adult:sex+race"`` or
            ``"compas:race"``. The files of Adult and COMPAS must have been downloaded by ``fairfront data get NAME``,
            or be in the folder that the environment variable ``FAIRFRONT_DATA`` names.
        random_state : int, default=None
            The seed of the split. By default, the seed of the data set.
        n_jobs : int, default=None
            The number of threads, as for :class:`fairfront.Dataset`.

        Returns
        -------
        Dataset
            The data set.
        """
        dataset = cls.__new__(cls)
        dataset._inner = _Inner.known(name, random_state, threads(n_jobs))
        dataset._names = dataset._inner.feature_names
        return dataset

    @property
    def n_rows(self) -> int:
        """The number of rows in use."""
        return self._inner.n_rows

    @property
    def feature_names(self) -> list[str]:
        """The names of the encoded features, in the order of the parameters; the intercept is last and has no name."""
        return list(self._names)

    @property
    def attributes(self) -> dict[str, list[str]]:
        """The sensitive attributes with their groups."""
        return dict(self._inner.attributes)

    @property
    def rows(self) -> dict[str, int]:
        """The number of rows of each split."""
        return dict(self._inner.rows)

    @property
    def messages(self) -> list[str]:
        """The warnings and notes about the data."""
        return [message for _, message in self._inner.messages]

    def __repr__(self) -> str:
        attributes = ", ".join(f"{name} ({', '.join(groups)})" for name, groups in self.attributes.items())
        n = len(self.feature_names)
        features = f"{n} feature{'s' if n != 1 else ''}"
        return f"<Dataset: {self.n_rows} rows of {self._inner.source}, {features}, attributes {attributes or 'none'}>"
