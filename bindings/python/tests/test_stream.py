"""partial_fit: a front that is updated with batches of rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from people import frame, people

import fairfront
from fairfront import FairFrontClassifier


def feed(clf, X, y, sex, size=500, **more):
    for start in range(0, len(y), size):
        rows = slice(start, start + size)
        clf.partial_fit(X[rows], y[rows], classes=[0, 1], sensitive_features={"sex": sex[rows]}, **more)
    return clf


def volume(clf, X, y, sex):
    """The hypervolume of a front on these rows."""
    points = []
    for model in clf.predictors_:
        decided = model.predict(X)
        difference = fairfront.metrics.demographic_parity_difference(y, decided, sensitive_features=sex)
        points.append([1 - (decided == y).mean(), difference])
    return fairfront.hypervolume(np.array(points), ref=[0.5, 0.5])


def test_batches_approach_the_front_of_all_rows():
    X, y, sex, _ = people(3000)
    stream = feed(FairFrontClassifier(n_models=40), X, y, sex)
    whole = FairFrontClassifier(n_models=40).fit(X, y, sensitive_features={"sex": sex})
    assert volume(stream, X, y, sex) > 0.98 * volume(whole, X, y, sex)


def test_a_window_forgets():
    X, y, sex, _ = people(2000, seed=1)
    turned = np.where(sex == "f", "m", "f")
    clf = FairFrontClassifier(n_models=30, window=1000)
    feed(clf, np.vstack([X, X]), np.r_[y, y], np.r_[sex, turned])
    late = FairFrontClassifier(n_models=30).fit(X[-1000:], y[-1000:], sensitive_features={"sex": turned[-1000:]})
    assert volume(clf, X, y, turned) > 0.95 * volume(late, X, y, turned)
    assert clf._live.live.counts == (8, 4000, 1000)


def test_a_pickle_in_the_middle_changes_nothing():
    X, y, sex, _ = people(1500)
    straight = feed(FairFrontClassifier(n_models=20, reservoir=700), X, y, sex)
    broken = feed(FairFrontClassifier(n_models=20, reservoir=700), X[:1000], y[:1000], sex[:1000])
    broken = feed(pickle.loads(pickle.dumps(broken)), X[1000:], y[1000:], sex[1000:])
    np.testing.assert_array_equal(straight.front_.to_numpy(), broken.front_.to_numpy())


def test_new_categories_and_groups_are_learned():
    X, y, sex, race = frame(1200)
    X["job"] = X["job"].astype(object)
    X.loc[600:, "job"] = np.where(np.arange(600) % 3 == 0, "pilot", X.loc[600:, "job"])
    race = race.where((race != "c") | (np.arange(1200) >= 600), "a")
    clf = FairFrontClassifier(n_models=20)
    for start in (0, 600):
        rows = slice(start, start + 600)
        clf.partial_fit(X.iloc[rows], y.iloc[rows], classes=[0, 1], sensitive_features=race.iloc[rows])
    assert "job=pilot" in clf.select(knee=True).coefficients_
    assert any("(race=c)" in name for name in clf.front_.columns)
    assert clf.predict(X).shape == (1200,)


def test_rows_of_one_class_wait():
    X, y, sex, _ = people(800)
    clf = FairFrontClassifier(n_models=15)
    positive = y == 1
    clf.partial_fit(X[positive], y[positive], classes=[0, 1], sensitive_features={"sex": sex[positive]})
    assert clf.waiting_
    with pytest.raises(ValueError, match="not fitted"):
        clf.predict(X)
    clf.partial_fit(X[~positive], y[~positive], sensitive_features={"sex": sex[~positive]})
    assert clf.waiting_ is None
    assert clf.score(X, y) > 0.7


def test_weights_arrive_too():
    X, y, sex, _ = people(1000)
    clf = FairFrontClassifier(n_models=15)
    for start in (0, 500):
        rows = slice(start, start + 500)
        clf.partial_fit(
            X[rows], y[rows], classes=[0, 1], sensitive_features={"sex": sex[rows]}, sample_weight=np.full(500, 2.0)
        )
    np.testing.assert_allclose(clf.score(X, y), clf.front_["train.accuracy"][clf.selected_])


def test_invalid_batches_are_rejected_and_change_nothing():
    X, y, sex, _ = frame(900)
    clf = FairFrontClassifier(n_models=15)
    clf.partial_fit(X[:600], y[:600], sensitive_features=sex[:600])
    before = clf.front_.to_numpy()
    other = X[600:].assign(income="much")
    with pytest.raises(ValueError, match="income"):
        clf.partial_fit(other, y[600:], sensitive_features=sex[600:])
    with pytest.raises(ValueError, match="feature names"):
        clf.partial_fit(X[600:].drop(columns=["job"]), y[600:], sensitive_features=sex[600:])
    with pytest.raises(ValueError, match="not one of the classes"):
        clf.partial_fit(X[600:], y[600:] + 5, sensitive_features=sex[600:])
    with pytest.raises(ValueError, match="sex"):
        clf.partial_fit(X[600:], y[600:])
    with pytest.raises(ValueError, match="not the same as on last call"):
        clf.partial_fit(X[600:], y[600:], classes=["a", "b"], sensitive_features=sex[600:])
    np.testing.assert_array_equal(clf.front_.to_numpy(), before)
    clf.partial_fit(X[600:], y[600:], sensitive_features=sex[600:])
    assert clf._live.live.counts[1] == 900


def test_window_and_reservoir_together_are_rejected():
    X, y, sex, _ = people(200)
    with pytest.raises(ValueError, match="window and reservoir"):
        FairFrontClassifier(window=100, reservoir=100).partial_fit(X, y, sensitive_features={"sex": sex})


def test_labels_in_a_pandas_series():
    X, y, sex, _ = frame(400)
    clf = FairFrontClassifier(n_models=10).partial_fit(X, pd.Series(np.where(y, "yes", "no")), sensitive_features=sex)
    assert set(clf.predict(X)) <= {"yes", "no"}


def test_streams_of_arrow_are_read_once():
    import pyarrow as pa

    X, y, sex, _ = frame(600)
    table = pa.Table.from_pandas(X, preserve_index=False)
    clf = FairFrontClassifier(n_models=10)
    for rows in (slice(0, 300), slice(300, 600)):
        part = table.slice(rows.start, 300)
        reader = pa.RecordBatchReader.from_batches(part.schema, part.to_batches())
        clf.partial_fit(reader, y[rows], classes=[0, 1], sensitive_features=sex[rows])
    assert clf._live.live.counts[1] == 600


def test_a_feature_called_like_the_target_does_not_confuse_batches():
    X, y, sex, _ = people(600)
    table = pd.DataFrame(X, columns=["a", "y", "b"])
    clf = FairFrontClassifier(n_models=10)
    clf.partial_fit(table[:300], y[:300], sensitive_features={"sex": sex[:300]})
    with pytest.warns(UserWarning, match="valid feature names"):
        clf.partial_fit(X[300:], y[300:], sensitive_features={"sex": sex[300:]})
    assert clf._live.live.counts[1] == 600


def test_strings_in_a_list_are_classes():
    X, y, sex, _ = people(200)
    clf = FairFrontClassifier(n_models=5).fit(X, np.where(y, "yes", "no").tolist(), sensitive_features={"sex": sex})
    assert clf.classes_.dtype.kind == "U"
