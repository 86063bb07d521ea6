"""Rows with their roles: features, target, sensitive features, weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from fairfront import _columns, _labels
from fairfront._fairfront import Dataset as _Inner
from fairfront._predict import Looks
from fairfront._progress import seed, threads, whole

#: What may become of rows with missing values.
MISSING = ("keep", "error", "drop")
MISSING_SENSITIVE = ("error", "group", "loss-only", "drop")


@dataclass
class Policy:
    """What becomes of rows."""

    validation_fraction: float
    holdout_fraction: float
    missing: str
    missing_sensitive: str
    pool_rare: int
    min_group: int
    pool_groups: int
    seed: int

    def __post_init__(self) -> None:
        for name in ("pool_rare", "min_group", "pool_groups"):
            setattr(self, name, whole(name, getattr(self, name), 0))
        for name, known in [("missing", MISSING), ("missing_sensitive", MISSING_SENSITIVE)]:
            if getattr(self, name) not in known:
                raise ValueError(f"{name}={getattr(self, name)!r}: expected one of {list(known)}")
        for name in ("validation_fraction", "holdout_fraction"):
            share = getattr(self, name)
            if not isinstance(share, Real) or not 0.0 <= float(share) < 1.0:
                raise ValueError(f"{name}={share!r}: expected a share from 0 to below 1")
        if self.validation_fraction + self.holdout_fraction >= 1.0:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} and holdout_fraction={self.holdout_fraction!r}"
                " leave no rows for training; choose smaller shares"
            )

    def settings(self) -> dict[str, Any]:
        """As the extension takes it."""
        shares = ("validation_fraction", "holdout_fraction")
        return {**vars(self), **{name: float(getattr(self, name)) for name in shares}}


@dataclass
class Given:
    """X, y, sensitive features and weights, checked and ready for the extension."""

    parts: dict[str, Any]
    features: _columns.Features
    classes: npt.NDArray[Any]
    positive: Any
    n_attributes: int

    def looks(self) -> Looks:
        """What these rows look like."""
        return Looks(self.classes, self.positive, self.features.n_features, self.features.names_in)


def assemble(
    X: Any,
    y: Any,
    sensitive_features: Any,
    sample_weight: Any,
    *,
    who: str,
    policy: Policy,
    objectives: Sequence[Any],
    pos_label: Any = None,
    classes: tuple[npt.NDArray[Any], Any] | None = None,
    looks: Looks | None = None,
) -> Given:
    """Check what was given and put its columns together.

    Parameters
    ----------
    X, y, sensitive_features, sample_weight
        As given to ``fit``.
    who : str
        Who asks, for messages.
    policy : Policy
        What becomes of rows.
    objectives : sequence
        What is asked for: attributes may be intersections.
    pos_label : label, optional
        The class that is decided for.
    classes : tuple of array and label, optional
        For the first rows of a stream, which may have one class or one group only: the classes, and the one that is
        decided for.
    looks : Looks, optional
        For the others: what they have to look like.
    """
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None")
    features = _columns.features(X, who)
    if looks is not None:
        looks.align(features, who)
        classes = looks.classes, looks.positive
    lacking = features.columns.missing
    if lacking and policy.missing == "error":
        column, count = lacking[0]
        raise ValueError(
            f"Input X contains NaN: column {column!r} has {count} missing value(s). With missing='keep' {who} takes "
            "them as they are; otherwise fill them in or drop these rows."
        )
    target = _labels.labels(y, features.n_rows, who)
    weights = _columns.weights(sample_weight, features.n_rows)
    if classes is None:
        found = _labels.classes(target if weights is None else target[weights > 0])
        positive = _labels.positive(found, pos_label)
    else:
        found, positive = classes
    negative = found[0] if positive == found[1] else found[1]
    levels = _labels.texts(negative, positive)
    if weights is not None and classes is None:
        # Rows without weight may have labels of their own.
        target = np.where(weights > 0, target, negative)
    taken = set(features.columns.names)
    groups = []
    if sensitive_features is not None:
        groups = _columns.sensitive(sensitive_features, features.n_rows, policy.missing_sensitive)
    roles = []
    for feature in groups:
        if len(feature.groups) < 2 and classes is None:
            raise ValueError(
                f"Sensitive feature {feature.name!r} has one group only, {feature.groups}; fairness compares at "
                "least two."
            )
        groups_column = (_free(feature.name, "sensitive", taken), feature.codes, feature.groups)
        roles.append((groups_column, feature.name))
    # Batches of a stream may be held by different things; their target has one name.
    target_name = _free(_target_name(y) if classes is None else "y", "target", taken)
    parts = {
        "source": "X",
        "features": features.columns,
        "target": (target_name, _labels.codes(target, negative, positive), list(levels)),
        "positive": levels[1],
        "sensitive": roles,
        "weight": None if weights is None else (_free("sample_weight", "weight", taken), weights),
        "objectives": [text for text in objectives if isinstance(text, str)],
    }
    return Given(parts, features, found, positive, len(groups))


def _free(name: str, role: str, taken: set[str]) -> str:
    """A name that no other column has."""
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
    """Names of sensitive columns of a file."""
    if sensitive_features is None:
        return []
    return [sensitive_features] if isinstance(sensitive_features, str) else list(sensitive_features)


def read(
    X: Any, y: Any, sensitive_features: Any, sample_weight: Any, pos_label: Any, policy: Policy, n_threads: int
) -> _Inner:
    """Rows of files, whose columns are named."""
    if not isinstance(y, str):
        raise TypeError(f"X names a file, so y has to be the name of its target column, not {type(y).__name__}")
    names = _names(sensitive_features)
    for name in [*names, *([] if sample_weight is None else [sample_weight])]:
        if not isinstance(name, str):
            raise TypeError("X names a file, so sensitive_features and sample_weight have to name its columns")
    spellings = [None] if pos_label is None else list(dict.fromkeys([_columns.text(pos_label), str(pos_label)]))
    for last, positive in enumerate(spellings, start=1):
        try:
            return _Inner.read(_columns.paths(X), y, positive, names, sample_weight, policy.settings(), n_threads)
        except ValueError:
            # Truth values are spelled in two ways.
            if last == len(spellings):
                raise
    raise AssertionError("a file is read or refused")


class Dataset:
    """Rows with their roles, for problems of one's own making.

    Parameters
    ----------
    X : array, sparse matrix, frame, table with the Arrow interface, or path
        The features. With the path of a file (CSV, Parquet), or a list of them, ``y``, ``sensitive_features`` and
        ``sample_weight`` name its columns.
    y : array-like of shape (n_samples,), or str
        The classes, two of them.
    sensitive_features : list, array, series, frame or dict, optional
        Groups of the rows, for one or several attributes; names are kept.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    intersections : sequence of str, default=()
        Further attributes made of several, such as ``"sex:race"``.
    pos_label : label, optional
        The class that is decided for; by default the last in order.
    validation_fraction : float, default=0.0
        Share of the rows, drawn by ``random_state``, that do not train models but help to choose them.
    holdout_fraction : float, default=0.0
        Share of the rows that influence no model and no choice: they certify requirements and are reported.
    missing : {"keep", "error", "drop"}, default="keep"
        What becomes of rows with missing values in X. ``"keep"``: the mean and a feature that says so, or a
        category of its own.
    missing_sensitive : {"error", "group", "loss-only", "drop"}, default="error"
        What becomes of rows with missing sensitive values. ``"group"``: they are a group of their own;
        ``"loss-only"``: they count for the loss alone.
    pool_rare : int, default=0
        Categories with fewer training rows than this become one.
    min_group : int, default=30
        Groups with fewer training rows than this are reported, but left out of differences and ratios; positives or
        negatives count if only they matter. ``fairfront.metrics`` leaves nothing out.
    pool_groups : int, default=0
        Groups with fewer training rows than this become one, ``(other)``.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the split.
    n_jobs : int, optional
        Threads; by default all that the process may use.

    Examples
    --------
    >>> import numpy as np
    >>> from fairfront import Dataset, Problem
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> data = Dataset(X, [0, 1, 0, 1], sensitive_features={"sex": ["f", "m", "f", "m"]})
    >>> data
    <Dataset: 4 rows of X, 1 feature, attributes sex (f, m)>
    >>> Problem(data, ["log_loss(lambda=0)", "disparate_impact(sex)"]).values([[0.0, 0.0]]).round(4)
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
        intersections: Sequence[str] = (),
        pos_label: Any = None,
        validation_fraction: float = 0.0,
        holdout_fraction: float = 0.0,
        missing: str = "keep",
        missing_sensitive: str = "error",
        pool_rare: int = 0,
        min_group: int = 30,
        pool_groups: int = 0,
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
        )
        self._inner = self._made(X, y, sensitive_features, sample_weight, intersections, pos_label, policy, n_jobs)
        # Encoded at once: what becomes of the caller's arrays later is none of its business.
        self._names = self._inner.feature_names

    @staticmethod
    def _made(
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: Any,
        intersections: Sequence[str],
        pos_label: Any,
        policy: Policy,
        n_jobs: int | None,
    ) -> _Inner:
        if _columns.is_path(X):
            names = [*_names(sensitive_features), *intersections]
            return read(X, y, names, sample_weight, pos_label, policy, threads(n_jobs))
        objectives = [f"intersection({name})" for name in intersections]
        given = assemble(
            X,
            y,
            sensitive_features,
            sample_weight,
            who="Dataset",
            policy=policy,
            objectives=objectives,
            pos_label=pos_label,
        )
        return _Inner.of(given.parts, policy.settings(), threads(n_jobs))

    @classmethod
    def known(cls, name: str, *, random_state: int | None = None, n_jobs: int | None = None) -> Dataset:
        """Open a known data set with its own roles and split.

        Parameters
        ----------
        name : str
            ``"demo"``, ``"synthetic:SEED"``, ``"adult:gender"``, ``"adult:race"``, ``"adult:gender+race"`` or
            ``"compas:race"``; the published files are those that ``fairfront data get NAME`` downloaded, or in the
            folder that the environment variable ``FAIRFRONT_DATA`` names.
        random_state : int, optional
            Seed of the split; by default the data set's own.
        n_jobs : int, optional
            Threads.

        Returns
        -------
        Dataset
            Its rows.
        """
        dataset = cls.__new__(cls)
        dataset._inner = _Inner.known(name, random_state, threads(n_jobs))
        dataset._names = dataset._inner.feature_names
        return dataset

    @property
    def n_rows(self) -> int:
        """Rows in use."""
        return self._inner.n_rows

    @property
    def feature_names(self) -> list[str]:
        """Names of the encoded features, in the order of the parameters; the intercept comes last and has none."""
        return list(self._names)

    @property
    def attributes(self) -> dict[str, list[str]]:
        """Sensitive attributes with their groups."""
        return dict(self._inner.attributes)

    @property
    def rows(self) -> dict[str, int]:
        """Rows for training, validation and test."""
        return dict(self._inner.rows)

    @property
    def notices(self) -> list[str]:
        """What was decided on the way, and what to be wary of."""
        return [message for _, message in self._inner.notices]

    def __repr__(self) -> str:
        attributes = ", ".join(f"{name} ({', '.join(groups)})" for name, groups in self.attributes.items())
        n = len(self.feature_names)
        features = f"{n} feature{'s' if n != 1 else ''}"
        return f"<Dataset: {self.n_rows} rows of {self._inner.source}, {features}, attributes {attributes or 'none'}>"
