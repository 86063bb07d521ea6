"""Draws the front of docs/tutorials/numbers.md, with intervals on test rows, as income-front.svg.

Run from the repository root after `cargo build`: python3 docs/figures/income-front.py
"""

import csv
import io
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = "income", "sex", "race,approved,split"
CHOSEN = "78"
LEFT, TOP, WIDTH, HEIGHT = 70, 20, 440, 260
ERRORS, DIFFERENCES = (17_200, 17_800), (-500, 6_000)


def models() -> list[dict[str, str]]:
    """Return the models of the front, in order."""
    target, sensitive, drop = COLUMNS
    with tempfile.TemporaryDirectory() as folder:

        def run(*words: str) -> str:
            command = [ROOT / "target/debug/fairfront", *words]
            return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout

        run("data", "export", "demo", "-o", "loans.csv")
        roles = ["--target", target, "--sensitive", sensitive, "--drop", drop, "--split", "50/10/20/20"]
        run("fit", "loans.csv", *roles, "--out", "run", "--quiet")
        return list(csv.DictReader(io.StringIO(run("show", "run", "--csv"))))


def main() -> None:
    def x(error: float) -> float:
        return LEFT + (error - ERRORS[0]) / (ERRORS[1] - ERRORS[0]) * WIDTH

    def y(difference: float) -> float:
        share = (difference - DIFFERENCES[0]) / (DIFFERENCES[1] - DIFFERENCES[0])
        return TOP + HEIGHT - share * HEIGHT

    parts = []
    for error in range(ERRORS[0], ERRORS[1] + 1, 100):
        parts.append(f'<line x1="{x(error):.1f}" x2="{x(error):.1f}" y1="{TOP}" y2="{TOP + HEIGHT}" class="grid"/>')
        parts.append(f'<text x="{x(error):.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{error:,}</text>')
    for difference in range(0, DIFFERENCES[1] + 1, 1_000):
        at = y(difference)
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{difference:,}</text>')
    limit = y(2_000)
    parts.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{limit:.1f}" y2="{limit:.1f}" class="limit"/>')
    parts.append(f'<text x="{LEFT + WIDTH - 4}" y="{limit - 5:.1f}" text-anchor="end">required</text>')
    measure = "test.mean_difference(sex)"
    for model in models():
        at = x(float(model["test.rmse"]))
        value, low, high = (float(model[measure + end]) for end in ("", ".low", ".high"))
        chosen = model["model_id"] == CHOSEN
        kind = "chosen" if chosen else "model"
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y(low):.1f}" y2="{y(high):.1f}" class="interval {kind}"/>')
        parts.append(f'<circle cx="{at:.1f}" cy="{y(value):.1f}" r="{5 if chosen else 2.5}" class="{kind}"/>')
    height = TOP + HEIGHT + 46
    svg = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 {height}" width="560" height="{height}" role="img" aria-label="Front of models of the income: error and difference between women and men on test rows">
<style>
text {{ font: 12px sans-serif; fill: #333; }} .grid {{ stroke: #ddd; }}
.limit {{ stroke: #333; stroke-dasharray: 5 4; }} .interval {{ stroke-width: 1; }}
line.model {{ stroke: #2a6; stroke-opacity: .15; }} circle.model {{ fill: #2a6; }}
line.chosen {{ stroke: #b33; }} circle.chosen {{ fill: #b33; }}
</style>
<rect width="560" height="{height}" fill="#fff"/>
{chr(10).join(parts)}
<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 36}" text-anchor="middle">root of the mean squared error on test rows</text>
<text x="16" y="{TOP + HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 16 {TOP + HEIGHT / 2})">mean difference (sex) on test rows</text>
</svg>
"""
    (ROOT / "docs/figures/income-front.svg").write_text(svg)


if __name__ == "__main__":
    main()
