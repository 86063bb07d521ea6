"""Atomic writes of files, and estimators in run folders."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fairfront._estimator import EstimatorLooks
from fairfront._fairfront import Run, write_file
from fairfront._predict import Looks

if TYPE_CHECKING:
    from fairfront._front_estimator import FrontEstimator

Front = TypeVar("Front", bound="FrontEstimator[Any]")

#: The file in a run folder that describes the Python estimator.
ESTIMATOR = "estimator.json"
FORMAT = "fairfront-estimator"


def write_bytes(path: str | os.PathLike[str], content: bytes, *, force: bool) -> None:
    """Write a file; overwrite an existing file only with ``force``."""
    write_file(os.fspath(path), content, force)


def write_text(path: str | os.PathLike[str], content: str, *, force: bool) -> None:
    """Write a text file in the same way."""
    write_bytes(path, content.encode(), force=force)


def save(front: FrontEstimator[Any], folder: str | os.PathLike[str], *, force: bool) -> None:
    """Write the run of an estimator, and the description that ``load`` needs."""
    left_out = {"progress", "estimator", "sensitive_estimator"}
    params = {name: value for name, value in front.get_params(deep=False).items() if name not in left_out}
    for name, value in params.items():
        try:
            json.dumps(value)
        except TypeError as error:
            raise TypeError(
                f"{name}={value!r} cannot be saved as JSON; set it to a simple value, or pickle the estimator"
            ) from error
    looks = front._looks
    classes = [] if looks.classes is None else looks.classes.tolist()
    if not all(isinstance(label, (bool, int, float, str)) for label in classes):
        raise TypeError(f"classes {classes} cannot be saved as JSON; use numbers or strings, or pickle the estimator")
    estimator = {
        "format": FORMAT,
        "version": 1,
        "params": params,
        "classes": None if looks.classes is None else classes,
        "positive": None if looks.positive is None else int(looks.positive == looks.classes[1]),
        "class_names": looks.class_names,
        "n_features": looks.n_features,
        "feature_names": None if looks.names is None else list(looks.names),
        "by_name": looks.by_name,
        "needs_estimators": isinstance(looks, EstimatorLooks),
    }
    front._run.write(os.fspath(folder), force, json.dumps(estimator, indent=2) + "\n")


def load(kind: type[Front], folder: str | os.PathLike[str]) -> Front:
    """Load the estimator of a run folder."""
    run = Run.read(os.fspath(folder))
    # The parameters of another kind of estimator may not fit.
    kind()._check_target(run)
    if run.estimator is None:
        # Looks of more than two classes are those of the run.
        front, classes = kind(), None if run.is_number else np.asarray([False, True])
        looks = Looks.of_run(run, classes, None if classes is None else classes[1])
    else:
        said = _checked(json.loads(run.estimator), os.path.join(folder, ESTIMATOR))
        front, names = kind(**said["params"]), said["feature_names"]
        classes = None if said["classes"] is None else np.asarray(said["classes"])
        positive = None if classes is None or said["positive"] is None else classes[said["positive"]]
        class_names = said.get("class_names")
        class_names = None if class_names is None else tuple(class_names)
        names = None if names is None else np.asarray(names, dtype=object)
        kind_of_looks = EstimatorLooks if said.get("needs_estimators") else Looks
        looks = kind_of_looks(classes, positive, said["n_features"], names, said["by_name"], class_names)
    try:
        front._take(run, looks, said=run.messages)
    except ValueError:
        # No model meets the requirements, as when the run was saved; the front is loaded nevertheless.
        if front._model_id is not None:
            raise
    return front


def _checked(said: Any, path: str) -> dict[str, Any]:
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise ValueError(f"{path}: not an estimator of fairfront; pass a run folder that fairfront wrote")
    if said.get("version") != 1:
        raise ValueError(f"{path}: version {said.get('version')} cannot be read, only version 1; use a newer fairfront")
    return said
