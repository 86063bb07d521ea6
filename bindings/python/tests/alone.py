"""Test the package with only numpy; runs in its own environment, not with pytest."""

import importlib.util
import pickle
import subprocess
import sys
import time
import warnings

import numpy as np

for name in ["sklearn", "pandas", "scipy", "pyarrow", "polars", "matplotlib", "tqdm"]:
    assert importlib.util.find_spec(name) is None, f"{name} is installed; use an environment with only numpy"

start = time.perf_counter()
import fairfront  # noqa: E402

print(f"import fairfront on top of numpy: {1000 * (time.perf_counter() - start):.1f} ms")
from fairfront import FairClassifier, FairFrontClassifier, FairFrontRegressor, FairRegressor  # noqa: E402

warnings.simplefilter("error")
rng = np.random.default_rng(0)
sex = rng.choice(["f", "m"], size=2000)
X = rng.normal(size=(2000, 2))
X[:, 0] += 0.5 * (sex == "m")
y = X[:, 0] + rng.normal(size=2000) > 0.5

clf = FairFrontClassifier(n_models=15, require="demographic_parity_ratio(sex) >= 0.7", confidence=None)
clf.fit(X, y, sensitive_features={"sex": sex})
assert isinstance(clf.front_, dict)
assert len(clf.front_["train.accuracy"]) == len(clf.predictors_)
assert clf.score(X, y) == clf.front_["train.accuracy"][clf.selected_ - 1]
assert "uses model" in repr(clf)
assert clf.get_params()["n_models"] == 15
model = clf.select(knee=True)
again = FairClassifier(clf, knee=True).fit(X, y, sensitive_features={"sex": sex})
assert (again.predict(X) == model.predict(X)).all()
assert again.get_params()["front__n_models"] == 15
assert (pickle.loads(pickle.dumps(clf)).predict(X) == clf.predict(X)).all()
difference = fairfront.metrics.demographic_parity_difference(y, model.predict(X), sensitive_features=sex)
assert abs(difference - model.values_["train.demographic_parity_difference(sex)"]) < 1e-12
try:
    clf.plot()
except ImportError as error:
    assert "matplotlib" in str(error)
stream = FairFrontClassifier(n_models=10)
stream.partial_fit(X[:1000], y[:1000], sensitive_features={"sex": sex[:1000]})
stream.partial_fit(X[1000:], y[1000:], sensitive_features={"sex": sex[1000:]})
number = 3 * X[:, 0] + rng.normal(size=2000)
reg = FairFrontRegressor(n_models=15, require="mean_difference(sex) <= 1", confidence=None)
reg.fit(X, number, sensitive_features={"sex": sex})
assert abs(reg.score(X, number) - reg.front_["train.r2"][reg.selected_ - 1]) < 1e-9
assert abs(reg.score(X, number) - fairfront.metrics.r2_score(number, reg.predict(X))) < 1e-12
assert len(FairRegressor(reg, knee=True).fit(X, number, sensitive_features={"sex": sex}).predict(X)) == 2000
assert (pickle.loads(pickle.dumps(reg)).predict(X) == reg.predict(X)).all()
version = subprocess.run([f"{sys.prefix}/bin/fairfront", "--version"], capture_output=True, text=True)
assert version.stdout == f"fairfront {fairfront.__version__}\n", version
print("the package works with only numpy")
