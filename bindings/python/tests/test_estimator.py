"""The user's own estimators: out-of-fold probabilities, fitted estimators, weights, pipelines and errors."""

import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import sklearn
from people import frame, people
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, PredefinedSplit, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import fairfront
from fairfront import FairClassifier, FairFrontClassifier, FairFrontWarning, _estimator


class Spy:
    """Records the plan and the columns of probabilities of every fit."""

    def __init__(self, monkeypatch):
        self.plans, self.brought = [], []
        bring = _estimator.bring

        def recording(X, given, plan, *rest):
            found = bring(X, given, plan, *rest)
            self.plans.append(plan)
            self.brought.append(found)
            return found

        features = _estimator._features

        def with_values(names, values):
            self.values = dict(zip(names, values.T, strict=True))
            return features(names, values)

        monkeypatch.setattr("fairfront._classifier.bring", recording)
        monkeypatch.setattr("fairfront._estimator._features", with_values)


@pytest.fixture
def spy(monkeypatch):
    return Spy(monkeypatch)


def fitted(estimator=None, n=800, seed=0, attribute="sex", **params):
    X, y, sex, race = people(n, seed)
    groups = {"sex": sex, "race": race}
    sensitive = {name: groups[name] for name in attribute.split("+")}
    clf = FairFrontClassifier(estimator=LogisticRegression() if estimator is None else estimator, **params)
    return clf.fit(X, y, sensitive_features=sensitive), X, y, groups


def test_outcome_and_group_columns_are_those_of_cross_val_predict(spy):
    clf, X, y, groups = fitted(LogisticRegression(C=0.3))
    plan, values = spy.plans[0], spy.values
    assert list(values) == ["P(y=1)", "P(sex=m)"]
    assert plan["rows"].tolist() == list(range(len(y))), "without a split, all rows are training rows"
    folds = PredefinedSplit(plan["folds"])
    for column, target in [("P(y=1)", y), ("P(sex=m)", groups["sex"] == "m")]:
        expected = cross_val_predict(LogisticRegression(C=0.3), X, target, cv=folds, method="predict_proba")[:, 1]
        np.testing.assert_array_equal(values[column], expected)
    assert clf.front_["family"].unique().tolist() == ["estimator"]


def test_folds_are_balanced_within_labels_and_groups(spy):
    clf, _, y, groups = fitted(attribute="sex+race")
    folds = spy.plans[0]["folds"]
    strata = np.unique(np.column_stack([y, groups["sex"], groups["race"]]).astype(str), axis=0, return_inverse=True)[1]
    for stratum in np.unique(strata):
        counts = np.bincount(folds[strata == stratum], minlength=5)
        assert counts.max() - counts.min() <= 1
    again, *_ = fitted(attribute="sex+race")
    np.testing.assert_array_equal(spy.plans[1]["folds"], folds)
    fitted(attribute="sex+race", random_state=1)
    assert (spy.plans[2]["folds"] != folds).any()


def test_groups_among_rows_of_one_label(spy):
    clf, X, y, groups = fitted(objectives=["error_rate", "equalized_odds(race)"], attribute="race")
    plan, values = spy.plans[0], spy.values
    names = [f"P(race={group} | y={label})" for label in (1, 0) for group in "abc"]
    assert sorted(values) == sorted(["P(y=1)", *names])
    race = groups["race"]
    for label in (0, 1):
        expected = np.empty((len(y), 3))
        for fold in range(5):
            rows, held_out = (plan["folds"] != fold) & (y == label), plan["folds"] == fold
            expected[held_out] = LogisticRegression().fit(X[rows], race[rows]).predict_proba(X[held_out])
        for k, group in enumerate("abc"):
            # Probabilities are divided by their sum, which may differ from 1 in the last digit.
            np.testing.assert_allclose(values[f"P(race={group} | y={label})"], expected[:, k], rtol=1e-12)
    assert len(clf.front_) > 5
    assert {learner["predicts"] for learner in clf.learners_} == {"y = 1", "race given y = 1", "race given not y = 1"}


