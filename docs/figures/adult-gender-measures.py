"""Draws three fronts of Adult by sex, in accuracy and a fairness measure on test rows, as adult-gender-measures.svg.

The figure leaves out models that another model of the same front dominates on training and validation rows together.
Needs the packages of bench/requirements.txt and `cargo build --release`:

    python docs/figures/adult-gender-measures.py
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import moocore
import numpy as np
from judge import FAIRFRONT, Rows, export, fit_fairfront, fit_neighbour, measures, read_front

NAMES = ["1 - accuracy", "demographic parity difference"]


def write(path, models, rows):
    chosen = np.array(measures(models, rows.of("train", "validation")))
    test = np.array(measures(models, rows.of("test")))[moocore.is_nondominated(chosen)]
    lines = [",".join(map(repr, map(float, values))) for values in test]
    path.write_text("\n".join([",".join(NAMES), *lines]) + "\n")


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        table = folder / "rows.csv"
        export("adult:sex", table)
        rows = Rows.read(table)
        # The name of a file becomes the name of its front.
        fronts = {
            folder / "fairfront": [],
            folder / "fairfront --solver trace": ["--solver", "trace"],
        }
        for path, flags in fronts.items():
            run = folder / "run"
            assert fit_fairfront("adult:sex", flags, run)
            write(path, read_front(run, rows)[2], rows)
        grid = folder / "fairlearn GridSearch"
        write(grid, fit_neighbour("grid_search", table, 0)[2], rows)
        out = ROOT / "docs/figures/adult-gender-measures.svg"
        names = [path.name for path in [*fronts, grid]]
        program = FAIRFRONT.resolve()
        subprocess.run([program, "compare", *names, "--svg", out], check=True, cwd=folder)
    lines = [line for line in out.read_text().splitlines() if "reference point" not in line]
    svg = "\n".join(lines) + "\n"
    assert ">Fronts<" in svg
    out.write_text(svg.replace(">Fronts<", ">Adult by sex, test rows<"))


if __name__ == "__main__":
    main()
