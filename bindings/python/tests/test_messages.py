"""Messages of the crates use the package's names of settings."""

import inspect
import re

import numpy as np
import pytest
from people import people

from fairfront import Dataset, FairClassifier, FairFrontClassifier, FairFrontWarning, audit
from fairfront._fairfront import named_settings


def test_every_setting_in_a_message_is_a_parameter():
    places = [FairFrontClassifier, FairClassifier, Dataset]
    places += [audit]
    places += [method for place in list(places) for _, method in inspect.getmembers(place, inspect.isfunction)]
    known = {name for place in places for name in inspect.signature(place).parameters} | {"partial_fit"}
    named = dict(named_settings())
    assert named["target"] == "y" and named["sensitive"] == "sensitive_features"
    assert named["merge"] is None and named["columns"] is None and named["data get"] is None
    for setting, parameter in named.items():
        for word in re.findall(r"[a-z_]+", (parameter or "").replace(" and ", " ")):
            assert word in known, (setting, parameter)


def test_remedies_are_those_of_the_package(tmp_path):
    X, y, sex, _ = people(400)
    small = np.where(np.arange(len(sex)) < 5, "other", sex)
    clf = FairFrontClassifier(n_models=5)
    with pytest.warns(FairFrontWarning, match="fewer than 30 training rows") as caught:
        clf.fit(X, y, sensitive_features={"sex": small})
    warning = next(str(w.message) for w in caught if "fewer than 30" in str(w.message))
    assert warning.endswith("merge them with pool_groups=30, or change min_group")
    assert not any("--" in str(w.message) for w in caught)
    # The run folder contains the same message.
    clf.save(tmp_path / "run")
    assert "merge them with pool_groups=30" in (tmp_path / "run" / "run.json").read_text()
    with pytest.raises(OSError, match="replace it with force=True"):
        clf.save(tmp_path / "run")


def test_choices_name_parameters():
    X, y, sex, _ = people(400)
    clf = FairFrontClassifier(n_models=5, holdout_fraction=0.3, require="accuracy >= 0.1")
    clf.fit(X, y, sensitive_features={"sex": sex})
    with pytest.raises(ValueError, match=r'^require "log_loss <= 0.6": .* choose without a test \(confidence=None\)$'):
        clf.select(require="log_loss <= 0.6")
    with pytest.raises(ValueError, match=r"^model_id=99: the front has no such model"):
        clf.select(model_id=99, confidence=None)
    with pytest.raises(ValueError, match=r'^objectives "eror_rate": '):
        FairFrontClassifier(objectives=["eror_rate", "demographic_parity(sex)"]).fit(
            X, y, sensitive_features={"sex": sex}
        )