def test_validation_and_held_out_rows_are_scored_by_fits_on_training_rows(spy):
    clf, X, y, _ = fitted(validation_fraction=0.2, holdout_fraction=0.2, n=1000)
    plan, values = spy.plans[0], spy.values
    train = np.zeros(len(y), dtype=bool)
    train[plan["rows"]] = True
    assert train.sum() == 600
    final = LogisticRegression().fit(X[train], y[train])
    np.testing.assert_array_equal(values["P(y=1)"][~train], final.predict_proba(X[~train])[:, 1])
    assert np.abs(values["P(y=1)"][train] - final.predict_proba(X[train])[:, 1]).min() > 0, "in-sample values"
    assert {name.split(".")[0] for name in clf.front_.columns} >= {"train", "validation", "test"}


def test_in_sample_probabilities_never_enter_the_fit(spy):
    # A nearest neighbor is always right on the rows that it was fitted on, and right by chance on random labels.
    rng = np.random.default_rng(0)
    X, y, sex = rng.normal(size=(600, 3)), rng.integers(2, size=600), rng.choice(["f", "m"], size=600)
    clf = FairFrontClassifier(estimator=KNeighborsClassifier(1)).fit(X, y, sensitive_features={"sex": sex})
    assert roc_auc_score(y, spy.values["P(y=1)"]) < 0.6
    assert clf.unmitigated_["train.accuracy"] < 0.65
    assert all(learner["auc"] < 0.6 for learner in clf.learners_)


def test_learners_describe_the_probabilities(spy):
    clf, _, y, groups = fitted(n=2000)
    outcome, group = clf.learners_
    assert (outcome["predicts"], outcome["kind"], outcome["rows"]) == ("y = 1", "estimator", 2000)
    assert (group["predicts"], group["kind"], group["classes"]) == ("sex", "estimator", ["f", "m"])
    assert outcome["auc"] == pytest.approx(roc_auc_score(y, spy.values["P(y=1)"]), abs=1e-9)
    assert group["auc"] == pytest.approx(roc_auc_score(groups["sex"] == "m", spy.values["P(sex=m)"]), abs=1e-9)
    # Calibration can only lower the loss on these rows.
    assert outcome["log_loss"] <= log_loss(y, spy.values["P(y=1)"]) + 1e-9
    assert clf.run_info_["family"]["brought"]["estimator"] is True
    used = {name for name, weight in clf.select(knee=True).coefficients_.items() if weight != 0}
    assert used <= {"estimator: probability", "estimator: sex=f"} and "estimator: probability" in used
    assert FairFrontClassifier(n_models=5).fit(*people(300)[:2]).learners_ == []


@pytest.mark.parametrize("estimator", [LogisticRegression(), HistGradientBoostingClassifier(max_iter=40)])
def test_the_front_has_smaller_differences_than_the_estimator_alone(estimator):
    clf, *_ = fitted(estimator, n=3000)
    X, y, sex, _ = people(4000, seed=9)
    alone = clone(estimator).fit(*people(3000)[:2]).predict(X)
    fair = clf.select(require="demographic_parity_difference(sex) <= 0.05", confidence=None).predict(X)

    def difference(decisions):
        return abs(decisions[sex == "f"].mean() - decisions[sex == "m"].mean())

    assert difference(alone) > 0.2
    assert difference(fair) < 0.1
    assert (fair == y).mean() > 0.69
    # The unmitigated model is as accurate as the estimator.
    best = clf.select(best="accuracy").predict(X)
    assert (best == y).mean() == pytest.approx((alone == y).mean(), abs=0.015)


def test_several_attributes():
    clf, X, y, _ = fitted(attribute="sex+race", n=1500)
    assert clf.objectives_ == ["error_rate", "demographic_parity(sex)", "demographic_parity(race)"]
    fairest = clf.select(best="demographic_parity(race)").values_
    assert fairest["train.demographic_parity_difference(race)"] < 0.1
    assert clf.predict(X).shape == y.shape


def test_several_measures():
    clf, *_ = fitted(objectives=["error_rate", "equal_opportunity(sex)", "predictive_equality(sex)"], n=1500)
    assert [learner["predicts"] for learner in clf.learners_] == ["y = 1", "sex given y = 1", "sex given not y = 1"]
    assert len(clf.front_) > 3


