"""Fit a front, choose a model by the four-fifths rule, and export it."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from fairfront import FairClassifier, FairFrontClassifier
from fairfront.metrics import demographic_parity_ratio


def applicants(n: int, seed: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], list[str]]:
    """Simulate applicants whose income depends on their group."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["first", "second"], size=n)
    income = rng.normal(size=n) + (group == "first")
    years = rng.exponential(size=n)
    repaid = income + 0.5 * years + rng.normal(size=n) > 1.0
    return np.column_stack([income, years]), repaid, group.tolist()


def main(folder: str) -> None:
    """Fit a front, certify and choose a model, and export it."""
    X, y, group = applicants(12000, seed=0)
    rule = "demographic_parity_ratio(group) >= 0.8"
    front = FairFrontClassifier(require=rule, validation_fraction=0.2, holdout_fraction=0.4, random_state=0)
    front.fit(X, y, sensitive_features={"group": group})
    print(f"{len(front.front_)} models")

    model: FairClassifier = front.select(require=rule)
    print(model.reason_)

    new_X, new_y, new_group = applicants(3000, seed=1)
    decided = model.predict(new_X)
    accuracy = float((decided == new_y).mean())
    ratio = demographic_parity_ratio(new_y, decided, sensitive_features=new_group)
    print(f"on new applicants: accuracy {accuracy:.3f}, ratio of selection rates {ratio:.3f}")

    model.to_onnx(f"{folder}/model.onnx")
    front.report(f"{folder}/report.html")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
