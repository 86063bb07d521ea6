"""The state of an estimator after errors, interrupts and changed parameters."""

import pickle
import threading

import numpy as np
import pytest
from people import frame, people
from sklearn.base import clone

from fairfront import Dataset, FairClassifier, FairFrontClassifier, FairFrontWarning, Interrupted, Problem

pytestmark = pytest.mark.filterwarnings("ignore::fairfront.FairFrontWarning")


def fitted(n=400, **params):
    X, y, sex, _ = people(n)
    clf = FairFrontClassifier(**{"n_models": 12, **params}).fit(X, y, sensitive_features={"sex": sex})
    return clf, X, y, sex


def test_a_fit_that_fails_leaves_the_estimator_as_it_was():
    clf, X, y, sex = fitted()
    before = clf.predict(X)
    for params, rows in [({"solver": "typo"}, X), ({}, X[:, :2]), ({"objectives": ["nothing"]}, X)]:
        clf.set_params(solver="auto", objectives=None).set_params(**params)
        with pytest.raises(ValueError):
            clf.fit(rows, np.where(y, "z", "a") if params else np.zeros(len(y)), sensitive_features={"sex": sex})
        np.testing.assert_array_equal(clf.predict(X), before)
        assert list(clf.classes_) == [0, 1] and clf.n_features_in_ == 3


def test_a_stream_that_waits_leaves_the_front_as_it_was():
    clf, X, y, sex = fitted()
    before = clf.predict(X)
    with pytest.warns(FairFrontWarning, match="starts from scratch"):
        clf.partial_fit(X[:5], ["a"] * 5, classes=["a", "b"], sensitive_features={"sex": sex[:5]})
    assert clf.waiting_
    np.testing.assert_array_equal(clf.predict(X), before)


def test_requirements_are_read_before_any_work():
    calls = []
    with pytest.raises(ValueError, match="accuracy => 0.8"):
        fitted(require="accuracy => 0.8", progress=calls.append, solver="pf-smg")
    assert calls == []
    with pytest.raises(TypeError, match="require=5"):
        fitted(require=5)


def test_no_model_is_in_use_if_no_model_meets_the_requirement(tmp_path):
    clf, X, y, sex = fitted()
    clf.set_params(require="accuracy >= 0.999")
    with pytest.raises(ValueError, match="comes nearest"):
        clf.fit(X, y, sensitive_features={"sex": sex})
    assert not hasattr(clf, "selected_")
    with pytest.raises(ValueError, match="no model is in use"):
        clf.to_onnx()
    import matplotlib

    matplotlib.use("agg")
    clf.plot()
    clf.save(tmp_path / "run")
    again = FairFrontClassifier.load(tmp_path / "run")
    np.testing.assert_array_equal(again.front_.to_numpy(), clf.front_.to_numpy())
    assert again.select(knee=True).model_id_ == clf.select(knee=True).model_id_


class Stop(Exception):
    pass


@pytest.mark.parametrize("require", [None, "accuracy >= 0.999"])
def test_exceptions_of_a_callback_take_precedence_over_requirements(require):
    raised = Stop()

    def progress(told):
        raise raised

    with pytest.raises(Stop) as caught:
        fitted(2000, solver="pf-smg", progress=progress, require=require)
    assert caught.value is raised


@pytest.mark.parametrize("require", [None, "accuracy >= 0.999"])
def test_an_interrupted_model_is_fitted_with_the_front_found_so_far(require):
    X, y, sex, _ = people(2000)
    front = FairFrontClassifier(solver="pf-smg", progress=lambda told: _interrupt())
    model = FairClassifier(front, best="accuracy")
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(X, y, sensitive_features=sex)
    assert isinstance(caught.value, Interrupted) and len(caught.value.front) > 0
    assert model.predict(X).shape == y.shape


def _interrupt():
    import _thread

    _thread.interrupt_main()


def test_a_running_stream_raises_an_error_instead_of_a_deadlock():
    X, y, sex, _ = people(3000)
    said = []

    def progress(told):
        for ask in (lambda: clf._live.live.waiting, lambda: pickle.dumps(clf._live.live)):
            try:
                ask()
            except RuntimeError as error:
                said.append(str(error))

    clf = FairFrontClassifier(solver="pf-smg", n_models=60)
    clf.partial_fit(X[:1000], y[:1000], sensitive_features={"sex": sex[:1000]})
    clf.progress = progress
    done = threading.Thread(
        target=lambda: clf.partial_fit(X[1000:], y[1000:], sensitive_features={"sex": sex[1000:]}), daemon=True
    )
    done.start()
    done.join(timeout=60)
    assert not done.is_alive(), "deadlock"
    assert said and "partial_fit is running" in said[0]
    clf.progress = None
    assert pickle.loads(pickle.dumps(clf))._live.live.counts[1] == 3000