def test_small_groups_are_one_class(spy):
    X, y, _, race = people(900)
    race = race.astype(object)
    race[:12] = "d"
    race[12:20] = "e"
    clf = FairFrontClassifier(estimator=LogisticRegression()).fit(X, y, sensitive_features={"race": race})
    assert list(spy.values)[1:] == ["P(race=a)", "P(race=b)", "P(race=c)", "P(race=(others))"]
    assert spy.plans[0]["groups"][0]["classes"] == ["a", "b", "c", None]
    np.testing.assert_allclose(sum(list(spy.values.values())[1:]), 1.0, atol=1e-12)
    clf = FairFrontClassifier(estimator=LogisticRegression(), pool_groups=30)
    clf.fit(X, y, sensitive_features={"race": race})
    assert spy.plans[1]["groups"][0]["classes"] == ["a", "b", "c", None]
    assert clf.predict(X).shape == y.shape


def test_rows_of_unknown_groups_are_scored_but_not_fitted(spy):
    X, y, sex, _ = people(800)
    sex = sex.astype(object)
    sex[::4] = None
    clf = FairFrontClassifier(estimator=LogisticRegression(), missing_sensitive="loss-only")
    clf.fit(X, y, sensitive_features={"sex": sex})
    plan, known = spy.plans[0], np.arange(800) % 4 != 0
    np.testing.assert_array_equal(plan["groups"][0]["labels"] >= 0, known)
    rows = known & (plan["folds"] != 2)
    expected = LogisticRegression().fit(X[rows], sex[rows].astype(str)).predict_proba(X[plan["folds"] == 2])[:, 1]
    np.testing.assert_array_equal(spy.values["P(sex=m)"][plan["folds"] == 2], expected)


def test_a_group_that_folds_miss_gets_probability_zero_and_a_warning(spy):
    X, y, sex, _ = people(500)
    sex = sex.astype(object)
    sex[7] = "x"
    clf = FairFrontClassifier(estimator=LogisticRegression(), min_group=0)
    with pytest.warns(FairFrontWarning, match="class 'x' of sex has only 1 training row"):
        clf.fit(X, y, sensitive_features={"sex": sex})
    fold = spy.plans[0]["folds"]
    assert (spy.values["P(sex=x)"][fold == fold[7]] == 0).all()
    assert (spy.values["P(sex=x)"][fold != fold[7]] > 0).all()
    assert any("class 'x'" in message for message in clf.messages_)


def test_classes_of_any_kind_and_a_favorable_first_class(spy):
    X, y, sex, _ = people(600)
    for classes in [("yes", "no"), (True, False), (-1.0, 3.0)]:
        labels = np.asarray(classes)[y]
        for favorable in classes:
            clf = FairFrontClassifier(estimator=LogisticRegression(), pos_label=favorable)
            clf.fit(X, labels, sensitive_features={"sex": sex})
            assert roc_auc_score(labels == favorable, next(iter(spy.values.values()))) > 0.8
            assert clf.score(X, labels) > 0.7
            proba = clf.predict_proba(X)
            assert roc_auc_score(labels == clf.classes_[1], proba[:, 1]) > 0.8


class Reversed(ClassifierMixin, BaseEstimator):
    """A classifier whose classes are in descending order."""

    def fit(self, X, y):
        self.inner_ = LogisticRegression().fit(X, y)
        self.classes_ = self.inner_.classes_[::-1]
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)[:, ::-1]


def test_classes_in_another_order(spy):
    for attribute in ("sex", "race"):
        usual, *_ = fitted(LogisticRegression(), attribute=attribute)
        values = spy.values
        other, X, *_ = fitted(Reversed(), attribute=attribute)
        for name, column in values.items():
            np.testing.assert_allclose(spy.values[name], column, rtol=1e-12)
        np.testing.assert_allclose(other.decision_function(X), usual.decision_function(X), atol=1e-8)


