"""scikit-learn's contract for the estimators and their models."""

import warnings

import numpy as np
import pytest
from people import frame, people
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import fairfront
from fairfront import FairClassifier, FairFrontClassifier, FairFrontRegressor, FairRegressor


#: In cross-validation, a row of weight 2 is in one fold, but two rows may be in two folds. scikit-learn expects the
#: same failures of its own ``LogisticRegressionCV``. With a fixed penalty, both checks pass. Regressors pass anyway.
REASON = "the penalty is chosen by cross-validation over rows"
WEIGHTS = {f"check_sample_weight_equivalence_on_{kind}_data": REASON for kind in ("dense", "sparse")}


def is_cross_validated(estimator):
    front = getattr(estimator, "front", None) or estimator
    if isinstance(estimator, (FairFrontRegressor, FairRegressor)):
        return False
    return getattr(front, "penalty", "auto") == "auto"


@pytest.mark.filterwarnings("ignore:no sensitive_features")
@pytest.mark.filterwarnings("ignore::fairfront.FairFrontWarning")
@parametrize_with_checks(
    [
        FairFrontClassifier(),
        FairClassifier(),
        FairClassifier(knee=True),
        FairFrontClassifier(penalty=1e-4),
        FairClassifier(FairFrontClassifier(penalty=1e-4)),
        FairFrontRegressor(),
        FairRegressor(),
        FairRegressor(knee=True),
        FairFrontRegressor(penalty=1e-4),
        FairRegressor(FairFrontRegressor(penalty=1e-4)),
    ],
    expected_failed_checks=lambda estimator: WEIGHTS if is_cross_validated(estimator) else {},
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_a_model_that_was_selected_is_an_estimator():
    X, y, sex, _ = people()
    front = FairFrontClassifier(n_models=20).fit(X, y, sensitive_features=sex)
    model = front.select(require="demographic_parity_difference(sensitive_feature_0) <= 0.1")
    again = clone(model).fit(X, y, sensitive_features=sex)
    assert again.model_id_ == model.model_id_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_metadata_is_routed():
    import sklearn

    X, y, sex, _ = people(600)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = FairFrontClassifier(n_models=15).set_fit_request(sensitive_features=True, sample_weight=True)
        clf.set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clf)
        weight = np.linspace(0.5, 1.5, len(y))
        pipeline.fit(X, y, sensitive_features=sex, sample_weight=weight)
        direct = FairFrontClassifier(n_models=15).fit(
            StandardScaler().fit_transform(X), y, sensitive_features=sex, sample_weight=weight
        )
        np.testing.assert_array_equal(pipeline[-1].front_.to_numpy(), direct.front_.to_numpy())
        scores = cross_validate(pipeline, X, y, cv=3, params={"sensitive_features": sex, "sample_weight": weight})
        assert (scores["test_score"] > 0.6).all()


def test_grid_search_over_requirements():
    import sklearn

    X, y, sex, _ = people(600)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = FairFrontClassifier(n_models=15).set_fit_request(sensitive_features=True)
        ratio = "demographic_parity_ratio(sensitive_feature_0) >= "
        search = GridSearchCV(clf, {"require": [ratio + "0.5", ratio + "0.9"]}, cv=3, n_jobs=2)
        search.fit(X, y, sensitive_features=sex)
        assert search.best_params_["require"].endswith("0.5"), "the looser bound is the more accurate one"


def test_column_transformer_and_pandas_output():
    X, y, sex, _ = frame(800)
    encode = ColumnTransformer(
        [("category", OneHotEncoder(sparse_output=False), ["region", "job"])], remainder="passthrough"
    ).set_output(transform="pandas")
    pipeline = make_pipeline(encode, FairFrontClassifier(n_models=15))
    pipeline.fit(X, y, fairfrontclassifier__sensitive_features=sex)
    assert list(pipeline[-1].feature_names_in_) == list(encode.fit(X, y).get_feature_names_out())
    assert pipeline.predict(X).shape == y.shape


def test_sparse_output_of_a_transformer_gives_the_same_front():
    X, y, sex, _ = frame(800)
    X = X[["region", "job"]]
    dense = OneHotEncoder(sparse_output=False).fit_transform(X)
    sparse = OneHotEncoder().fit_transform(X)
    fronts = [FairFrontClassifier(n_models=15).fit(x, y, sensitive_features=sex).front_ for x in (dense, sparse)]
    np.testing.assert_array_equal(fronts[0].to_numpy(), fronts[1].to_numpy())


def test_without_sensitive_features_there_is_one_model_and_a_warning():
    X, y, _, _ = people(500)
    with pytest.warns(fairfront.FairFrontWarning, match="no sensitive_features"):
        clf = FairFrontClassifier().fit(X, y)
    assert len(clf.front_) == 1
    assert clf.score(X, y) == pytest.approx(clf.unmitigated_["train.accuracy"])


def test_parameters_are_kept_as_given():
    settings = {"steps": 3}
    clf = FairFrontClassifier(settings=settings)
    assert clone(clf).get_params()["settings"] == settings
    assert clf.get_params()["settings"] is settings
    nested = FairClassifier(clf, knee=True)
    assert nested.get_params()["front__settings"] is settings
    assert nested.set_params(front__n_models=7).front.n_models == 7


def test_repr_shows_the_model_in_use():
    X, y, sex, _ = people(500)
    clf = FairFrontClassifier(n_models=10, best="accuracy").fit(X, y, sensitive_features=sex)
    assert f"# uses model {clf.selected_} of {len(clf.front_)}" in repr(clf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "uses model" not in repr(clone(clf))
