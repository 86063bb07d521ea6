"""Rows that do not fit in memory raise ``MemoryError``, and the interpreter keeps running."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from fairfront import FairFrontClassifier

resource = pytest.importorskip("resource")

CODE = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from fairfront import Dataset
for name in ["demo(rows=1000000000)", "synthetic:1(rows=1000000000)"]:
    try:
        Dataset.known(name)
    except MemoryError as error:
        print(error)
print(Dataset.known("demo(rows=500)").n_rows)
"""


def test_generated_rows_that_do_not_fit():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    demo, synthetic, rows = done.stdout.splitlines()
    for line in [demo, synthetic]:
        assert "1,000,000,000 rows take about" in line
        assert line.endswith("available; set fewer rows, or free memory")
    assert int(rows) > 400


def test_nul_characters_are_rejected():
    words = np.array(["a", "b", "c\0d", "b"] * 50, dtype=object)
    y = np.arange(200) % 3 == 0
    with pytest.raises(ValueError, match='column "word", row 3: the category contains a NUL character'):
        FairFrontClassifier().fit(pd.DataFrame({"word": words, "n": np.arange(200.0)}), y, sensitive_features=["f", "m"] * 100)
    with pytest.raises(ValueError, match="the name contains a NUL character"):
        FairFrontClassifier().fit(pd.DataFrame({"w\0": np.arange(200.0)}), y, sensitive_features=["f", "m"] * 100)