def test_predictions_use_the_refitted_estimators(spy):
    clf, X, y, groups = fitted()
    new = people(300, seed=4)[0]
    outcome, group = (scorer.estimator for scorer in spy.brought[0].scorers)
    np.testing.assert_array_equal(outcome.coef_, LogisticRegression().fit(X, y).coef_)
    np.testing.assert_array_equal(group.coef_, LogisticRegression().fit(X, groups["sex"]).coef_)
    scores = clf.decision_function(new)
    np.testing.assert_array_equal(clf.predict(new), (scores >= 0).astype(int))
    # One row at a time gives the same scores.
    np.testing.assert_allclose([clf.decision_function(new[[i]])[0] for i in range(5)], scores[:5], rtol=1e-12)
    np.testing.assert_allclose(clf.predict_proba(new).sum(axis=1), 1.0)
    np.testing.assert_array_equal(clf.select(model_id=clf.selected_).decision_function(new), scores)
    assert clf.n_features_in_ == 3 and not hasattr(clf, "feature_names_in_")
    # The user's own estimator stays as it was.
    assert not hasattr(clf.estimator, "coef_")


def test_another_estimator_for_the_groups(spy):
    clf, X, _, groups = fitted(LogisticRegression(), sensitive_estimator=KNeighborsClassifier(15))
    folds = PredefinedSplit(spy.plans[0]["folds"])
    male = groups["sex"] == "m"
    expected = cross_val_predict(KNeighborsClassifier(15), X, male, cv=folds, method="predict_proba")[:, 1]
    np.testing.assert_array_equal(spy.values["P(sex=m)"], expected)
    assert [type(scorer.estimator).__name__ for scorer in spy.brought[0].scorers] == [
        "LogisticRegression",
        "KNeighborsClassifier",
    ]


@pytest.mark.parametrize(
    "estimator", [LogisticRegression(), HistGradientBoostingClassifier(max_iter=20), RandomForestClassifier(20)]
)
def test_any_number_of_jobs_gives_the_same_bytes(estimator):
    fronts = []
    for n_jobs in (None, 1, 2):
        clf, X, *_ = fitted(estimator, n=500, n_jobs=n_jobs)
        fronts.append((clf.front_.to_csv(), clf.decision_function(X).tobytes()))
    assert fronts[0] == fronts[1] == fronts[2]


def test_random_states_that_are_not_set_follow_the_seed(spy):
    front = [fitted(RandomForestClassifier(10), n=300, random_state=seed)[0].front_ for seed in (5, 5)]
    assert front[0].equals(front[1])
    assert [scorer.estimator.random_state for scorer in spy.brought[0].scorers] == [5, 5]
    fitted(RandomForestClassifier(10, random_state=1), n=300, random_state=5)
    assert spy.brought[-1].scorers[0].estimator.random_state == 1


# Fitted estimators


def split_people():
    X, y, sex, _ = people(1600)
    return (X[:800], y[:800], sex[:800]), (X[800:], y[800:], sex[800:])


def test_a_fitted_estimator_is_used_as_it_is(spy):
    (X0, y0, _), (X, y, sex) = split_people()
    model = LogisticRegression().fit(X0, y0)
    before = pickle.dumps(model)
    clf = FairFrontClassifier(estimator=model, prefit=True).fit(X, y, sensitive_features={"sex": sex})
    np.testing.assert_array_equal(spy.values["P(y=1)"], model.predict_proba(X)[:, 1])
    assert spy.brought[0].scorers[0].estimator is model
    assert pickle.dumps(model) == before
    # The groups are cross-fitted on these rows.
    folds = PredefinedSplit(spy.plans[0]["folds"])
    expected = cross_val_predict(LogisticRegression(), X, sex == "m", cv=folds, method="predict_proba")[:, 1]
    np.testing.assert_array_equal(spy.values["P(sex=m)"], expected)
    assert clf.predict(X0).shape == y0.shape


def test_a_fitted_estimator_of_groups_is_used_as_it_is(spy):
    (X0, y0, sex0), (X, y, sex) = split_people()
    model, of_groups = LogisticRegression().fit(X0, y0), LogisticRegression(C=0.1).fit(X0, sex0)
    clf = FairFrontClassifier(estimator=model, sensitive_estimator=of_groups, prefit=True)
    clf.fit(X, y, sensitive_features={"sex": sex})
    np.testing.assert_array_equal(spy.values["P(sex=m)"], of_groups.predict_proba(X)[:, 1])
    assert spy.brought[0].scorers[1].estimator is of_groups


