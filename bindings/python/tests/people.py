"""Simulated people, whose groups differ in a feature that affects the target."""

import numpy as np


def people(n=1500, seed=0):
    """Simulate features, a target and two sensitive features."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], size=n, p=[0.4, 0.6])
    race = rng.choice(["a", "b", "c"], size=n, p=[0.5, 0.3, 0.2])
    income = rng.normal(size=n) + 0.9 * (sex == "m") + 0.4 * (race == "a")
    age = rng.normal(size=n)
    debt = rng.normal(size=n)
    y = (income + 0.5 * age - 0.7 * debt + rng.normal(size=n) > 0.4).astype(int)
    return np.column_stack([income, age, debt]), y, sex, race


def frame(n=1500, seed=0):
    """Simulate the same as a pandas frame with a category, a string, a nullable number and a flag."""
    import pandas as pd

    X, y, sex, race = people(n, seed)
    rng = np.random.default_rng(seed + 1)
    table = pd.DataFrame(X, columns=["income", "age", "debt"])
    table["region"] = pd.Categorical(rng.choice(["north", "south", "west"], size=n))
    table["job"] = rng.choice(["clerk", "smith", "none"], size=n)
    table["children"] = pd.array(rng.integers(0, 4, size=n), dtype="Int64")
    table["owner"] = rng.random(n) < 0.3
    return table, pd.Series(y, name="approved"), pd.Series(sex, name="sex"), pd.Series(race, name="race")


def levels(n=1500, seed=0):
    """Simulate features, one of three ordered classes, and two sensitive features."""
    X, _, sex, race = people(n, seed)
    noise = np.random.default_rng(seed + 3).normal(size=n)
    level = X[:, 0] + 0.5 * X[:, 1] - 0.7 * X[:, 2] + 0.4 * X[:, 1] * (X[:, 0] > 0) + noise
    return X, np.array(["low", "mid", "high"])[np.digitize(level, [-0.3, 1.2])], sex, race


def salaries(n=1500, seed=0):
    """Simulate features, a number whose mean differs between groups, and two sensitive features."""
    X, _, sex, race = people(n, seed)
    noise = np.random.default_rng(seed + 2).normal(size=n)
    return X, 40 + 6 * X[:, 0] + 2 * X[:, 1] - 3 * X[:, 2] + 4 * noise, sex, race
