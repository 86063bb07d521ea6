"""Draws the exact front of covariances of a run as adult-gender-front.svg.

    fairfront fit adult:sex --solver trace --models 200 --out RUN
    python3 docs/figures/adult-gender-front.py RUN
"""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAIRFRONT = os.environ.get("FAIRFRONT_BIN") or ROOT / "target/release/fairfront"
PANELS = [
    ("objective.log_loss", "log loss, training rows", "objective.score_covariance(sex)", "squared covariance with sex"),
    ("test.accuracy", "accuracy, test rows", "test.demographic_parity_difference(sex)", "demographic parity difference"),
]
WIDTH, HEIGHT, LEFT, TOP = 300, 220, 64, 40


def panel(offset, models, unmitigated, x_name, x_title, y_name, y_title):
    """Return the SVG elements of one scatter plot."""
    xs = [float(model[x_name]) for model in models]
    ys = [float(model[y_name]) for model in models]
    x_low, x_high, y_high = min(xs), max(xs), max(ys) * 1.05

    def place(x, y):
        return (
            offset + LEFT + (x - x_low) / (x_high - x_low) * WIDTH,
            TOP + HEIGHT - y / y_high * HEIGHT,
        )

    out = [f'<rect x="{offset + LEFT}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" class="frame"/>']
    for share in (0, 0.5, 1):
        x, y = x_low + share * (x_high - x_low), share * y_high
        out.append(f'<text x="{place(x, 0)[0]:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{x:.3f}</text>')
        out.append(f'<text x="{offset + LEFT - 6}" y="{place(x_low, y)[1] + 4:.1f}" text-anchor="end">{y:.3f}</text>')
    for x, y in zip(xs, ys):
        cx, cy = place(x, y)
        out.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="2" class="point"/>')
    cx, cy = place(unmitigated[x_name], unmitigated[y_name])
    out.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="5" class="unmitigated"/>')
    out.append(f'<text x="{offset + LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 34}" text-anchor="middle">{x_title}</text>')
    out.append(f'<text x="{offset + LEFT}" y="{TOP - 8}">{y_title}</text>')
    return out


def main():
    run = pathlib.Path(sys.argv[1])
    shown = subprocess.run(
        [FAIRFRONT, "show", run, "--csv"], check=True, capture_output=True, text=True
    )
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    models = [row for row in rows if row["model_id"] != "unmitigated"]
    unmitigated = json.loads((run / "run.json").read_text())["unmitigated"]["values"]
    parts = []
    for number, names in enumerate(PANELS):
        parts += panel(number * (WIDTH + LEFT + 20), models, unmitigated, *names)
    width, height = 2 * (WIDTH + LEFT) + 50, TOP + HEIGHT + 64
    svg = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="The front of Adult by sex">
<style>text {{ font: 12px sans-serif; fill: #333; }} .frame {{ fill: none; stroke: #ccc; }} .point {{ fill: #36c; }} .unmitigated {{ fill: none; stroke: #b33; stroke-width: 2; }}</style>
<rect width="{width}" height="{height}" fill="#fff"/>
{chr(10).join(parts)}
<text x="{LEFT}" y="{height - 8}">Adult by sex: {len(models)} models, one dot each; the ring is the unmitigated model. Lower is fairer.</text>
</svg>
"""
    (ROOT / "docs/figures/adult-gender-front.svg").write_text(svg)


if __name__ == "__main__":
    main()
