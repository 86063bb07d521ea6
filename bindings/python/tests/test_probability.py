"""Calibrated probabilities of models, with and without validation rows."""

import json

import numpy as np
import pytest
from people import people
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, roc_auc_score

from fairfront import FairFrontClassifier


def test_without_validation_rows_the_larger_probability_decides():
    X, y, sex, _ = people()
    clf = FairFrontClassifier(n_models=10).fit(X, y, sensitive_features=sex)
    for model in clf.predictors_:
        assert model.calibration_["intercept"] == 0 and model.calibration_["slope"] > 0
        assert model.probability_threshold_ == 0.5
        probability = model.predict_proba(X)
        np.testing.assert_array_equal(model.predict(X), model.classes_[probability.argmax(axis=1)])
        assert model.values_["train.log_loss"] == pytest.approx(log_loss(y, probability), rel=1e-12)
        score = model.decision_function(X)
        assert model.values_["train.auc"] == pytest.approx(roc_auc_score(y, score), rel=1e-12)


@pytest.mark.parametrize("positive", [None, 0])
def test_with_validation_rows_the_model_keeps_its_threshold(positive):
    X, y, sex, _ = people()
    y = np.asarray(y).astype(int)
    clf = FairFrontClassifier(n_models=10, validation_fraction=0.4, pos_label=positive, random_state=0)
    clf.fit(X, y, sensitive_features=sex)
    assert any(model.probability_threshold_ != 0.5 for model in clf.predictors_)
    for model in clf.predictors_:
        at = int(model.pos_label_ == model.classes_[1])
        score = model.decision_function(X) * (1 if at else -1)
        calibration = model.calibration_
        expected = expit(calibration["slope"] * score + calibration["intercept"])
        probability = model.predict_proba(X)
        np.testing.assert_allclose(probability[:, at], expected, rtol=1e-12)
        np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), probability, rtol=1e-12)
        chosen = model.predict(X) == model.pos_label_
        np.testing.assert_array_equal(chosen, score >= 0)
        # Scores close to 0 may round to the probability of the threshold.
        clear = abs(score) > 1e-9
        np.testing.assert_array_equal(chosen[clear], (expected >= model.probability_threshold_)[clear])
        assert json.loads(model.to_json())["calibration"] == calibration


def test_calibrations_need_a_fit():
    with pytest.raises(NotFittedError):
        FairFrontClassifier().calibration_  # noqa: B018
    assert not hasattr(FairFrontClassifier(), "probability_threshold_")
