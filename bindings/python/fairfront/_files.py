"""Files that appear whole or not at all, and estimators in run folders."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from fairfront._fairfront import Run, write_file

if TYPE_CHECKING:
    from fairfront._classifier import FairFrontClassifier

#: Beside the files of a run: what Python needs to know of the estimator.
ESTIMATOR = "estimator.json"
FORMAT = "fairfront-estimator"


def write_bytes(path: str | os.PathLike[str], content: bytes, *, force: bool) -> None:
    """Write a file; one that is there is replaced only where ``force`` says so."""
    write_file(os.fspath(path), content, force)


def write_text(path: str | os.PathLike[str], content: str, *, force: bool) -> None:
    """The same for text."""
    write_bytes(path, content.encode(), force=force)


def save(front: FairFrontClassifier, folder: str | os.PathLike[str], *, force: bool) -> None:
    """Write the run of an estimator and what it takes to have it back."""
    params = {name: value for name, value in front.get_params(deep=False).items() if name != "progress"}
    for name, value in params.items():
        try:
            json.dumps(value)
        except TypeError as error:
            raise TypeError(
                f"{name}={value!r} cannot be saved as text; set it to something simple, or pickle the estimator"
            ) from error
    names = getattr(front, "feature_names_in_", None)
    estimator = {
        "format": FORMAT,
        "version": 1,
        "params": params,
        "classes": front.classes_.tolist(),
        "positive": int(front.pos_label_ == front.classes_[1]),
        "n_features": front.n_features_in_,
        "feature_names": None if names is None else list(names),
    }
    front._run.write(os.fspath(folder), force, json.dumps(estimator, indent=2) + "\n")


def load(kind: type[FairFrontClassifier], folder: str | os.PathLike[str]) -> FairFrontClassifier:
    """The estimator of a run folder."""
    run = Run.read(os.fspath(folder))
    path = os.path.join(folder, ESTIMATOR)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            said = _checked(json.load(file), path)
    else:
        said = {"params": {}, "classes": [False, True], "positive": 1, "n_features": None, "feature_names": None}
    front = kind(**said["params"])
    front.classes_ = np.asarray(said["classes"])
    front.pos_label_ = front.classes_[said["positive"]]
    if said["n_features"] is None:
        front._set_inputs(run)
    else:
        front.n_features_in_ = said["n_features"]
    if said["feature_names"] is not None:
        front.feature_names_in_ = np.asarray(said["feature_names"], dtype=object)
    front._take(run, run.notices)
    return front


def _checked(said: Any, path: str) -> dict[str, Any]:
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise ValueError(f"{path}: this is no estimator of fairfront")
    if said.get("version") != 1:
        raise ValueError(f"{path}: version {said.get('version')} cannot be read, only version 1; use a newer fairfront")
    return said
