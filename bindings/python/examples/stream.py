"""Update a front as batches of rows arrive, and forget old rows."""

from __future__ import annotations

import numpy as np

from fairfront import FairFrontClassifier


def main() -> None:
    """Feed ten batches; the population changes after five."""
    rng = np.random.default_rng(0)
    front = FairFrontClassifier(window=3000, n_models=40)
    for batch in range(10):
        group = rng.integers(2, size=600)
        X = rng.normal(size=(600, 3))
        X[:, 0] += group * (1.0 if batch < 5 else -1.0)
        y = X[:, 0] + X[:, 1] + rng.normal(size=600) > 0.5
        front.partial_fit(X, y, classes=[False, True], sensitive_features={"group": group})
        model = front.select(require="demographic_parity_difference(group) <= 0.05")
        print(f"batch {batch}: {len(front.front_)} models, accuracy {model.values_['train.accuracy']:.3f}")


if __name__ == "__main__":
    main()
