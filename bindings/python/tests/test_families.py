"""Families of models from Python: boosted trees, both families, and networks."""

import numpy as np
import pandas as pd
import pytest
from fairfront import FairFrontClassifier

N_ROWS = 800


@pytest.fixture(scope="module")
def people():
    """Return columns whose product predicts the label, which linear models cannot use."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=N_ROWS), "b": rng.normal(size=N_ROWS), "c": rng.choice(list("xyz"), N_ROWS)})
    sex = np.where(rng.random(N_ROWS) < 0.4, "F", "M")
    y = (X["a"] * X["b"] + 0.5 * (sex == "M") + 0.5 * rng.normal(size=N_ROWS) > 0).astype(int)
    return X, y, sex


def fitted(people, **parameters):
    X, y, sex = people
    return FairFrontClassifier(random_state=1, **parameters).fit(X, y, sensitive_features=sex)


def test_families_are_on_the_front(people):
    linear = fitted(people, validation_fraction=0.2)
    assert "family" not in linear.front_ and linear.learners_ == []
    auto = fitted(people, family="auto", validation_fraction=0.2)
    assert set(auto.front_["family"]) <= {"linear", "trees"} and "trees" in set(auto.front_["family"])
    assert [learner["kind"] for learner in auto.learners_] == ["boosted trees"] * 2
    X, y, _ = people
    # Trees find the product of two columns.
    assert auto.score(X, y) > linear.score(X, y) + 0.1


def test_networks_are_fitted(people):
    network = fitted(people, family="network", hidden=4, n_models=8)
    assert set(network.front_["family"]) == {"network"}
    X, y, _ = people
    assert network.score(X, y) > fitted(people).score(X, y) + 0.1
    again = fitted(people, family="network", hidden=4, n_models=8, n_jobs=2)
    assert (network.decision_function(X) == again.decision_function(X)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"hidden": 3}, "only networks have hidden units"), ({"family": "forest"}, "family='forest'|family=\"forest\"")],
)
def test_wrong_families_are_rejected(people, parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(people, **parameters)
