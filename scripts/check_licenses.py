"""Fails if a dependency has a license that is not on the list, or no license field.

Reads `cargo metadata` in the current folder and needs no tool except cargo.
"""

import json
import re
import subprocess
import sys

# Licenses under which code may be linked into a program licensed MIT OR Apache-2.0.
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


# Packages without a license field whose license text was reviewed: "name version" and the license.
# A new version needs a new entry.
EXCEPTIONS: dict[str, str] = {}


def license_of(package: dict) -> str | None:
    return package["license"] or EXCEPTIONS.get(f"{package['name']} {package['version']}")


def allowed(expression: str) -> bool:
    """Return whether allowed licenses alone satisfy an SPDX expression."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def alternatives() -> bool:
        found = conjunction()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            found = conjunction() or found
        return found

    def conjunction() -> bool:
        found = single()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            found = single() and found
        return found

    def single() -> bool:
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


def problems(packages: list[dict]) -> list[str]:
    """Return one line per package that must not be linked."""
    lines = []
    for package in packages:
        name, expression = f"{package['name']} {package['version']}", license_of(package)
        if not expression:
            lines.append(f"{name}: no license field; read its license text and add it to EXCEPTIONS, or remove it")
        elif not allowed(expression):
            lines.append(f"{name}: license {expression} is not allowed; remove it")
    return lines


def main() -> int:
    metadata = json.loads(
        subprocess.run(
            ["cargo", "metadata", "--format-version", "1", "--locked"],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
    )
    found = problems(metadata["packages"])
    for line in found:
        print(f"error: {line}", file=sys.stderr)
    print(f"licenses: {len(metadata['packages'])} packages, {len(found)} rejected")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
