"""Draws the base rates that `fairfront inspect` prints for the demo table as demo-base-rates.svg.

Run from the repository root after `cargo build`: python3 docs/figures/demo-base-rates.py
"""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def base_rates(table: str) -> dict[str, dict[str, float]]:
    """Return the base rates by attribute and group."""
    shown = subprocess.run(
        [ROOT / "target/debug/fairfront", "inspect", table, "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    sensitive = json.loads(shown.stdout)["sensitive"]
    return {
        attribute: {group: row["base_rate"] for group, row in groups.items()}
        for attribute, groups in sensitive.items()
    }


def main() -> None:
    recorded, unbiased = base_rates("demo"), base_rates("demo(bias=0)")
    left, width, step = 110, 420, 30
    parts = []
    y = 66
    for attribute, groups in recorded.items():
        parts.append(f'<text x="{left - 10}" y="{y}" class="head" text-anchor="end">{attribute}</text>')
        y += 12
        for group, rate in groups.items():
            fair = unbiased[attribute][group]
            middle = y + 12
            parts.append(f'<text x="{left - 10}" y="{middle + 4}" text-anchor="end">{group}</text>')
            parts.append(
                f'<line x1="{left + rate * width:.1f}" x2="{left + fair * width:.1f}" '
                f'y1="{middle}" y2="{middle}" class="difference"/>'
            )
            parts.append(f'<circle cx="{left + fair * width:.1f}" cy="{middle}" r="5" class="fair"/>')
            parts.append(f'<circle cx="{left + rate * width:.1f}" cy="{middle}" r="5" class="recorded"/>')
            y += step
        y += 22
    bottom = y - 14
    for percent in range(0, 101, 20):
        x = left + percent / 100 * width
        parts.insert(0, f'<line x1="{x}" x2="{x}" y1="56" y2="{bottom}" class="grid"/>')
        parts.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{percent}%</text>')
    height = bottom + 30
    svg = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 {height}" width="560" height="{height}" role="img" aria-label="Approval rates in the demo table, by group, as recorded and without the bias">
<style>
text {{ font: 12px sans-serif; fill: #333; }} .head {{ font-weight: bold; }}
.grid {{ stroke: #ddd; }} .difference {{ stroke: #b33; stroke-width: 2; }}
.fair {{ fill: #fff; stroke: #333; stroke-width: 1.5; }} .recorded {{ fill: #b33; }}
</style>
<rect width="560" height="{height}" fill="#fff"/>
<text x="{left}" y="20" class="head">Share of loans approved, by group (demo table)</text>
<circle cx="{left + 5}" cy="36" r="5" class="recorded"/><text x="{left + 16}" y="40">as the bank decided</text>
<circle cx="{left + 165}" cy="36" r="5" class="fair"/><text x="{left + 176}" y="40">the same people, without its bias</text>
{chr(10).join(parts)}
</svg>
"""
    (ROOT / "docs/figures/demo-base-rates.svg").write_text(svg)


if __name__ == "__main__":
    main()
