"""Fails when a dependency has a licence that is not on the list, or none at all.

Reads `cargo metadata`, so that it needs no tool beyond cargo.
"""

import json
import re
import subprocess
import sys

# Licences under which code may be linked into a program licensed MIT OR Apache-2.0.
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}


# Packages that name no licence but carry its text, which was read.
BY_FILE = {
    "slsqp 1.0.2": "MIT",
}


def licence_of(package: dict) -> str | None:
    return package["license"] or BY_FILE.get(f"{package['name']} {package['version']}")


def allowed(expression: str) -> bool:
    """Whether an SPDX expression can be met by allowed licences alone."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def alternatives() -> bool:
        found = conjunction()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            found = conjunction() or found
        return found

    def conjunction() -> bool:
        found = licence()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            found = licence() and found
        return found

    def licence() -> bool:
        if not tokens:
            return False
        token = tokens.pop(0)
        if token == "(":
            found = alternatives()
            if tokens:
                tokens.pop(0)
            return found
        if tokens[:1] == ["WITH"]:
            token = f"{token} WITH {tokens[1]}"
            del tokens[:2]
        return token in ALLOWED

    return alternatives() and not tokens


def main() -> int:
    metadata = json.loads(
        subprocess.run(
            ["cargo", "metadata", "--format-version", "1", "--locked"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    )
    refused = [
        f"{package['name']} {package['version']}: {licence_of(package) or 'no licence given'}"
        for package in metadata["packages"]
        if not allowed(licence_of(package) or "")
    ]
    for line in refused:
        print(f"licence not allowed: {line}", file=sys.stderr)
    print(f"licences: {len(metadata['packages'])} packages, {len(refused)} refused")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
