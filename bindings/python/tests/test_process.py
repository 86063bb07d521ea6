"""Threads, forks, pickles and interrupts during a fit."""

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import joblib
import numpy as np
import pytest
from people import frame, people

from fairfront import FairFrontClassifier, Interrupted


def fit(n=600, **params):
    X, y, sex, _ = people(n)
    return FairFrontClassifier(**{"n_models": 12, **params}).fit(X, y, sensitive_features={"sex": sex})


def test_any_number_of_threads_gives_the_same_bytes():
    solvers = [
        {},
        {"solver": "pf-smg", "settings": {"rounds": 3}},
        {"objectives": ["log_loss", "score_covariance(sex)"]},
    ]
    for params in solvers:
        params.pop("settings", None)
        params = {**params, "max_seconds": None}
        fronts = [fit(n_jobs=n, **params).front_.to_numpy() for n in (1, 2, 5)]
        np.testing.assert_array_equal(fronts[0], fronts[1])
        np.testing.assert_array_equal(fronts[0], fronts[2])


def test_fits_in_several_threads_of_python():
    expected = fit().front_.to_numpy()
    found = {}

    def work(i):
        found[i] = fit().front_.to_numpy()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for front in found.values():
        np.testing.assert_array_equal(front, expected)


def test_python_threads_run_during_a_fit():
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    fit(4000, solver="pf-smg", max_seconds=1.0)
    done.set()
    thread.join()
    assert np.diff(ticks).max() < 0.5, "a Python thread was blocked"


def _front(_):
    return fit().front_.to_numpy()


def test_forked_processes_can_fit():
    expected = fit().front_.to_numpy()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for front in pool.map_async(_front, range(3)).get(timeout=120):
            np.testing.assert_array_equal(front, expected)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(backend):
    expected = fit().front_.to_numpy()
    with joblib.parallel_config(backend=backend):
        for front in joblib.Parallel(n_jobs=2)(joblib.delayed(_front)(i) for i in range(3)):
            np.testing.assert_array_equal(front, expected)


def test_pickles_and_copies_decide_the_same():
    X, y, sex, _ = frame(600)
    clf = FairFrontClassifier(n_models=12, require="demographic_parity_ratio(sex) >= 0.7").fit(
        X, y, sensitive_features=sex
    )
    for again in [pickle.loads(pickle.dumps(clf)), copy.deepcopy(clf), copy.copy(clf)]:
        np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
        np.testing.assert_array_equal(again.front_.to_numpy(), clf.front_.to_numpy())
        assert repr(again) == repr(clf)
    model = clf.select(knee=True)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert b"smith" in pickle.dumps(model), "a pickle contains categories"
    damaged = pickle.dumps(clf).replace(b"PAR1", b"PAR2")
    with pytest.raises(OSError, match="changed after it was written"):
        pickle.loads(damaged)


def test_a_pickle_contains_no_row():
    X, y, sex, _ = frame(600)
    X["income"] = np.arange(600) * 1.23456789 + 1e6
    pickled = pickle.dumps(FairFrontClassifier(n_models=12).fit(X, y, sensitive_features=sex))
    for value in X["income"].to_numpy()[[5, 123, 400]]:
        assert np.float64(value).tobytes() not in pickled
        assert str(value).encode() not in pickled


def test_save_and_load(tmp_path):
    X, y, sex, _ = frame(600)
    clf = FairFrontClassifier(n_models=12, require="demographic_parity_ratio(sex) >= 0.7")
    clf.fit(X, np.where(y, "good", "bad"), sensitive_features=sex)
    clf.save(tmp_path / "run")
    again = FairFrontClassifier.load(tmp_path / "run")
    assert again.get_params() == clf.get_params()
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    np.testing.assert_array_equal(again.front_.to_numpy(), clf.front_.to_numpy())
    with pytest.raises(OSError, match="already contains a run"):
        clf.save(tmp_path / "run")
    clf.save(tmp_path / "run", force=True)
    for name in ["front.parquet", "encoding.json", "estimator.json", "run.json"]:
        path = tmp_path / "run" / name
        whole = path.read_bytes()
        digit = whole.rindex(b"1")
        path.write_bytes(whole[:digit] + b"2" + whole[digit + 1 :])
        with pytest.raises(OSError, match=f"{name}: .*the file was changed after it was written"):
            FairFrontClassifier.load(tmp_path / "run")
        path.write_bytes(whole)
    (tmp_path / "run" / "estimator.json").unlink()
    with pytest.raises(OSError, match="estimator.json: .*incomplete"):
        FairFrontClassifier.load(tmp_path / "run")


def test_a_callback_sees_progress_and_can_stop():
    told = []
    fit(2000, solver="pf-smg", max_seconds=1.5, progress=told.append)
    assert told and set(told[0]) == {"round", "share", "n_models", "hypervolume", "seconds"}
    assert [t["round"] for t in told] == sorted(t["round"] for t in told)
    clf = fit(20_000, solver="pf-smg", n_models=100_000, progress=lambda told: told["seconds"] > 0.3)
    assert clf.stop_reason_ == "stopped"
    assert len(clf.front_) > 0


