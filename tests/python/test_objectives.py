"""Smooth objectives compared with their definitions, and differences between rates compared with fairlearn."""

import fairlearn.metrics as fl
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mutual_info_score

from definitions import DIFFERENCES, UNKNOWN, column, objective, parsed
from fitted import EXACT, LOANS, SPLITS, Run, near, scores

DEMO = "demo(rows=3000)"
ALL = ["--sensitive", "sex", "--sensitive", "race", "--sensitive", "sex:race"]
# Enough for models that differ.
FEW = ["--solver", "weighted", "--set", "sums=16", "--set", "max-steps=4", "--quiet"]


OBJECTIVES = {
    "defaults": [
        *["error_rate", "demographic_parity(sex)", "equal_opportunity(race)"],
        *["predictive_equality(race)", "equalized_odds(sex)", "mutual_information(race)"],
        *["group_risk(race)", "group_risk(sex:race, risk=cvar)", "worst_group_loss(sex:race)"],
    ],
    "ranges": [
        "error_rate(tau=0.4, lambda=0.003, fp=0.8, fn=1.5)",
        "demographic_parity(sex:race, tau=0.02, beta=20)",
        "equal_opportunity(sex:race, tau=0.3, beta=400, shrink=0.01)",
        "predictive_equality(sex, tau=0.05, beta=0.5)",
        "equalized_odds(race, shrink=0.2, beta=7)",
        "mutual_information(sex:race, tau=0.5, clamp=0.001, shrink=0.05)",
        "group_risk(race, risk=cvar, alpha=0.8, mu=0.03)",
        "worst_group_loss(race, beta=3, shrink=0.3)",
    ],
    "variances": [
        "error_rate(lambda=0)",
        "demographic_parity(race, spread=variance, shrink=0.1)",
        "equal_opportunity(race, spread=variance, tau=0.7)",
        "predictive_equality(sex:race, spread=variance, shrink=0.02)",
        "equalized_odds(sex, spread=variance, tau=0.2)",
        "equalized_odds(sex:race, spread=variance, shrink=0.03)",
        "mutual_information(sex, clamp=0.4)",
        "group_risk(sex:race, shrink=0.05)",
        "group_risk(sex, risk=cvar, alpha=0.1, mu=0.0001, shrink=0.4)",
    ],
}
CASES = {
    # name: spec, objectives
    "defaults": ([DEMO, *ALL], "defaults"),
    "ranges": ([DEMO, *ALL, "--seed", "4"], "ranges"),
    "variances": ([DEMO, *ALL], "variances"),
    "weighted defaults": (["loans", *LOANS, *ALL[-2:]], "defaults"),
    "weighted ranges": (["loans", *LOANS, *ALL[-2:], *UNKNOWN], "ranges"),
    "weighted variances": (["loans", *LOANS, *ALL[-2:], *UNKNOWN], "variances"),
}


@pytest.fixture(scope="module", params=CASES)
def run(request, fairfront, tmp_path_factory):
    (source, *spec), objectives = CASES[request.param]
    source = request.getfixturevalue("loans") if source == "loans" else source
    folder = tmp_path_factory.mktemp("objectives") / "run"
    return Run(fairfront, folder, [source, *spec], OBJECTIVES[objectives], FEW)


@pytest.mark.parametrize("name", SPLITS)
def test_objectives_agree_with_their_definitions(run, name):
    prefix = "" if name == "train" else f"{name}."
    split = run.splits[name]
    for params, seen in run.models():
        for text in run.objectives:
            value, expected = seen[prefix + column(text)], objective(text, split, params)
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-13), text
            assert value >= 0


def test_models_differ(run):
    # Otherwise the test above means little. The settings are those requested.
    assert len(run.table) >= 12
    for text in run.objectives:
        values = run.table[column(text)]
        assert len(set(values)) > len(values) / 2, text
    for text, definition in zip(run.objectives, run.info["definitions"], strict=True):
        said = parsed(definition)
        assert said[:2] == parsed(text)[:2]
        assert parsed(text)[2].items() <= said[2].items()


# Measures


# fairlearn's function, and the labels that must occur in every group.
BY_FAIRLEARN = {
    name: (getattr(fl, name), labels)
    for name, labels in zip(DIFFERENCES, [[], [1], [-1], [1, -1]], strict=True)
}


@pytest.mark.parametrize("run", ["ranges", "weighted ranges"], indirect=True)
@pytest.mark.parametrize("name", SPLITS)
def test_differences_agree_with_fairlearn(run, name):
    split, train = run.splits[name], run.splits["train"]
    for attribute in run.attributes:
        known = split.known(attribute)
        # In fairlearn, an intersection is two columns.
        sensitive = pd.DataFrame({a: split.groups[a][known] for a in attribute.split(":")})
        y, w, groups = split.y[known], split.w[known], split.groups[attribute][known]
        weight = lambda g, label: w[(groups == g) & (y == label)].sum()
        all_groups = set(train.groups[attribute][train.known(attribute)])
        for params, seen in run.models(2):
            decision = scores(split, params)[1][known]
            for measure, (function, labels) in BY_FAIRLEARN.items():
                value = seen[f"{name}.{measure}({attribute})"]
                if all(weight(g, label) > 0 for label in labels for g in all_groups):
                    arguments = {"sensitive_features": sensitive, "sample_weight": w}
                    near(value, function(y > 0, decision, **arguments), measure, EXACT)
                else:
                    assert value is None or np.isnan(value), measure
            if (w == 1).all():
                value = seen[f"{name}.mutual_information({attribute})"]
                near(value, mutual_info_score(groups, decision), "mutual information", EXACT)
