"""Networks, from the command to exported models, compared with numpy and onnxruntime."""

import io
import json
import shutil

import numpy as np
import onnxruntime
import pandas as pd
import pyarrow.parquet as pq
import pytest

HIDDEN = 3
DATA = "demo(rows=700)"
NETWORK = ["--family", "network", "--hidden", str(HIDDEN), "--sensitive", "sex", "--quiet"]
SOLVERS = {
    "weighted": ["--solver", "weighted"],
    "pf-smg": ["--solver", "pf-smg", "--models", "40"],
    "covariances": ["--objective", "log_loss", "--objective", "score_covariance(sex)", "--models", "40"],
}


@pytest.fixture(scope="module", params=SOLVERS)
def run(request, fairfront, tmp_path_factory):
    folder = tmp_path_factory.mktemp("networks") / "run"
    fairfront("fit", DATA, *NETWORK, *SOLVERS[request.param], "--threads", 1, "--out", folder)
    return request.param, folder


def table(folder):
    return pq.read_table(folder / "front.parquet").to_pandas()


def test_a_run_names_its_family(fairfront, run):
    _, folder = run
    info = json.loads((folder / "run.json").read_text())
    assert info["family"]["family"] == "network"
    assert info["family"]["hidden"] == HIDDEN
    front = table(folder)
    assert set(front["family"]) == {"network"} and info["unmitigated"]["family"] == "network"
    assert info["proof"]["proven"] == 0, "a network has no optimality proof"
    shown = pd.read_csv(io.BytesIO(fairfront("show", folder, "--csv")))
    names = [name for name in shown.columns if name.startswith("params.")]
    assert names == [f"params.{name}" for name in [*info["features"], "(intercept)"]]
    params = shown[names].to_numpy()[: len(front)]
    np.testing.assert_array_equal(params, np.stack(front["params"]))


def test_the_number_of_threads_does_not_matter(fairfront, run, tmp_path):
    solver, folder = run
    fairfront("fit", DATA, *NETWORK, *SOLVERS[solver], "--threads", 2, "--out", tmp_path / "two")
    one, two = ((f / "front.parquet").read_bytes() for f in (folder, tmp_path / "two"))
    assert one == two


def test_verify_recomputes_networks(fairfront, run):
    assert b"values agree" in fairfront("verify", run[1])


def scores(model, rows):
    """Scores by the definition: vᵀ tanh(Wz + a) + b."""
    encoding = model["encoding"]
    features = []
    for rule in encoding["numeric"]:
        values = rows[rule["column"]].to_numpy(float)
        present = np.where(np.isnan(values), rule["mean"], values)
        features.append((present - rule["shift"]) / rule["factor"])
        if rule.get("indicator"):
            features.append(np.isnan(values).astype(float))
    for rule in encoding["categorical"]:
        strings = rows[rule["column"]].fillna("(missing)").astype(str)
        known = strings.where(strings.isin(rule["categories"]), "(other)")
        features += [(known == category).to_numpy(float) for category in rule["categories"]]
    z = np.column_stack(features)
    values = np.array(list(model["coefficients"].values()))
    weights, v, a = np.split(values, [HIDDEN * z.shape[1], -HIDDEN])
    return np.tanh(z @ weights.reshape(HIDDEN, -1).T + a) @ v + model["intercept"]


def test_a_chosen_network_decides_the_same_everywhere(fairfront, run, tmp_path):
    _, folder = run
    model, rows = tmp_path / "model.json", tmp_path / "rows.csv"
    fairfront("select", folder, "--model-id", 2, "--model", model)
    fairfront("data", "export", "demo(rows=300)", "-o", rows)
    predicted = pd.read_csv(io.BytesIO(fairfront("predict", model, rows, "-o", "-")))
    content, given = json.loads(model.read_text()), pd.read_csv(rows)
    np.testing.assert_allclose(predicted["score"], scores(content, given), rtol=1e-11, atol=1e-12)

    fairfront("export", model, "--format", "onnx", "-o", tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    numeric = {rule["column"] for rule in content["encoding"]["numeric"]}
    names = [i.name for i in session.get_inputs()]
    feed = {c: given[[c]].to_numpy(float) if c in numeric else given[[c]].fillna("").to_numpy(object) for c in names}
    label, probabilities, score = session.run(None, feed)
    np.testing.assert_allclose(score, predicted["score"], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(probabilities[:, 1], predicted["probability"], rtol=1e-11)
    np.testing.assert_array_equal(label, predicted["decision"])
    for form in ["sql", "table"]:
        done = fairfront.run("export", model, "--format", form, "-o", "-")
        assert done.returncode == 2 and b"only as ONNX" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--hidden", "4"], "only networks have hidden units; add --family network, or remove it"),
        (["--family", "trees", "--hidden", "4"], "only networks have hidden units"),
        (["--family", "network", "--hidden", "0"], "from 1 to 1,024 hidden units"),
        (["--family", "network", "--hidden", "1025"], "from 1 to 1,024 hidden units"),
        (["--family", "network", "--solver", "trace"], "trace supports only linear models"),
        (["--family", "network", "--solver", "eps-fair"], "eps-fair supports only linear models"),
    ],
)
def test_settings_that_exclude_each_other(fairfront, tmp_path, flags, words):
    done = fairfront.run("fit", DATA, *flags, "--out", tmp_path / "run")
    assert done.returncode == 2 and words in done.stderr.decode(), done.stderr
    assert not (tmp_path / "run").exists()


def test_a_toml_file_chooses_networks(fairfront, tmp_path):
    config = tmp_path / "fit.toml"
    config.write_text('sensitive = ["sex"]\n[fit]\nfamily = "network"\nhidden = 2\n')
    fairfront("fit", "demo(rows=400)", "--config", config, "--quiet", "--out", tmp_path / "run")
    info = json.loads((tmp_path / "run" / "run.json").read_text())
    assert info["family"]["hidden"] == 2


def test_resume_compares_the_hidden_units(fairfront, tmp_path):
    folder = tmp_path / "run"
    fit = ["fit", DATA, *NETWORK, "--checkpoint-every", "0.01", "--out", folder]
    fairfront(*fit)
    again = fairfront.run(*fit, "--resume")
    assert again.returncode == 0, again.stderr
    fit[fit.index(str(HIDDEN))] = "2"
    done = fairfront.run(*fit, "--resume")
    assert done.returncode != 0 and f"--hidden was {HIDDEN}" in done.stderr.decode(), done.stderr


def test_a_stream_of_networks(fairfront, tmp_path):
    """New categories get no weight in any hidden unit, and the state can be read again."""
    fairfront("data", "export", "demo(rows=900)", "-o", tmp_path / "rows.csv")
    rows = pd.read_csv(tmp_path / "rows.csv")
    column = rows.select_dtypes(exclude="number").columns.difference(["approved", "sex", "race", "split"])[0]
    rows.loc[800:, column] = "new"
    state = tmp_path / "state"
    flags = ["--target", "approved", "--positive", "yes", *NETWORK]
    for at, part in enumerate([rows[:500], rows[500:]]):
        part.to_csv(tmp_path / f"{at}.csv", index=False)
        fairfront("stream", state, tmp_path / f"{at}.csv", *flags, "--flush")
        flags = ["--quiet"]
    assert b"values agree" in fairfront("verify", state)
    shown = pd.read_csv(io.BytesIO(fairfront("show", state, "--csv")))
    assert [name for name in shown.columns if name.endswith(f":{column}=new")]
    shutil.rmtree(state)