def test_exceptions_of_a_callback_are_raised_and_the_front_is_kept():
    class Mine(Exception):
        pass

    raised = Mine("no more")

    def callback(told):
        raise raised

    X, y, sex, _ = people(2000)
    clf = FairFrontClassifier(solver="pf-smg", progress=callback)
    with pytest.raises(Mine) as caught:
        clf.fit(X, y, sensitive_features=sex)
    assert caught.value is raised
    assert len(clf.front_) > 0


def test_a_bar(capsys):
    fit(progress=True)
    assert "FairFrontClassifier: 100%" in capsys.readouterr().err


SLOW = """
    import sys, time, numpy as np
    sys.path.insert(0, {tests!r})
    from people import people
    from fairfront import FairFrontClassifier, Interrupted
    X, y, sex, _ = people(40_000)
    clf = FairFrontClassifier(solver="pf-smg", n_models=100_000)
    print("begin", flush=True)
    try:
        clf.fit(X, y, sensitive_features=sex)
    except Interrupted as stopped:
        print("interrupted", time.time(), len(stopped.front), len(clf.front_), clf.predict(X[:5]).tolist(), flush=True)
"""


def test_ctrl_c_ends_a_fit_soon_and_keeps_the_front():
    script = textwrap.dedent(SLOW).format(tests=os.path.dirname(__file__))
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begin\n"
    time.sleep(2.0)
    child.send_signal(signal.SIGINT)
    sent = time.time()
    said = child.stdout.readline().split()
    child.wait(timeout=60)
    assert said[0] == "interrupted" and int(said[2]) > 0 and said[2] == said[3]
    # The documented limit is one second; busy machines need longer.
    assert float(said[1]) - sent < 10.0


LARGE = """
    import sys
    sys.path.insert(0, {tests!r})
    from people import people
    from fairfront import Dataset, FairFrontClassifier, Problem, pf_smg
    from fairfront.metrics import MetricFrame, selection_rate
    X, y, sex, _ = people({rows})
    def fit():
        FairFrontClassifier(n_models=100_000).fit(X, y, sensitive_features=sex)
    def partial_fit():
        clf = FairFrontClassifier(solver="pf-smg", n_models=100_000)
        while True:
            clf.partial_fit(X, y, sensitive_features=sex, classes=[0, 1])
    def solver():
        problem = Problem(Dataset(X, y, sensitive_features={{"sex": sex}}), ["error_rate", "demographic_parity(sex)"])
        pf_smg(problem, n_models=10**7, max_steps=10**9, patience=0)
    def predict():
        clf = FairFrontClassifier(n_models=4).fit(X[:500], y[:500], sensitive_features=sex[:500])
        while True:
            clf.predict(X)
    def metrics():
        MetricFrame(metrics=selection_rate, y_true=y, y_pred=y, sensitive_features=sex, n_boot=10**6)
    print("begin", flush=True)
    try:
        {work}()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("delay", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("work", ["fit", "partial_fit", "solver", "predict", "metrics"])
def test_ctrl_c_ends_long_calls_on_large_tables(work, delay):
    script = textwrap.dedent(LARGE).format(tests=os.path.dirname(__file__), rows=300_000, work=work)
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "begin\n"
        time.sleep(delay)
        child.send_signal(signal.SIGINT)
        sent = time.time()
        # The documented limit is two seconds plus one pass over the rows; this test detects hangs.
        assert child.wait(timeout=30) == 0
        print(f"{work} after {delay} s: ended {time.time() - sent:.2f} s later")
        assert child.stdout.readline() == "interrupted\n"
    finally:
        child.kill()


def test_a_time_limit_without_a_model_is_an_error():
    X, y, sex, _ = people(1_000_000)
    clf = FairFrontClassifier(max_seconds=1e-6)
    with pytest.raises(TimeoutError, match="before a model was found; set a larger max_seconds"):
        clf.fit(X, y, sensitive_features=sex)
    assert not hasattr(clf, "front_")


def test_interrupted_is_a_keyboard_interrupt():
    assert issubclass(Interrupted, KeyboardInterrupt)


def test_memory_is_that_of_the_encoded_rows():
    script = textwrap.dedent("""
        import resource, numpy as np
        from fairfront import FairFrontClassifier
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200_000, 100))
        sex = (X[:, 0] > 0).astype(int)
        y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        before = peak()
        clf = FairFrontClassifier(["log_loss", "score_covariance(sex)"], solver="pf-smg", n_models=10, max_seconds=20.0)
        clf.fit(X, y, sensitive_features={"sex": sex})
        print(before, peak(), X.nbytes / 2**20)
    """)
    before, after, size = map(float, subprocess.check_output([sys.executable, "-c", script], text=True).split())
    # The encoded blocks are as large as X; labels, groups and the memory of the solver are small.
    assert after - before < 1.5 * size, f"{after - before:.0f} MiB for an X of {size:.0f} MiB"