def test_a_fitted_estimator_of_more_groups_than_are_compared(spy):
    X, y, _, race = people(1600)
    race = race.astype(object)
    race[::90] = "z"
    model, of_groups = LogisticRegression().fit(X[:800], y[:800]), LogisticRegression().fit(X[:800], race[:800])
    clf = FairFrontClassifier(estimator=model, sensitive_estimator=of_groups, prefit=True)
    clf.fit(X[800:], y[800:], sensitive_features={"race": race[800:]})
    expected = of_groups.predict_proba(X[800:])
    for k, name in enumerate(["a", "b", "c", "(others)"]):
        np.testing.assert_allclose(spy.values[f"P(race={name})"], expected[:, k], rtol=1e-12)


class Bare:
    """A model without ``fit``, such as a wrapper of a network."""

    classes_ = np.asarray([0, 1])

    def predict_proba(self, X):
        odds = 1 / (1 + np.exp(0.5 - np.asarray(X)[:, 0]))
        return np.column_stack([1 - odds, odds])


def test_a_fitted_model_needs_no_method_fit():
    X, y, sex, _ = people(600)
    clf = FairFrontClassifier(estimator=Bare(), sensitive_estimator=LogisticRegression(), prefit=True)
    clf.fit(X, y, sensitive_features={"sex": sex})
    assert clf.score(X, y) > 0.6
    with pytest.raises(TypeError, match="Bare cannot be cloned"):
        clf.set_params(sensitive_estimator=None).fit(X, y, sensitive_features={"sex": sex})


def test_frozen_estimators_need_prefit():
    (X0, y0, _), (X, y, sex) = split_people()
    frozen = FrozenEstimator(LogisticRegression().fit(X0, y0))
    for estimator in (frozen, make_pipeline(StandardScaler().fit(X0), frozen)):
        with pytest.raises(ValueError, match="stays fitted when it is cloned.*prefit=True"):
            FairFrontClassifier(estimator=estimator).fit(X, y, sensitive_features={"sex": sex})
    clf = FairFrontClassifier(estimator=frozen, sensitive_estimator=LogisticRegression(), prefit=True)
    clf.fit(X, y, sensitive_features={"sex": sex})


# Weights


class Weighted(LogisticRegression):
    """Records the weights of every fit."""

    seen: list = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append(None if sample_weight is None else np.asarray(sample_weight))
        return super().fit(X, y, sample_weight=sample_weight)


@pytest.mark.parametrize("wrap", [lambda inner: inner, lambda inner: make_pipeline(StandardScaler(), inner)])
def test_weights_reach_the_estimator(wrap):
    X, y, sex, _ = people(500)
    weight = np.linspace(0.0, 2.0, 500)
    Weighted.seen.clear()
    clf = FairFrontClassifier(estimator=wrap(Weighted()), n_jobs=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*sample_weight", FairFrontWarning)
        clf.fit(X, y, sensitive_features={"sex": sex}, sample_weight=weight)
    assert len(Weighted.seen) == 2 * 6
    # Rows of weight 0 are not fitted.
    np.testing.assert_array_equal(Weighted.seen[0], weight[1:])
    Weighted.seen.clear()
    clf.fit(X, y, sensitive_features={"sex": sex})
    assert Weighted.seen == [None] * 12


def test_weights_are_routed_by_request():
    X, y, sex, _ = people(400)
    weight = np.linspace(0.5, 2.0, 400)
    with sklearn.config_context(enable_metadata_routing=True):
        asks = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), Weighted().set_fit_request(sample_weight=True)
        )
        silent = make_pipeline(StandardScaler(), LogisticRegression().set_fit_request(sample_weight=False))
        Weighted.seen.clear()
        clf = FairFrontClassifier(estimator=asks).fit(X, y, sensitive_features={"sex": sex}, sample_weight=weight)
        np.testing.assert_array_equal(Weighted.seen[0], weight)
        with pytest.warns(FairFrontWarning, match="takes no sample_weight"):
            clone(clf).set_params(estimator=silent).fit(X, y, sensitive_features={"sex": sex}, sample_weight=weight)


