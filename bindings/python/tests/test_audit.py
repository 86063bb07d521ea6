"""Audits of rows in memory, compared with pandas, fairlearn and the command."""

import json

import fairlearn.metrics as fm
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import fairfront


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    n = 900
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], n).astype(object),
            "race": rng.choice(["A", "B", "W", "rare"], n, p=[0.3, 0.3, 0.39, 0.01]),
            "w": rng.gamma(2, 1, n),
        }
    )
    frame["score"] = rng.random(n) + 0.15 * (frame["sex"] == "M")
    frame["good"] = (rng.random(n) < frame["score"] / 1.2).astype(float)
    frame.loc[rng.random(n) < 0.02, "sex"] = None
    frame.loc[rng.random(n) < 0.02, "good"] = np.nan
    return frame


def test_values_are_those_of_pandas_and_fairlearn(rows):
    found = fairfront.audit(
        y_score=rows["score"],
        threshold=0.6,
        y_true=rows["good"],
        sensitive_features=rows[["sex", "race"]],
        reference={"sex": "M"},
        sample_weight=rows["w"],
    )
    assert found.attributes == ["sex", "race", "sex:race"]
    assert found.reference["sex"] == "M"
    table = found.by_group
    selected = rows["score"] >= 0.6
    for race, of in rows.groupby("race"):
        values = table.loc["race", race]
        assert values["rows"] == len(of) and values["selected"] == selected[of.index].sum()
        rate = np.average(selected[of.index], weights=of["w"])
        assert values["selection_rate"] == pytest.approx(rate)
        assert values["selection_rate_low"] < rate < values["selection_rate_high"]
        known = of[of["good"].notna()]
        expected = fm.false_negative_rate(
            known["good"], selected[known.index].astype(int), sample_weight=known["w"]
        )
        assert values["false_negative_rate"] == pytest.approx(expected)
        area = roc_auc_score(known["good"], known["score"], sample_weight=known["w"])
        assert values["auc"] == pytest.approx(area)
    rates = table.loc["sex"]["selection_rate"]
    assert table.loc[("sex", "F"), "adverse_impact_ratio"] == pytest.approx(rates["F"] / rates["M"])
    assert np.isnan(table.loc[("race", "rare"), "adverse_impact_ratio"])
    unknown = found.to_dict()["attributes"][0]["unknown"]["rows"]
    assert unknown == rows["sex"].isna().sum() > 0


def test_inputs_of_any_type_give_the_same(rows):
    known = rows.dropna()
    decided = np.where(known["score"] > 0.5, "hire", "no")
    options = {"pos_label": "hire", "reference": "M"}
    expected = fairfront.audit(y_pred=decided, sensitive_features=known["sex"], **options).to_json()
    sex = known["sex"].tolist()
    for given in ({"sex": sex}, known[["sex"]], {"sex": np.array(sex)}):
        assert fairfront.audit(y_pred=list(decided), sensitive_features=given, **options).to_json() == expected
    flags = fairfront.audit(y_pred=decided == "hire", sensitive_features={"sex": sex}, reference="M")
    changed = json.loads(expected)
    changed["decisions"]["condition"] = "y_pred = 1"
    assert flags.to_dict() == changed
    # Decisions and scores: the scores do not decide.
    both = fairfront.audit(
        y_pred=decided == "hire", y_score=known["score"], sensitive_features={"sex": sex}, reference="M"
    )
    assert both.to_dict()["overall"]["selected"] == flags.to_dict()["overall"]["selected"]
    assert "standardized_mean_difference" in both.by_group and "auc" not in both.by_group
    assert "standardized_mean_difference" not in flags.by_group


def test_pages(rows, tmp_path):
    found = fairfront.audit(y_score=rows["score"], threshold=0.6, sensitive_features={"<sex>": rows["sex"]})
    page = found.to_html(tmp_path / "audit.html")
    assert (tmp_path / "audit.html").read_text(encoding="utf-8") == page
    assert "<h2>Groups by &lt;sex&gt;</h2>" in page and "<sex>" not in page
    text = found.to_markdown(tmp_path / "audit.md")
    assert (tmp_path / "audit.md").read_text(encoding="utf-8") == text
    assert "to_json(): overall" in text
    assert json.loads(found.to_json(tmp_path / "audit.json")) == found.to_dict()
    assert json.loads((tmp_path / "audit.json").read_text()) == found.to_dict()
    assert repr(found).startswith("Audit(") and "<sex>" in repr(found)


def test_without_pandas(rows, monkeypatch):
    monkeypatch.setattr("fairfront._audit._pandas", lambda: None)
    found = fairfront.audit(y_pred=rows["score"] > 0.5, sensitive_features={"race": rows["race"]})
    table = found.by_group
    assert table["race", "A"]["rows"] == (rows["race"] == "A").sum()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_score": None}, "audit needs decisions; pass y_pred, or y_score with threshold"),
        ({"threshold": None}, "pass threshold or y_pred"),
        ({"y_pred": [1, 0, 1, 0]}, "threshold: y_pred has decisions already"),
        ({"y_score": ["a", "b", "c", "d"]}, "y_score must be numbers"),
        ({"y_score": [0.1, np.nan, 0.2, 0.3]}, "y_score: the value of row 1 is missing"),
        ({"y_score": [[0.1], [0.2], [0.3], [0.4]]}, "one dimension"),
        ({"y_true": [1, 0, 1]}, "y_true must have one value per row, found 3 for 4 rows"),
        ({"y_true": ["yes", "no", "yes", "no"]}, "choose the positive one with pos_label"),
        ({"y_true": [1, 0, 1, 0], "pos_label": "yes"}, "y_true has no value 'yes'"),
        ({"sample_weight": [1, 1, -1, 1]}, "a weight is missing or negative"),
        ({"sensitive_features": ["a", "b", "a"]}, "one value per row, found 3 for 4 rows"),
        ({"sensitive_features": {"s": [1, "1", 1, 2]}}, "different groups with the same text"),
        ({"reference": "c"}, r"^reference=.*: \"sex\" has no group \"c\"|^reference.*no group"),
        ({"reference": {"race": "a"}}, "no sensitive attribute"),
        ({"confidence": 1.5}, "^confidence=1.5: choose a number between 0 and 1"),
        ({"min_share": 0.6}, "^min_share=0.6: choose a share"),
        ({"sensitive_features": {"a": list("xxyy"), "b": list("xyxy")}, "reference": "x"}, "pass a dict"),
    ],
)
def test_wrong_arguments(change, message):
    options = {"y_score": [0.1, 0.9, 0.4, 0.8], "threshold": 0.5, "sensitive_features": {"sex": list("abab")}}
    with pytest.raises(ValueError, match=message):
        fairfront.audit(**(options | change))


def test_missing_decisions_are_an_error():
    with pytest.raises(ValueError, match="the decision of row 2 is missing"):
        fairfront.audit(y_pred=[1, 0, None, 1], sensitive_features=list("abab"))