def test_batches_may_have_different_types():
    X, y, sex, _ = frame(600)
    X = X[["income", "age", "debt"]]
    clf = FairFrontClassifier(n_models=10)
    clf.partial_fit(X[:300], y[:300].rename("ok"), sensitive_features={"sex": sex[:300]})
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        clf.partial_fit(X[300:].to_numpy(), y[300:].to_numpy(), sensitive_features={"sex": sex[300:].to_numpy()})
    assert clf._live.live.counts[1] == 600


def test_parameters_that_the_first_batch_fixed_cannot_change():
    X, y, sex, _ = people(600)
    clf = FairFrontClassifier(n_models=10, window=500)
    clf.partial_fit(X[:300], y[:300], sensitive_features={"sex": sex[:300]})
    clf.set_params(require="accuracy >= 0.5", n_jobs=1)
    clf.partial_fit(X[300:400], y[300:400], sensitive_features={"sex": sex[300:400]})
    clf.set_params(window=10)
    with pytest.raises(ValueError, match="window=10 was 500"):
        clf.partial_fit(X[400:], y[400:], sensitive_features={"sex": sex[400:]})


def test_a_selected_model_contains_no_rows():
    X, y, sex, _ = people(3000)
    clf = FairFrontClassifier(n_models=10)
    clf.partial_fit(X, y, sensitive_features={"sex": sex})
    model = clf.select(knee=True)
    assert len(pickle.dumps(model)) < len(pickle.dumps(clf)) / 3
    assert X[17, 0].tobytes() in pickle.dumps(clf) or len(pickle.dumps(clf)) > 50_000
    assert X[17, 0].tobytes() not in pickle.dumps(model)
    model.set_params(front__n_models=3)
    assert clf.n_models == 10


def test_files_are_known_by_name_after_loading(tmp_path):
    X, y, sex, _ = frame(400)
    table = X.assign(approved=y, sex=sex)
    table.to_csv(tmp_path / "people.csv", index=False)
    clf = FairFrontClassifier(n_models=10).fit(tmp_path / "people.csv", "approved", sensitive_features="sex")
    clf.save(tmp_path / "run")
    again = FairFrontClassifier.load(tmp_path / "run")
    np.testing.assert_array_equal(again.predict(table), clf.predict(table))
    np.testing.assert_array_equal(
        clf.select(knee=True).predict(table), clf.select(knee=True).predict(tmp_path / "people.csv")
    )


def test_a_data_set_keeps_its_numbers():
    X, y, sex, _ = people(300)
    expected = Problem(Dataset(X.copy(), y, sensitive_features={"sex": sex}), ["log_loss", "score_covariance(sex)"])
    data = Dataset(X, y, sensitive_features={"sex": sex})
    X *= 0
    point = [0.3, -0.2, 0.1, 0.5]
    problem = Problem(data, ["log_loss", "score_covariance(sex)"])
    np.testing.assert_array_equal(problem.values(point), expected.values(point))


def test_a_clone_of_a_fitted_estimator_is_not_fitted():
    clf, X, _, _ = fitted()
    assert not clone(clf).__sklearn_is_fitted__()
    assert not clone(clf.select(knee=True)).__sklearn_is_fitted__()


WRONG = [
    ({"n_models": -1}, ValueError, "n_models=-1: expected a whole number of at least 1"),
    ({"n_models": 2.5}, TypeError, "n_models=2.5"),
    ({"n_models": "5"}, TypeError, "n_models='5'"),
    ({"pool_rare": -1}, ValueError, "pool_rare=-1"),
    ({"random_state": 2**64}, ValueError, "cannot be used to seed"),
    ({"n_jobs": "2"}, TypeError, "n_jobs='2'"),
    ({"settings": [1]}, TypeError, "expected a dict"),
    ({"max_seconds": "1"}, ValueError, "max_seconds='1'"),
    ({"validation_fraction": None}, ValueError, "validation_fraction=None"),
    ({"progress": "x"}, TypeError, "progress='x'"),
    ({"solver": None}, TypeError, "solver=None"),
    ({"best": 3}, TypeError, "best=3"),
]


@pytest.mark.parametrize("params,error,message", WRONG)
def test_parameters_of_the_wrong_kind(params, error, message):
    with pytest.raises(error, match=message):
        fitted(100, **params)


@pytest.mark.parametrize("given", [{"n_models": np.int64(9)}, {"n_models": 9.0}, {"settings": {"sums": np.float64(8)}}])
def test_numbers_of_numpy_are_numbers(given):
    fitted(200, solver="weighted", **given)


def test_settings_may_have_underscores():
    fitted(300, solver="pf-smg", settings={"max_steps": 5})


def test_the_report_opens_at_the_model_in_use():
    clf, _, _, _ = fitted(require="demographic_parity_ratio(sex) >= 0.8")
    page = clf._page()
    assert '"start":"require=demographic_parity_ratio%28sex%29+%3E%3D+0.8&best=accuracy"' in page.replace(
        "\\u0026", "&"
    )