def test_an_estimator_without_weights_causes_one_warning():
    X, y, sex, _ = people(400)
    clf = FairFrontClassifier(estimator=KNeighborsClassifier(25))
    with pytest.warns(FairFrontWarning) as record:
        clf.fit(X, y, sensitive_features={"sex": sex}, sample_weight=np.linspace(0.5, 2.0, 400))
    said = [str(w.message) for w in record if "sample_weight" in str(w.message)]
    assert len(said) == 1 and said[0].startswith("estimator: fit of KNeighborsClassifier takes no sample_weight")


# Inputs


def test_a_pipeline_on_a_frame():
    X, y, sex, _ = frame(800)
    encode = ColumnTransformer([("category", OneHotEncoder(), ["region", "job"])], remainder="passthrough")
    clf = FairFrontClassifier(estimator=make_pipeline(encode, LogisticRegression(max_iter=500)))
    clf.fit(X, y, sensitive_features=sex)
    assert clf.feature_names_in_.tolist() == list(X.columns)
    assert clf.n_features_in_ == X.shape[1]
    assert clf.score(X, y) > 0.7
    assert clf.learners_[0]["predicts"] == "approved = 1"
    with pytest.raises(ValueError, match="columns are missing"):
        clf.predict(X.drop(columns="job"))


def test_sparse_rows_and_missing_values():
    X, y, sex, _ = people(500)
    dense, *_ = fitted(n=500)
    clf = FairFrontClassifier(estimator=LogisticRegression()).fit(
        sparse.csr_array(X), y, sensitive_features={"sex": sex}
    )
    np.testing.assert_allclose(clf.decision_function(sparse.csr_array(X)), dense.decision_function(X), atol=1e-4)
    X[::7, 0] = np.nan
    trees = FairFrontClassifier(estimator=HistGradientBoostingClassifier(max_iter=20))
    assert trees.fit(X, y, sensitive_features={"sex": sex}).score(X, y) > 0.6
    with pytest.raises(ValueError, match="LogisticRegression does not accept missing values"):
        FairFrontClassifier(estimator=LogisticRegression()).fit(X, y, sensitive_features={"sex": sex})


def test_rows_that_only_the_estimator_understands():
    X, y, sex, _ = people(600)
    words = np.asarray([" ".join(["rich"] * max(1, int(3 + row[0])) + ["old"] * max(1, int(3 + row[1]))) for row in X])
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    clf = FairFrontClassifier(estimator=model).fit(words, y, sensitive_features={"sex": sex})
    assert clf.score(words, y) > 0.55


def test_rows_of_polars():
    polars = pytest.importorskip("polars")
    X, y, sex, _ = people(400)
    table = polars.DataFrame(dict(zip("abc", X.T, strict=True)))
    clf = FairFrontClassifier(estimator=LogisticRegression()).fit(table, y, sensitive_features={"sex": sex})
    assert clf.feature_names_in_.tolist() == ["a", "b", "c"]
    assert clf.score(table, y) > 0.7


def test_without_sensitive_features_there_is_one_model():
    X, y, _, _ = people(500)
    with pytest.warns(FairFrontWarning, match="no sensitive_features"):
        clf = FairFrontClassifier(estimator=LogisticRegression()).fit(X, y)
    assert clf.front_["family"].tolist() == ["estimator"]
    assert clf.score(X, y) == pytest.approx(LogisticRegression().fit(X, y).score(X, y), abs=0.02)


# The contract of scikit-learn

#: A row of weight 2 is in one fold, but two rows may be in two folds.
WEIGHTS = {f"check_sample_weight_equivalence_on_{kind}_data": "folds divide rows" for kind in ("dense", "sparse")}
STREAMS = {
    f"check_{name}": "partial_fit rejects an estimator"
    for name in ("fit_score_takes_y", "n_features_in_after_fitting", "estimators_partial_fit_n_features")
}


