"""Fronts of models that decide between more than two classes."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from people import levels
from scipy.special import softmax
from sklearn import metrics
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler

import fairfront
from fairfront import Dataset, FairClassifier, FairFrontClassifier, FairFrontRegressor, FairFrontWarning, Objective

NAMES = ["high", "low", "mid"]
ORDER = ["low", "mid", "high"]


def fitted(n=1500, seed=0, sensitive=("sex",), weight=None, **params):
    X, y, sex, race = levels(n, seed)
    groups = {name: {"sex": sex, "race": race}[name] for name in sensitive}
    clf = FairFrontClassifier(**{"n_models": 15, **params})
    return clf.fit(X, y, sensitive_features=groups, sample_weight=weight), X, y, {"sex": sex, "race": race}


@pytest.mark.parametrize("penalty", [1e-3, 0.05])
def test_the_unmitigated_model_is_that_of_scikit_learn(penalty):
    X, y, _, _ = levels()
    with pytest.warns(FairFrontWarning, match="no sensitive_features"):
        clf = FairFrontClassifier(["log_loss"], penalty=penalty).fit(X, y)
    exact = LogisticRegression(C=1 / (penalty * len(y)), tol=1e-10, max_iter=10_000)
    exact.fit(StandardScaler().fit_transform(X), y)
    model = clf.select(best="log_loss")
    assert list(model.classes_) == list(exact.classes_) == NAMES
    found = np.column_stack([model.coefficients_[name] for name in ("x0", "x1", "x2")])
    np.testing.assert_allclose(found, exact.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, exact.intercept_ - exact.intercept_.mean(), atol=1e-4)
    theirs = exact.decision_function(StandardScaler().fit_transform(X))
    ours = model.decision_function(X)
    losses = [metrics.log_loss(y, softmax(scores, axis=1)) for scores in (ours, theirs)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    assert (model.predict(X) == exact.predict(StandardScaler().fit_transform(X))).mean() > 0.999


def test_methods_agree_with_each_other():
    clf, X, y, _ = fitted(best="accuracy")
    assert list(clf.classes_) == NAMES and clf.pos_label_ is None
    scores, probabilities, logs = clf.decision_function(X), clf.predict_proba(X), clf.predict_log_proba(X)
    assert scores.shape == probabilities.shape == (len(y), 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(np.exp(logs), probabilities, atol=1e-12)
    slope = clf.calibration_["slope"]
    assert clf.calibration_["intercept"] == 0
    np.testing.assert_allclose(probabilities, softmax(slope * scores, axis=1), atol=1e-12)
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[scores.argmax(axis=1)])
    np.testing.assert_array_equal(clf.predict(X), clf.classes_[probabilities.argmax(axis=1)])
    assert clf.score(X, y) == pytest.approx(clf.front_["train.accuracy"][clf.selected_], abs=1e-12)
    assert not hasattr(clf, "probability_threshold_")


def test_scores_are_those_of_coefficients_and_intercepts():
    clf, X, _, _ = fitted()
    model = clf.select(knee=True)
    encoded = (X - X.mean(axis=0)) / X.std(axis=0)
    coefficients = np.array([model.coefficients_[f"x{j}"] for j in range(3)])
    np.testing.assert_allclose(encoded @ coefficients + model.intercept_, model.decision_function(X), atol=1e-9)


def test_measures_are_those_of_scikit_learn():
    clf, X, y, groups = fitted(sensitive=("sex", "race"))
    for model in [clf.select(best="accuracy"), clf.select(knee=True), clf.predictors_[-1]]:
        predicted, values = model.predict(X), model.values_
        assert values["train.accuracy"] == pytest.approx(metrics.accuracy_score(y, predicted))
        assert values["train.balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(y, predicted))
        assert values["train.macro_f1"] == pytest.approx(metrics.f1_score(y, predicted, average="macro"))
        for name in ("sex", "race"):
            rates = {}
            for group in np.unique(groups[name]):
                of = groups[name] == group
                matrix = metrics.confusion_matrix(y[of], predicted[of], labels=NAMES)
                shares, recalls = matrix.sum(axis=0) / of.sum(), matrix.diagonal() / matrix.sum(axis=1)
                rates[group] = shares
                for label, share, recall in zip(NAMES, shares, recalls, strict=True):
                    assert values[f"train.selection_rate[{label}]({name}={group})"] == pytest.approx(share)
                    assert values[f"train.recall[{label}]({name}={group})"] == pytest.approx(recall)
            apart = np.ptp(list(rates.values()), axis=0)
            for label, difference in zip(NAMES, apart, strict=True):
                assert values[f"train.demographic_parity_difference[{label}]({name})"] == pytest.approx(difference)
            assert values[f"train.demographic_parity_difference({name})"] == pytest.approx(apart.max())


def test_metrics_of_groups_work_with_metric_frames():
    clf, X, y, groups = fitted()
    predicted = clf.predict(X)
    frame = fairfront.metrics.MetricFrame(
        metrics={"accuracy": metrics.accuracy_score, "recall": metrics.balanced_accuracy_score},
        y_true=y,
        y_pred=predicted,
        sensitive_features={"sex": groups["sex"]},
    )
    for group in ("f", "m"):
        of = groups["sex"] == group
        assert frame.by_group["accuracy"][group] == pytest.approx(metrics.accuracy_score(y[of], predicted[of]))
    difference, about = fairfront.metrics.demographic_parity_difference, {"sensitive_features": groups["sex"]}
    apart = [difference(y == label, predicted == label, **about) for label in clf.classes_]
    assert max(apart) == pytest.approx(clf.front_["train.demographic_parity_difference(sex)"][clf.selected_])


def test_ordered_classes_compare_cumulative_shares():
    clf, X, y, groups = fitted(order=ORDER)
    assert list(clf.classes_) == NAMES, "classes stay in sorted order"
    predicted, values = clf.predict(X), clf.select(model_id=clf.selected_).values_
    for group in ("f", "m"):
        share = np.isin(predicted[groups["sex"] == group], ["mid", "high"]).mean()
        assert values[f"train.selection_rate[mid](sex={group})"] == pytest.approx(share)
    plain = fitted()[0]
    np.testing.assert_allclose(plain.unmitigated_["train.accuracy"], clf.unmitigated_["train.accuracy"])
    np.testing.assert_array_equal(plain.classes_, clf.classes_)


@pytest.mark.parametrize(
    "labels",
    [
        [3, 10, -2],
        [0.0, 1.0, 2.0],
        ["1", "1.0", "b"],
        [" a", "a", "b"],
        ["x=1", 'a "b"', "ä, c"],
    ],
)
def test_classes_may_have_any_labels(labels):
    X, y, sex, _ = levels(600)
    named = np.array(labels)[np.searchsorted(NAMES, y)]
    clf = FairFrontClassifier(n_models=8).fit(X, named, sensitive_features={"sex": sex})
    np.testing.assert_array_equal(clf.classes_, np.unique(labels))
    assert clf.predict(X).dtype == named.dtype
    assert clf.score(X, named) == pytest.approx(clf.front_["train.accuracy"][clf.selected_])
    for label, probability in zip(clf.classes_, clf.predict_proba(X).T, strict=True):
        assert probability[named == label].mean() > probability[named != label].mean()


def test_fairness_costs_accuracy_and_requirements_are_met():
    clf, X, _, groups = fitted(
        objectives=["error_rate", "demographic_parity(sex)"],
        n_models=30,
        require="demographic_parity_difference(sex) <= 0.05",
        confidence=None,
    )
    predicted = clf.predict(X)
    shares = [[(predicted[groups["sex"] == g] == label).mean() for label in NAMES] for g in ("f", "m")]
    assert np.ptp(shares, axis=0).max() <= 0.05
    assert clf.unmitigated_["train.demographic_parity_difference(sex)"] > 0.1
    of_one = fitted(objectives=["error_rate", "demographic_parity(sex, class=high)"])[0]
    assert "train.demographic_parity_difference[high](sex)" in of_one.front_


def test_requirements_are_certified():
    clf, _, _, _ = fitted(
        n=3000, holdout_fraction=0.4, validation_fraction=0.2, require="demographic_parity_difference(sex) <= 0.5"
    )
    assert clf.certificate_["verdict"] == "certified"
    assert "test.accuracy" in clf.front_


def test_weights_count_rows_several_times():
    X, y, sex, _ = levels(600)
    weight = np.random.default_rng(0).integers(0, 3, size=len(y))
    about = {"objectives": ["log_loss", "demographic_parity(sex)"], "penalty": 1e-3, "n_models": 8}
    weighted = FairFrontClassifier(**about).fit(X, y, sensitive_features={"sex": sex}, sample_weight=weight)
    rows = np.repeat(np.arange(len(y)), weight)
    repeated = FairFrontClassifier(**about).fit(X[rows], y[rows], sensitive_features={"sex": sex[rows]})
    for column in ("train.accuracy", "train.demographic_parity_difference(sex)"):
        assert weighted.unmitigated_[column] == pytest.approx(repeated.unmitigated_[column], abs=1e-3)


def test_saved_and_pickled_fronts_are_the_same(tmp_path):
    clf, X, _, _ = fitted(order=ORDER)
    clf.save(tmp_path / "run")
    for again in [pickle.loads(pickle.dumps(clf)), FairFrontClassifier.load(tmp_path / "run")]:
        assert list(again.classes_) == NAMES and again.pos_label_ is None and again.order == ORDER
        np.testing.assert_array_equal(again.predict(X), clf.predict(X))
        np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
        np.testing.assert_array_equal(again.front_.to_numpy(), clf.front_.to_numpy())
    model = pickle.loads(pickle.dumps(clf.select(knee=True)))
    np.testing.assert_array_equal(model.predict(X), clf.select(knee=True).predict(X))
    again = clone(model).fit(*levels()[:2], sensitive_features={"sex": levels()[2]})
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_exports_decide_like_the_model(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    clf, X, _, _ = fitted()
    session = runtime.InferenceSession(clf.to_onnx(tmp_path / "model.onnx"))
    given = {f"x{j}": X[:, [j]] for j in range(3)}
    kinds = {i.name: np.float64 if "double" in i.type else np.float32 for i in session.get_inputs()}
    label, probabilities, score = session.run(None, {name: given[name].astype(kinds[name]) for name in kinds})
    assert (label.ravel().astype(str) == clf.predict(X)).mean() > 0.999
    np.testing.assert_allclose(score, clf.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(probabilities, clf.predict_proba(X), atol=1e-4)
    model = clf.select(model_id=clf.selected_)
    assert b"SELECT" in model.export("sql").upper()
    assert all(name.encode() in model.export("table") for name in NAMES)
    assert json.loads(model.to_json())


def run(*arguments):
    program = [os.environ["FAIRFRONT_BIN"]] if os.environ.get("FAIRFRONT_BIN") else [sys.executable, "-m", "fairfront"]
    return subprocess.run([*program, *map(str, arguments)], capture_output=True, text=True, check=True)


def test_fronts_of_the_command_are_the_same(tmp_path):
    X, y, sex, _ = levels(800)
    table = pd.DataFrame(X, columns=["income", "age", "debt"])
    table.assign(level=y, sex=sex).to_csv(tmp_path / "rows.csv", index=False)
    run(
        *("fit", tmp_path / "rows.csv", "--target", "level", "--sensitive", "sex", "--models", "12"),
        *("--order", "low,mid,high", "--split", "none", "--seed", "0", "--out", tmp_path / "run"),
    )
    theirs = FairFrontClassifier.load(tmp_path / "run")
    ours = FairFrontClassifier(n_models=12, order=ORDER).fit(table, y, sensitive_features={"sex": sex})
    assert list(theirs.classes_) == NAMES
    np.testing.assert_array_equal(ours.front_.to_numpy(), theirs.front_.to_numpy())
    np.testing.assert_array_equal(ours.predict(table), theirs.predict(table))
    by_path = FairFrontClassifier(n_models=12, order=ORDER)
    by_path.fit(tmp_path / "rows.csv", "level", sensitive_features="sex")
    np.testing.assert_array_equal(by_path.front_.to_numpy(), ours.front_.to_numpy())
    np.testing.assert_array_equal(by_path.predict(tmp_path / "rows.csv"), ours.predict(table))


def test_files_and_block_files_have_classes(tmp_path):
    X, y, sex, _ = levels(800)
    codes = np.searchsorted(NAMES, y)
    table = pd.DataFrame(X, columns=["income", "age", "debt"]).assign(sex=sex)
    table.assign(level=codes).to_csv(tmp_path / "rows.csv", index=False)
    numbers = FairFrontClassifier(n_models=8).fit(tmp_path / "rows.csv", "level", sensitive_features="sex")
    assert list(numbers.classes_) == ["0", "1", "2"]
    fairfront.pack(table.assign(level=y), tmp_path / "rows.ffb", "level", sensitive_features="sex", order=ORDER)
    packed = FairFrontClassifier(n_models=8).fit(tmp_path / "rows.ffb")
    assert list(packed.classes_) == NAMES
    expected = FairFrontClassifier(n_models=8, order=ORDER)
    expected.fit(table.drop(columns="sex"), y, sensitive_features={"sex": sex})
    assert packed.objectives_ == expected.objectives_
    assert packed.unmitigated_["train.accuracy"] == pytest.approx(expected.unmitigated_["train.accuracy"], abs=0.01)
    with pytest.raises(ValueError, match="order is set, but X is a block file"):
        FairFrontClassifier(order=ORDER).fit(tmp_path / "rows.ffb")
    with pytest.raises(ValueError, match="has classes, but FairFrontRegressor predicts numbers"):
        FairFrontRegressor().fit(tmp_path / "rows.ffb")


def test_batches_update_the_front():
    X, y, sex, _ = levels(1200)
    clf = FairFrontClassifier(n_models=8, random_state=0)
    first = np.flatnonzero(y != "mid")[:100]
    clf.partial_fit(X[first], y[first], classes=NAMES, sensitive_features={"sex": sex[first]})
    assert "mid" in clf.waiting_
    rest = np.setdiff1d(np.arange(len(y)), first)
    for rows in np.array_split(rest, 2):
        clf.partial_fit(X[rows], y[rows], sensitive_features={"sex": sex[rows]})
        assert clf.waiting_ is None
    assert list(clf.classes_) == NAMES and clf.score(X, y) > 0.5
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    with pytest.raises(ValueError, match="'top'.*not one of the classes"):
        clf.partial_fit(X[:2], np.array(["top", "low"]), sensitive_features={"sex": sex[:2]})
    with pytest.raises(ValueError, match="not the same as on last call"):
        clf.partial_fit(X[:9], y[:9], classes=["low", "high"], sensitive_features={"sex": sex[:9]})


def test_ordered_batches_update_the_front():
    X, y, sex, _ = levels(600)
    clf = FairFrontClassifier(n_models=8, order=ORDER)
    first = np.flatnonzero(y == "low")[:50]
    clf.partial_fit(X[first], y[first], sensitive_features={"sex": sex[first]})
    rest = np.setdiff1d(np.arange(len(y)), first)
    clf.partial_fit(X[rest], y[rest], sensitive_features={"sex": sex[rest]})
    expected = FairFrontClassifier(n_models=8, order=ORDER).fit(X, y, sensitive_features={"sex": sex})
    assert clf.waiting_ is None
    assert clf.unmitigated_["train.accuracy"] == pytest.approx(expected.unmitigated_["train.accuracy"], abs=0.01)


@pytest.mark.parametrize("order", [None, ORDER])
def test_fronts_of_your_own_estimators(order):
    X, y, sex, _ = levels(1500)
    objectives = ["error_rate", "equal_opportunity(sex)"]
    about = {"objectives": objectives, "order": order, "n_models": 15}
    clf = FairFrontClassifier(estimator=LogisticRegression(), validation_fraction=0.2, **about)
    clf.fit(X, y, sensitive_features={"sex": sex})
    assert clf.learners_[0]["classes"] == (ORDER if order else NAMES)
    assert [learner["predicts"] for learner in clf.learners_[1:]], "groups are predicted among the rows of a class"
    best = clf.select(best="accuracy")
    exact = LogisticRegression().fit(X, y)
    assert best.score(X, y) > exact.score(X, y) - 0.02
    assert (best.predict(X) == exact.predict(X)).mean() > 0.8
    probabilities = best.predict_proba(X)
    assert [np.corrcoef(p, q)[0, 1] > 0.9 for p, q in zip(probabilities.T, exact.predict_proba(X).T, strict=True)]
    again = pickle.loads(pickle.dumps(best))
    np.testing.assert_array_equal(again.predict_proba(X), probabilities)
    prefit = FairFrontClassifier(estimator=exact, prefit=True, **about)
    assert prefit.fit(X, y, sensitive_features={"sex": sex}).score(X, y) > 0.5


@pytest.mark.parametrize("family", ["trees", "auto", "network"])
def test_families_of_models(family):
    X, y, sex, _ = levels(1500)
    clf = FairFrontClassifier(["error_rate", "demographic_parity(sex)"], family=family, n_models=8)
    if family == "network":
        with pytest.raises(ValueError, match="network"):
            clf.fit(X, y, sensitive_features={"sex": sex})
        return
    clf.fit(X, y, sensitive_features={"sex": sex})
    # Values on training rows are out of fold.
    assert clf.score(X, y) > clf.front_["train.accuracy"][clf.selected_] - 0.02
    assert clf.predict_proba(X).shape == (len(y), 3)


def test_choices_can_be_cross_validated():
    X, y, sex, _ = levels(600)
    model = FairClassifier(FairFrontClassifier(n_models=8), knee=True)
    assert cross_val_score(model, X, y, cv=3, params={"sensitive_features": None}).min() > 0.4
    search = GridSearchCV(FairFrontClassifier(n_models=8), {"penalty": [1e-3, 0.1]}, cv=3, scoring="f1_macro")
    assert search.fit(X, y).best_score_ > 0.4


def test_classes_are_displayed():
    clf, _, _, _ = fitted()
    assert f"# uses model {clf.selected_} of {len(clf.front_)}" in repr(clf)
    assert "<iframe" in clf._repr_mimebundle_()["text/html"]
    plt = pytest.importorskip("matplotlib.pyplot")
    axes = clf.plot()
    assert axes.get_ylabel().startswith("train.")
    plt.close("all")


def test_constant_classes_are_rejected():
    X, _, sex, _ = levels(100)
    with pytest.raises(ValueError, match="only one class: 'low'"):
        FairFrontClassifier().fit(X, np.full(100, "low"), sensitive_features={"sex": sex})


def test_too_many_classes_are_rejected():
    X, _, sex, _ = levels(1010)
    with pytest.raises(ValueError, match="y has 101 classes, but .* at most 100; .* FairFrontRegressor"):
        FairFrontClassifier().fit(X, np.arange(1010) % 101, sensitive_features={"sex": sex})


def test_classes_with_few_rows_cause_a_warning(tmp_path):
    X, y, sex, _ = levels(400)
    y = np.where(np.arange(400) < 3, "top", y)
    with pytest.warns(FairFrontWarning, match=r"classes of y have fewer than 10 rows: 'top' \(3\)"):
        clf = FairFrontClassifier(n_models=8).fit(X, y, sensitive_features={"sex": sex})
    assert "top" in clf.classes_ and np.isfinite(clf.predict_proba(X)).all()
    # In files, they are an error, as in the command.
    pd.DataFrame(X).add_prefix("x").assign(level=y, sex=sex).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match=r'at least 10 training rows, but some have fewer: "top" \(3\)'):
        FairFrontClassifier().fit(tmp_path / "rows.csv", "level", sensitive_features="sex")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"order": ["low", "mid", "top"]}, "order: no row has the class 'top'; choose from the classes of y"),
        ({"order": ["low", "mid"]}, r"order does not list these classes of y: \['high'\]"),
        ({"order": ["low", "mid", "high", "low"]}, "order lists the class 'low' twice"),
        ({"pos_label": "high"}, "pos_label='high': y has 3 classes"),
        ({"objectives": ["log_loss", "predictive_equality(sex)"]}, "predictive_equality"),
    ],
)
def test_wrong_parameters_are_rejected(params, message):
    X, y, sex, _ = levels(200)
    with pytest.raises(ValueError, match=message):
        FairFrontClassifier(**params).fit(X, y, sensitive_features={"sex": sex})


def test_an_order_of_two_classes_is_rejected():
    X, y, sex, _ = levels(200)
    with pytest.raises(ValueError, match="order is set, but y has only two classes"):
        FairFrontClassifier(order=[False, True]).fit(X, y == "low", sensitive_features={"sex": sex})
    with pytest.raises(TypeError, match="expected a list of classes"):
        FairFrontClassifier(order="low,mid,high").fit(X, y, sensitive_features={"sex": sex})


def test_problems_and_own_objectives_need_two_classes_or_numbers():
    X, y, sex, _ = levels(200)
    with pytest.raises(ValueError, match="y has 3 classes, but problems have two classes or numbers"):
        Dataset(X, y, sensitive_features={"sex": sex})
    own = Objective("mean", lambda scores, rows: (scores, np.ones_like(scores)))
    with pytest.raises(ValueError, match="objective of your own cannot be used with more than two classes"):
        FairFrontClassifier(["log_loss", own]).fit(X, y, sensitive_features={"sex": sex})


def test_regressors_name_the_classifier():
    X, y, sex, _ = levels(200)
    with pytest.raises(ValueError, match="which is not a number; use FairFrontClassifier"):
        FairFrontRegressor().fit(X, y, sensitive_features={"sex": sex})
