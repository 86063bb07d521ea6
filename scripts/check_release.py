"""Fails unless a tag can be released: `python scripts/check_release.py v1.2.3`.

The tag, Cargo.toml, CHANGELOG.md and CITATION.cff must have the same version, and Cargo.toml must have the address of
the repository.
"""

import re
import sys
import tomllib
from pathlib import Path


def problems(root: Path, tag: str) -> list[str]:
    """Return one line per reason not to release."""
    workspace = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    version, repository = workspace["package"]["version"], workspace["package"].get("repository", "")
    found = []
    if tag != f"v{version}":
        found.append(f"tag {tag}: the workspace has version {version}; tag v{version}")
    if not re.fullmatch(r"https://\S+", repository):
        found.append('Cargo.toml: repository is not an address; set it in [workspace.package] to "https://…"')
    for name, dependency in workspace["dependencies"].items():
        if "path" in dependency and dependency["version"] != version:
            found.append(f"Cargo.toml: {name} has version {dependency['version']}; set it to {version}")
    cited = re.search(r"^version: *(\S+)$", (root / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    if not cited or cited[1] != version:
        found.append(f"CITATION.cff: version is {cited and cited[1]}; set it to {version}")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## .*\b{re.escape(version)}\b", changes, re.MULTILINE):
        found.append(f"CHANGELOG.md: no section for {version}; add its heading")
    return found


def main() -> int:
    if len(sys.argv) != 2:
        print("error: no tag; pass one, as in make release-check TAG=v1.2.3", file=sys.stderr)
        return 2
    found = problems(Path(__file__).resolve().parents[1], sys.argv[1])
    for line in found:
        print(f"error: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