@pytest.mark.filterwarnings("ignore:no sensitive_features")
@pytest.mark.filterwarnings("ignore::fairfront.FairFrontWarning")
@parametrize_with_checks(
    [
        FairFrontClassifier(estimator=LogisticRegression()),
        FairClassifier(FairFrontClassifier(estimator=LogisticRegression()), knee=True),
    ],
    expected_failed_checks=lambda estimator: WEIGHTS | (STREAMS if hasattr(estimator, "partial_fit") else {}),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_nested_parameters():
    clf = FairFrontClassifier(estimator=make_pipeline(StandardScaler(), LogisticRegression(C=3)), n_models=9)
    assert clf.get_params()["estimator__logisticregression__C"] == 3
    copy = clone(clf).set_params(estimator__logisticregression__C=5)
    assert (copy.estimator[-1].C, clf.estimator[-1].C) == (5, 3)
    assert "LogisticRegression(C=3)" in repr(clf)


def test_grid_search_over_the_estimator():
    X, y, sex, _ = people(600)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = FairFrontClassifier(estimator=LogisticRegression()).set_fit_request(sensitive_features=True)
        search = GridSearchCV(clf, {"estimator__C": [1e-6, 1.0]}, cv=3, n_jobs=2)
        search.fit(X, y, sensitive_features=sex)
    assert search.best_params_["estimator__C"] == 1.0
    assert search.best_estimator_.learners_[0]["auc"] > 0.8


def test_pickles_contain_the_estimators():
    clf, X, *_ = fitted(HistGradientBoostingClassifier(max_iter=10), n=500)
    for model in (clf, clf.select(best="demographic_parity(sex)")):
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_chosen_model_is_an_estimator():
    clf, X, y, groups = fitted(n=500)
    model = clf.select(best="demographic_parity(sex)")
    again = clone(model).fit(X, y, sensitive_features={"sex": groups["sex"]})
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert len(clf.predictors_) == len(clf.front_)


# Files


def test_run_folders_contain_the_front_but_not_the_estimator(tmp_path):
    clf, X, *_ = fitted(n=500, require="demographic_parity_difference(sex) <= 0.1", confidence=None)
    clf.save(tmp_path / "run")
    loaded = FairFrontClassifier.load(tmp_path / "run")
    assert loaded.front_.equals(clf.front_)
    assert loaded.selected_ == clf.selected_ and loaded.learners_ == clf.learners_
    with pytest.raises(ValueError, match="run folder does not contain your estimator.*pickle"):
        loaded.predict(X)
    clf.report(tmp_path / "report.html")
    assert "estimator" in (tmp_path / "report.html").read_text()


def test_models_cannot_be_exported(tmp_path):
    clf, *_ = fitted(n=500)
    model = clf.select(best="accuracy")
    for write in (
        clf.to_onnx,
        model.to_onnx,
        model.to_json,
        lambda: model.export("sql"),
        lambda: model.save(tmp_path / "model.json"),
    ):
        with pytest.raises(ValueError, match="needs the probabilities of your estimator.*pickle"):
            write()


# Errors


class Wrong(LogisticRegression):
    """Returns something else than probabilities."""

    def __init__(self, returns=np.nan):
        super().__init__()
        self.returns = returns

    def predict_proba(self, X):
        found = super().predict_proba(X)
        if self.returns == "one column":
            return found[:, :1]
        found[0] = self.returns
        return found


class Nameless(Bare):
    classes_ = None


ERRORS = {
    "no probabilities": (dict(estimator=LinearSVC()), TypeError, "estimator: LinearSVC has no predict_proba"),
    "a class": (dict(estimator=LogisticRegression), TypeError, "pass an instance, not a class"),
    "no probabilities of groups": (
        dict(estimator=LogisticRegression(), sensitive_estimator=LinearSVC()),
        TypeError,
        "sensitive_estimator: LinearSVC has no predict_proba",
    ),
    "not fitted": (
        dict(estimator=LogisticRegression(), prefit=True),
        ValueError,
        "this LogisticRegression is not fitted",
    ),
    "prefit alone": (dict(prefit=True), ValueError, "prefit is set, but estimator is not"),
    "sensitive_estimator alone": (
        dict(sensitive_estimator=LogisticRegression()),
        ValueError,
        "sensitive_estimator is set, but estimator is not",
    ),
    "a forest alone": (
        dict(sensitive_estimator=RandomForestClassifier()),
        ValueError,
        "sensitive_estimator is set, but estimator is not",
    ),
    "trees": (dict(estimator=LogisticRegression(), family="trees"), ValueError, "remove family or estimator"),
    "auto": (dict(estimator=LogisticRegression(), family="auto"), ValueError, "remove family or estimator"),
    "dropped rows": (dict(estimator=LogisticRegression(), missing="drop"), ValueError, "remove missing or estimator"),
    "NaN": (dict(estimator=Wrong()), ValueError, "predict_proba of Wrong returned .nan, nan. for a row"),
    "no shares": (dict(estimator=Wrong(7.0)), ValueError, "which are not probabilities"),
    "one column": (dict(estimator=Wrong("one column")), ValueError, "instead of"),
    "no classes": (dict(estimator=Nameless(), prefit=True), TypeError, "Nameless has no attribute classes_"),
    "covariances": (
        dict(estimator=LogisticRegression(), objectives=["log_loss", "score_covariance(sex)"]),
        ValueError,
        "need the error rate as their loss; choose 'error_rate' in objectives",
    ),
    "objectives": (
        dict(estimator=LogisticRegression(), front_in="objectives"),
        ValueError,
        "front_in='objectives': .*remove it",
    ),
    "constant": (
        dict(estimator=DummyClassifier(strategy="constant", constant=1)),
        ValueError,
        "estimator: DummyClassifier gives all training rows the same probability",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_remedies(name):
    params, kind, message = ERRORS[name]
    X, y, sex, _ = people(300)
    with pytest.raises(kind, match=message):
        FairFrontClassifier(**params).fit(X, y, sensitive_features={"sex": sex})


def test_errors_of_inputs(tmp_path):
    X, y, sex, race = people(300)
    clf = FairFrontClassifier(estimator=LogisticRegression())
    with pytest.raises(TypeError, match="X is a path.*read the file into a frame"):
        clf.fit("rows.csv", "y", sensitive_features="sex")
    with pytest.raises(ValueError, match="partial_fit cannot update your own estimator"):
        clf.partial_fit(X, y, sensitive_features={"sex": sex})
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clf.fit(X, y[:-1], sensitive_features={"sex": sex})
    clf.fit(X, y, sensitive_features={"sex": sex})
    with pytest.raises(TypeError, match="X is a path"):
        clf.predict("rows.csv")


def test_errors_of_fitted_estimators():
    X, y, sex, race = people(600)
    model, of_sex = LogisticRegression().fit(X, y), LogisticRegression().fit(X, sex)
    clf = FairFrontClassifier(estimator=model, sensitive_estimator=of_sex, prefit=True)
    for objectives, sensitive in [
        (None, {"sex": sex, "race": race}),
        (["error_rate", "equal_opportunity(sex)"], {"sex": sex}),
    ]:
        with pytest.raises(ValueError, match="sensitive_estimator: this LogisticRegression is fitted, but"):
            clf.set_params(objectives=objectives).fit(X, y, sensitive_features=sensitive)
    clf.set_params(objectives=None)
    with pytest.raises(ValueError, match="was fitted on the groups .* but race has the groups"):
        clf.fit(X, y, sensitive_features={"race": race})
    with pytest.raises(ValueError, match="was fitted on the classes"):
        clf.fit(X, np.where(y, "yes", "no"), sensitive_features={"sex": sex})


def test_scikit_learn_is_needed_for_estimators_only():
    code = """
import sys
class Absent:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in ("sklearn", "joblib"):
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
import numpy as np
from fairfront import FairFrontClassifier
X = np.random.default_rng(0).normal(size=(200, 2))
y, sex = X[:, 0] > 0.1, (X[:, 1] > 0).astype(int)
class Own:
    def predict_proba(self, X): ...
FairFrontClassifier(n_models=5).fit(X, y, sensitive_features={"sex": sex}).predict(X)
assert not [name for name in sys.modules if name.startswith("sklearn")]
try:
    FairFrontClassifier(estimator=Own()).fit(X, y, sensitive_features={"sex": sex})
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "estimator: scikit-learn is not installed; install scikit-learn, or remove estimator"


def test_the_command_shows_a_saved_front(tmp_path):
    clf, *_ = fitted(n=500)
    clf.save(tmp_path / "run")
    command = [sys.executable, "-m", "fairfront", "show", str(tmp_path / "run"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)
    assert fairfront.__version__
