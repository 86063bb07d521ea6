"""The checksum inside `run.json` and model files, computed independently of the command."""

import hashlib
import json
import re

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[ \t\r\n]+')


def checksum(text):
    """Return the SHA-256 of a JSON file up to its checksum, without spaces and line ends outside strings."""
    compact = _TOKEN.sub(lambda found: found[0] if found[0].startswith('"') else "", text)
    body, found, _ = compact.partition(',"checksum":')
    return hashlib.sha256((body if found else compact.removesuffix("}")).encode()).hexdigest()


def sealed(content):
    """Return the text of a changed file with its new checksum."""
    text = json.dumps({name: value for name, value in content.items() if name != "checksum"})
    return f'{text[:-1]}, "checksum": "{checksum(text)}"}}\n'
