"""Fronts of models that predict numbers: values, choices, certificates, saved fronts and streams."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from people import salaries
from scipy.stats import ks_2samp, wasserstein_distance
from sklearn import metrics
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score

import fairfront
from fairfront import Dataset, FairFrontClassifier, FairFrontRegressor, FairFrontWarning, FairRegressor, Objective
from fairfront import Problem, pf_smg, trace

SQUARES = ["squared_error(lambda=0)", "mean_difference(sex)"]


def fitted(n=1500, seed=0, sensitive=("sex",), weight=None, **params):
    X, y, sex, race = salaries(n, seed)
    groups = {name: {"sex": sex, "race": race}[name] for name in sensitive}
    reg = FairFrontRegressor(**{"n_models": 25, **params})
    return reg.fit(X, y, sensitive_features=groups, sample_weight=weight), X, y, {"sex": sex, "race": race}


def by_group(values, groups):
    return [values[groups == group] for group in np.unique(groups)]


def test_the_unmitigated_model_is_that_of_least_squares():
    reg, X, y, _ = fitted(objectives=SQUARES)
    expected = LinearRegression().fit(X, y)
    best = reg.select(best="rmse")
    # A loss within 1e-8 of the least one allows predictions that are off by 1e-4 standard deviations.
    np.testing.assert_allclose(best.predict(X), expected.predict(X), atol=2e-4 * y.std())
    assert best.score(X, y) == pytest.approx(expected.score(X, y), abs=1e-8)


def test_predictions_are_in_the_unit_of_y():
    reg, X, y, _ = fitted(sensitive=("sex", "race"))
    again = FairFrontRegressor(n_models=25)
    groups = dict(zip(("sex", "race"), salaries()[2:], strict=True))
    again.fit(X, 1024 * y, sensitive_features=groups)
    # Labels are standardized, and a power of two does not change digits.
    np.testing.assert_array_equal(again.predict(X), 1024 * reg.predict(X))
    np.testing.assert_array_equal(again.front_["train.rmse"], 1024 * reg.front_["train.rmse"])
    np.testing.assert_array_equal(again.front_.filter(like="objective."), reg.front_.filter(like="objective."))


def test_coefficients_and_intercept_give_the_predictions():
    reg, X, _, _ = fitted()
    model = reg.select(knee=True)
    # The encoded features are standardized with population variances.
    encoded = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(
        encoded @ list(model.coefficients_.values()) + model.intercept_, model.predict(X), rtol=1e-10
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_measures_are_those_of_scikit_learn_and_scipy(weighted):
    weight = np.random.default_rng(5).integers(1, 4, size=1500).astype(float) if weighted else None
    reg, X, y, groups = fitted(sensitive=("sex", "race"), weight=weight)
    frequency = np.ones(len(y), dtype=int) if weight is None else weight.astype(int)
    for model in (reg.predictors_[0], reg.select(best="mean_difference(race)")):
        predicted = model.predict(X)
        values = {name.removeprefix("train."): value for name, value in model.values_.items()}
        about = {"sample_weight": weight}
        # Both sum in double precision, in different orders.
        close = {"rel": 1e-10, "abs": 1e-12}
        assert values["rmse"] == pytest.approx(metrics.root_mean_squared_error(y, predicted, **about), **close)
        assert values["mae"] == pytest.approx(metrics.mean_absolute_error(y, predicted, **about), **close)
        assert values["r2"] == pytest.approx(metrics.r2_score(y, predicted, **about), **close)
        assert values["r2"] == pytest.approx(model.score(X, y, sample_weight=weight), **close)
        assert values["mean_residual"] == pytest.approx(np.average(y - predicted, weights=weight), abs=1e-9)
        for attribute, of_rows in groups.items():
            # Rows of weight w count as w rows.
            parts = by_group(np.repeat(predicted, frequency), np.repeat(of_rows, frequency))
            means = [part.mean() for part in parts]
            assert values[f"mean_difference({attribute})"] == pytest.approx(np.ptp(means), **close)
            rows = np.repeat(np.column_stack([y, predicted]), frequency, axis=0)
            errors = [metrics.mean_absolute_error(*part.T) for part in by_group(rows, np.repeat(of_rows, frequency))]
            assert values[f"worst_group_mae({attribute})"] == pytest.approx(max(errors), **close)
            assert values[f"mae_difference({attribute})"] == pytest.approx(np.ptp(errors), **close)


def thresholds_of(y):
    """32 quantiles of y."""
    return np.sort(y)[[(2 * i + 1) * len(y) // 64 for i in range(32)]]


def test_distribution_differences_are_those_of_scipy_at_32_thresholds():
    reg, X, y, groups = fitted(n=3000)
    at = thresholds_of(y)
    for model in (reg.predictors_[0], reg.select(knee=True)):
        predicted = model.predict(X)
        women, men = by_group(predicted, groups["sex"])
        measured = model.values_["train.distribution_difference(sex)"]
        statistic = ks_2samp(women, men).statistic
        # Between two of 32 thresholds, which are quantiles of y, the shares can differ a little more.
        assert measured <= statistic + 1e-12
        assert measured == pytest.approx(statistic, abs=0.05)
        metric = fairfront.metrics.distribution_difference
        assert metric(y, predicted, sensitive_features=groups["sex"]) == pytest.approx(statistic, abs=1e-12)
        thresholded = metric(y, predicted, sensitive_features=groups["sex"], thresholds=at)
        assert measured == pytest.approx(thresholded, abs=1e-12)
        # The mean over quantiles is the distance in the scale of the ranks of y, where thresholds are uniform.
        ranks = [np.searchsorted(at, part, side="left") / 32 for part in (women, men)]
        mean = model.values_["train.mean_distribution_difference(sex)"]
        assert mean == pytest.approx(wasserstein_distance(*ranks), abs=1e-12)


def test_quantile_loss_is_that_of_scikit_learn():
    X, y, sex, _ = salaries(600)
    reg = FairFrontRegressor(["quantile_loss(q=0.8, lambda=0, mu=0.001)", "mean_difference(sex)"], n_models=15)
    reg.fit(X, y, sensitive_features={"sex": sex})
    predicted = reg.select(best=reg.objectives_[0]).predict(X)
    exact = QuantileRegressor(quantile=0.8, alpha=0).fit(X, y).predict(X)
    ours, best = (metrics.mean_pinball_loss(y, p, alpha=0.8) for p in (predicted, exact))
    # The corner of the loss is smooth within 0.001 standard deviations, which raises the loss by no more than that.
    assert best <= ours <= best + 0.001 * y.std()
    assert (y <= predicted).mean() == pytest.approx(0.8, abs=0.02)


def test_the_squared_error_and_a_covariance_have_a_closed_form():
    X, y, sex, _ = salaries(800)
    reg = FairFrontRegressor(["squared_error(lambda=0)", "score_covariance(sex)"], solver="trace", n_models=40)
    reg.fit(X, y, sensitive_features={"sex": sex})
    Z = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(y))])
    label = (y - y.mean()) / y.std()
    u = Z.T @ ((sex == "m") - (sex == "m").mean()) / len(y)
    hessian = 2 * Z.T @ Z / len(y)
    parameters = reg._run.parameters()
    for x in parameters[:: max(len(parameters) // 6, 1)]:
        # The minimizer of the squared error among all models with the same covariance.
        system = np.block([[hessian, u[:, None]], [u[None, :], np.zeros((1, 1))]])
        closed = np.linalg.solve(system, np.append(2 * Z.T @ label / len(y), u @ x))[:-1]
        error, least = (np.mean((Z @ p - label) ** 2) for p in (x, closed))
        assert error == pytest.approx(least, rel=1e-6)


def test_the_front_contains_models_as_good_as_those_of_fairlearn():
    from fairlearn.reductions import BoundedGroupLoss, ExponentiatedGradient, SquareLoss

    X, y, sex, _ = salaries(1200, seed=3)
    # Men and women differ in how the features predict the salary, so one linear model must weigh their errors.
    y = y + np.where(sex == "m", 5 * X[:, 1], -5 * X[:, 1])
    low, high = y.min(), y.max()
    rows = [sex == group for group in ("f", "m")]

    def values(predicted):
        worst = max(np.mean((y - predicted)[of] ** 2) for of in rows)
        return np.mean((y - predicted) ** 2), worst

    plain = values(LinearRegression().fit(X, y).predict(X))
    reg = FairFrontRegressor(["squared_error(lambda=0)", "worst_group_loss(sex)"], n_models=100)
    reg.fit(X, y, sensitive_features={"sex": sex})
    ours = np.array([values(model.predict(X)) for model in reg.predictors_])
    for bound in (0.97, 0.92):
        limit = BoundedGroupLoss(SquareLoss(low, high), upper_bound=bound * plain[1])
        fair = ExponentiatedGradient(LinearRegression(), limit, max_iter=30, nu=1e-6)
        fair.fit(X, y, sensitive_features=sex)
        # A mixture of models is at best as good as its mean, because the squared error is convex.
        weights = fair.weights_.to_numpy()
        mean = sum(w * p.predict(X) for w, p in zip(weights, fair.predictors_, strict=True))
        error, worst = values(mean)
        # The front has 100 models, so a neighbor may be slightly off in one of the two values.
        assert ((ours[:, 0] <= error * 1.003) & (ours[:, 1] <= worst * 1.003)).any()


def test_metric_frames_agree_with_fairlearn():
    from fairlearn.metrics import MetricFrame

    reg, X, y, groups = fitted()
    predicted = reg.predict(X)
    ours = {"mse": fairfront.metrics.mean_squared_error, "mean": fairfront.metrics.mean_prediction}
    theirs = {"mse": metrics.mean_squared_error, "mean": lambda _, p: p.mean()}
    about = {"y_true": y, "y_pred": predicted, "sensitive_features": pd.Series(groups["sex"], name="sex")}
    frame, expected = fairfront.metrics.MetricFrame(metrics=ours, **about), MetricFrame(metrics=theirs, **about)
    np.testing.assert_allclose(frame.by_group.to_numpy(), expected.by_group.to_numpy(), rtol=1e-12)
    difference = fairfront.metrics.mean_difference(y, predicted, sensitive_features=groups["sex"])
    assert difference == pytest.approx(expected.difference()["mean"], rel=1e-12)
    column = reg.front_["train.mean_difference(sex)"][reg.selected_]
    assert difference == pytest.approx(column, rel=1e-10)


@pytest.mark.parametrize(
    "name", ["mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2_score", "mean_pinball_loss"]
)
def test_errors_are_those_of_scikit_learn(name):
    rng = np.random.default_rng(0)
    y, predicted, weight = rng.normal(size=50), rng.normal(size=50), rng.uniform(size=50)
    ours, theirs = getattr(fairfront.metrics, name), getattr(metrics, name)
    for more in [{}, {"sample_weight": weight}] + ([{"alpha": 0.1}] if name == "mean_pinball_loss" else []):
        assert ours(y, predicted, **more) == pytest.approx(theirs(y, predicted, **more), rel=1e-12)
    assert ours([2, 2], [2, 2]) == theirs([2, 2], [2, 2])
    with pytest.raises(ValueError, match="y_pred must be finite"):
        ours([1.0, 2.0], [1.0, np.nan])
    with pytest.raises(ValueError, match="y_true must contain numbers"):
        ours(["a", "b"], [1.0, 2.0])


def test_requirements_are_certified_on_held_out_rows():
    requirement = "mean_difference(sex) <= 2.5"
    reg, X, y, _ = fitted(
        n=6000, require=requirement, validation_fraction=0.2, holdout_fraction=0.4, n_models=40
    )
    assert reg.certificate_["verdict"] == "certified"
    assert reg.certificate_["stated"] == "before"
    X, y, sex, _ = salaries(40_000, seed=77)
    women, men = by_group(reg.predict(X), sex)
    assert abs(men.mean() - women.mean()) <= 2.5
    with pytest.raises(ValueError, match="rmse"):
        reg.select(require="rmse <= 0.1")


def test_the_best_model_has_the_smallest_error_by_default():
    reg, *_ = fitted()
    assert reg.selected_ == int(reg.front_["train.rmse"].idxmin())
    absolute, *_ = fitted(objectives=["absolute_error", "mean_difference(sex)"])
    assert absolute.selected_ == int(absolute.front_["train.mae"].idxmin())
    assert fitted(best="mean_difference(sex)")[0].selected_ == int(reg.front_["train.mean_difference(sex)"].idxmin())


def test_a_selected_model_is_an_estimator():
    reg, X, y, groups = fitted()
    model = reg.select(require="mean_difference(sex) <= 3", confidence=None)
    assert isinstance(model, FairRegressor)
    again = clone(model).fit(X, y, sensitive_features={"sex": groups["sex"]})
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert len(reg.predictors_) == len(reg.front_)
    with pytest.raises(TypeError, match="pass a FairFrontRegressor"):
        FairRegressor(FairFrontClassifier()).fit(X, y)


def test_saved_fronts_and_pickles_predict_the_same(tmp_path):
    reg, X, y, groups = fitted(require="mean_difference(sex) <= 3", confidence=None)
    reg.save(tmp_path / "run")
    again = FairFrontRegressor.load(tmp_path / "run")
    assert again.get_params()["require"] == "mean_difference(sex) <= 3" and again.selected_ == reg.selected_
    np.testing.assert_array_equal(again.predict(X), reg.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(reg)).predict(X), reg.predict(X))
    with pytest.raises(ValueError, match="'y' is a number, but FairFrontClassifier predicts classes"):
        FairFrontClassifier.load(tmp_path / "run")
    assert "# uses model" in repr(reg) and "FairFrontRegressor(" in repr(reg)
    reg.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_runs_of_the_command_are_loaded(tmp_path):
    X, y, sex, _ = salaries(900)
    table = pd.DataFrame(X, columns=["income", "age", "debt"]).assign(salary=y, sex=sex)
    table.to_csv(tmp_path / "rows.csv", index=False)
    command = [sys.executable, "-m", "fairfront", "fit", "rows.csv", "--target", "salary", "--sensitive", "sex"]
    subprocess.run([*command, "--out", "run"], cwd=tmp_path, check=True, capture_output=True)
    reg = FairFrontRegressor.load(tmp_path / "run")
    assert reg.score(table, y) > 0.6
    np.testing.assert_allclose(reg.predict(tmp_path / "rows.csv"), reg.predict(table), rtol=1e-12)
    with pytest.raises(ValueError, match="use FairFrontRegressor"):
        FairFrontClassifier.load(tmp_path / "run")


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "lists", "nullable", "integers", "file"])
def test_accepted_types_give_the_same_front(kind, tmp_path):
    import polars
    import pyarrow

    X, y, sex, _ = salaries(500)
    y = np.round(y)
    table = pd.DataFrame(X, columns=["income", "age", "debt"])
    given = {
        "pandas": (table, pd.Series(y), pd.Series(sex, name="sex")),
        "polars": (polars.from_pandas(table), polars.Series(y), polars.Series("sex", sex)),
        "arrow": (pyarrow.table(table), pyarrow.array(y), {"sex": pyarrow.array(sex)}),
        "lists": (table, y.tolist(), {"sex": sex.tolist()}),
        "nullable": (table, pd.Series(y, dtype="Float64"), pd.Series(sex, name="sex")),
        "integers": (table, y.astype(np.int32), {"sex": sex}),
        "file": (tmp_path / "rows.csv", "salary", ["sex"]),
    }[kind]
    table.assign(salary=y, sex=sex).to_csv(tmp_path / "rows.csv", index=False)
    fronts = [
        FairFrontRegressor(n_models=10).fit(X, y, sensitive_features=groups)
        for X, y, groups in (given, (table, y, {"sex": sex}))
    ]
    np.testing.assert_array_equal(fronts[0].front_.to_numpy(), fronts[1].front_.to_numpy())


def test_unusable_numbers_are_rejected():
    X, y, sex, _ = salaries(100)

    def error(reg, y, **more):
        with pytest.raises((ValueError, TypeError)) as raised:
            reg.fit(X, y, sensitive_features={"sex": sex}, **more)
        return str(raised.value)

    reg = FairFrontRegressor()
    with_one = lambda value: np.append(y[:-1], value)  # noqa: E731
    assert error(reg, with_one(np.inf)) == "Input y contains infinity or a value too large for dtype('float64')."
    assert error(reg, with_one(np.nan)) == "Input y contains NaN."
    assert error(reg, [*y[:-1], None]) == "Input y contains NaN."
    assert error(reg, np.full(100, 3.5)).startswith("y is constant: it is 3.5 in all 100 rows")
    only = (np.arange(100) < 50).astype(float)
    assert error(reg, np.where(only, 1.0, y), sample_weight=only).startswith("y is constant: it is 1 in all 50 rows")
    assert error(reg, np.where(y > 40, "high", "low")).endswith("which is not a number; use FairFrontClassifier")
    assert error(reg, y > 40).endswith("which is not a number; use FairFrontClassifier")
    assert error(reg, pd.Categorical(np.where(y > 40, "a", "b"))).endswith("use FairFrontClassifier")
    assert error(reg, [f"{value:.1f}" for value in y]).endswith("which is not a number; convert y to numbers")
    assert "complex numbers" in error(reg, y + 1j)
    assert "convert them to numbers" in error(reg, np.full(100, np.datetime64("2020-01-01")))
    assert "cross_val_predict of scikit-learn" in error(FairFrontRegressor(estimator=LinearRegression()), y)
    assert "an objective for binary targets" in error(FairFrontRegressor(["log_loss", "mean_difference(sex)"]), y)
    assert "two" in error(FairFrontRegressor(["squared_error"]), y)
    with pytest.warns(FairFrontWarning, match="only two different numbers, 0 and 1.* use FairFrontClassifier"):
        reg.set_params(n_models=5).fit(X, (y > 40).astype(int), sensitive_features={"sex": sex})


def test_a_classifier_given_numbers_names_the_regressor(tmp_path):
    X, y, sex, _ = salaries(200)
    with pytest.raises(ValueError, match="continuous.*use FairFrontRegressor"):
        FairFrontClassifier().fit(X, y, sensitive_features={"sex": sex})
    with pytest.raises(ValueError, match="y has .* classes. If y is a number, use FairFrontRegressor"):
        FairFrontClassifier().fit(X, np.round(100 * y), sensitive_features={"sex": sex})
    with pytest.raises(ValueError, match="pass numeric=True"):
        Dataset(X, y, sensitive_features={"sex": sex})
    pd.DataFrame(X).add_prefix("x").assign(salary=y, sex=sex).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match="'salary' is a number, but FairFrontClassifier predicts classes"):
        FairFrontClassifier().fit(tmp_path / "rows.csv", "salary", sensitive_features="sex")
    with pytest.raises(ValueError, match="numeric=True"):
        Dataset(tmp_path / "rows.csv", "salary", sensitive_features="sex")
    with pytest.raises(ValueError, match="not a number"):
        FairFrontRegressor().fit(tmp_path / "rows.csv", "sex", sensitive_features="salary")


def test_block_files_keep_the_kind_of_the_target(tmp_path):
    X, y, sex, _ = salaries(600)
    table = pd.DataFrame(X, columns=["income", "age", "debt"]).assign(salary=y, sex=sex)
    path = tmp_path / "rows.ffb"
    fairfront.pack(table, path, "salary", sensitive_features="sex", numeric=True)
    reg = FairFrontRegressor(n_models=10).fit(path)
    expected = FairFrontRegressor(n_models=10).fit(table[["income", "age", "debt"]], y, sensitive_features={"sex": sex})
    np.testing.assert_allclose(reg.front_.to_numpy(), expected.front_.to_numpy(), rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="use FairFrontRegressor"):
        FairFrontClassifier().fit(path)
    with pytest.raises(ValueError, match="numeric=True"):
        fairfront.pack(table, path, "salary", sensitive_features="sex")
    with pytest.raises(ValueError, match="both are set"):
        fairfront.pack(table, path, "salary", sensitive_features="sex", numeric=True, pos_label=1)
    fairfront.pack(table, path, "sex")
    with pytest.raises(ValueError, match="'sex' has classes, but FairFrontRegressor predicts numbers"):
        FairFrontRegressor().fit(path)


def test_streams_update_the_front():
    X, y, sex, _ = salaries(3000)
    reg = FairFrontRegressor(n_models=20)
    for start in range(0, 3000, 1000):
        rows = slice(start, start + 1000)
        reg.partial_fit(X[rows], y[rows], sensitive_features={"sex": sex[rows]})
    assert reg.waiting_ is None
    assert reg.score(X, y) == pytest.approx(LinearRegression().fit(X, y).score(X, y), abs=0.01)
    again = pickle.loads(pickle.dumps(reg))
    for stream in (reg, again):
        stream.partial_fit(X[:500], y[:500], sensitive_features={"sex": sex[:500]})
    np.testing.assert_array_equal(reg.predict(X), again.predict(X))
    kept = FairFrontRegressor(n_models=10, window=800)
    kept.partial_fit(X[:500], np.full(500, 3.0), sensitive_features={"sex": sex[:500]})
    assert kept.waiting_ is not None and not hasattr(kept, "front_")
    kept.partial_fit(X[500:1500], y[500:1500], sensitive_features={"sex": sex[500:1500]})
    assert kept.waiting_ is None and kept.score(X, y) > 0.5


def test_problems_of_numbers():
    X, y, sex, _ = salaries(700)
    data = Dataset(X, y, sensitive_features={"sex": sex}, numeric=True)
    problem = Problem(data, ["squared_error(lambda=0)", "mean_difference(sex, beta=8)", "absolute_error(lambda=0)"])
    x = np.random.default_rng(0).normal(size=problem.n_params)
    # At 0, all predictions are the mean, so the mean squared error is 1 standard deviation squared.
    assert problem.values(np.zeros(problem.n_params))[0] == pytest.approx(1)
    encoded = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(y))])
    assert problem.values(x)[0] == pytest.approx(np.mean((encoded @ x - (y - y.mean()) / y.std()) ** 2))
    step = 1e-6
    for j in range(problem.n_params):
        shift = step * np.eye(problem.n_params)[j]
        slope = (problem.values(x + shift) - problem.values(x - shift)) / (2 * step)
        # Central differences are off by about step² and by rounding divided by step.
        np.testing.assert_allclose(problem.gradients(x)[:, j], slope, atol=1e-8)
    exact = trace(Problem(data, ["squared_error", "score_covariance(sex)"]), n_models=30)
    assert exact.gaps.max() < 1e-6
    assert len(pf_smg(problem, n_models=30).values) > 5


def test_own_objectives_get_standardized_numbers():
    X, y, sex, _ = salaries(700)

    def log_cosh(scores, rows):
        residual = scores - rows.labels[:, None]
        return np.logaddexp(residual, -residual) - np.log(2), np.tanh(residual)

    data = Dataset(X, y, sensitive_features={"sex": sex}, numeric=True)
    problem = Problem(data, [Objective("log_cosh", log_cosh), "mean_difference(sex)"])
    expected = np.mean(np.log(np.cosh((y - y.mean()) / y.std())))
    assert problem.values(np.zeros(problem.n_params))[0] == pytest.approx(expected, rel=1e-12)
    reg = FairFrontRegressor([Objective("log_cosh", log_cosh, penalty=1e-4), "mean_difference(sex)"], n_models=15)
    reg.fit(X, y, sensitive_features={"sex": sex})
    assert reg.score(X, y) > 0.6 and len(reg.front_) > 5
    labelled = Objective("positive", log_cosh, attribute="sex", label=1)
    with pytest.raises(ValueError, match="the target is a number; remove label"):
        FairFrontRegressor(["squared_error", labelled]).fit(X, y, sensitive_features={"sex": sex})


def test_any_number_of_threads_gives_the_same_bytes():
    fronts = [fitted(n_jobs=n, sensitive=("sex", "race"), n=5000)[0].front_.to_numpy() for n in (1, 2, 5)]
    np.testing.assert_array_equal(fronts[0], fronts[1])
    np.testing.assert_array_equal(fronts[0], fronts[2])


def test_cross_validation_and_grid_search():
    import sklearn

    X, y, sex, _ = salaries(600)
    with sklearn.config_context(enable_metadata_routing=True):
        reg = FairFrontRegressor(n_models=10).set_fit_request(sensitive_features=True)
        assert (cross_val_score(reg, X, y, cv=3, params={"sensitive_features": sex}) > 0.6).all()
        bounds = [f"mean_difference(sensitive_feature_0) <= {bound}" for bound in (2, 8)]
        search = GridSearchCV(reg.set_params(confidence=None), {"require": bounds}, cv=3)
        search.fit(X, y, sensitive_features=sex)
        assert search.best_params_["require"].endswith("8"), "the looser bound has the smaller error"


def test_missing_values_and_categories():
    X, y, sex, _ = salaries(800)
    table = pd.DataFrame(X, columns=["income", "age", "debt"])
    table.loc[::7, "income"] = np.nan
    table["region"] = np.where(np.arange(800) % 3, "north", "south")
    reg = FairFrontRegressor(n_models=10).fit(table, y, sensitive_features={"sex": sex})
    assert np.isfinite(reg.predict(table)).all()
    groups = pd.Series(np.where(np.arange(800) % 10, sex, None), name="sex")
    for policy in ("group", "loss-only", "drop"):
        reg = FairFrontRegressor(n_models=10, missing_sensitive=policy).fit(table, y, sensitive_features=groups)
        assert reg.score(table, y) > 0.4


def test_the_certificate_is_json():
    reg, *_ = fitted(n=3000, holdout_fraction=0.5, require="mean_difference(sex) <= 4", exact=False)
    json.dumps(reg.certificate_)
    assert json.loads(reg.select(model_id=reg.selected_).to_json())["format"].startswith("fairfront")


def test_plots_show_the_error_and_the_difference():
    reg, *_ = fitted(n=400, n_models=8)
    assert not any(name.startswith("distribution.") for name in [*reg.front_, *reg.unmitigated_])
    ax = reg.plot()
    assert ax.get_ylabel() == "train.rmse" and ax.get_xlabel() == "train.mean_difference(sex)"
    # Measures do not correspond to every objective.
    ax = fitted(n=400, n_models=8, objectives=["quantile_loss(q=0.3)", "score_covariance(sex)"])[0].plot()
    assert ax.get_ylabel().startswith("objective.quantile_loss")
