"""Licenses, workflows and releases: the checks pass on the project, and fail on the problems that they must find."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
# Jobs that publish, and the one permission that each needs.
PUBLISHING = {"pypi": {"id-token": "write"}, "github": {"contents": "write"}}


def missing(reason):
    pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def yaml():
    try:
        import yaml
    except ImportError:
        missing("PyYAML is not installed; run make test, or pip install PyYAML")
    return yaml


@pytest.fixture(scope="module")
def metadata():
    if not shutil.which("cargo"):
        missing("cargo is not installed")
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# Licenses


def check_licenses(folder):
    command = [sys.executable, ROOT / "scripts/check_licenses.py"]
    environment = os.environ | {"CARGO_NET_OFFLINE": "true"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


def test_the_licenses_of_all_crates_are_allowed(metadata):
    done = check_licenses(ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"licenses: {len(metadata['packages'])} packages, 0 rejected\n"


def test_no_crate_lacks_a_license_field(metadata):
    assert [p["name"] for p in metadata["packages"] if not p["license"]] == []


@pytest.mark.parametrize(
    ("field", "error"),
    [
        ("", "leaf 0.3.0: no license field; read its license text and add it to EXCEPTIONS, or remove it"),
        ('license-file = "LICENSE"', "leaf 0.3.0: no license field"),
        ('license = "GPL-3.0-only"', "leaf 0.3.0: license GPL-3.0-only is not allowed; remove it"),
        ('license = "MIT AND GPL-3.0-only"', "leaf 0.3.0: license MIT AND GPL-3.0-only is not allowed"),
        ('license = "GPL-3.0-only OR MIT"', None),
    ],
)
def test_the_check_fails_on_a_crate_without_an_allowed_license(metadata, tmp_path, field, error):
    """Run the check on a crate with one dependency."""
    for name, own, rest in [
        ("top", 'license = "MIT"', '[dependencies]\nleaf = { path = "leaf" }\n[workspace]\n'),
        ("top/leaf", field, ""),
    ]:
        folder = tmp_path / name
        (folder / "src").mkdir(parents=True)
        (folder / "src/lib.rs").touch()
        (folder / "LICENSE").write_text("All rights reserved.")
        package = f'[package]\nname = "{folder.name}"\nversion = "0.3.0"\nedition = "2024"\n{own}\n'
        (folder / "Cargo.toml").write_text(package + rest)
    subprocess.run(["cargo", "generate-lockfile", "--offline"], cwd=tmp_path / "top", check=True)
    done = check_licenses(tmp_path / "top")
    assert done.returncode == (1 if error else 0), done.stderr
    assert done.stderr.startswith(f"error: {error}" if error else ""), done.stderr
    assert done.stdout == f"licenses: 2 packages, {1 if error else 0} rejected\n"


def test_an_exception_names_one_version(monkeypatch):
    check = script("check_licenses")
    crate = {"name": "leaf", "version": "0.3.0", "license": None}
    assert len(check.problems([crate])) == 1
    monkeypatch.setitem(check.EXCEPTIONS, "leaf 0.3.0", "MIT")
    assert check.problems([crate]) == []
    assert len(check.problems([crate | {"version": "0.3.1"}])) == 1


# Rust


def numbers(version):
    return [int(n) for n in (version + ".0.0").split(".")[:3]]


def test_no_crate_needs_a_newer_rust_than_the_oldest_supported(metadata):
    package = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    oldest = package["rust-version"]
    newer = [
        f"{p['name']} {p['rust_version']}"
        for p in metadata["packages"]
        if p["rust_version"] and numbers(p["rust_version"]) > numbers(oldest)
    ]
    assert newer == []
    dry = subprocess.run(["make", "-n", "rust-version"], cwd=ROOT, capture_output=True, text=True)
    assert f"cargo +{oldest} check --workspace --locked" in dry.stdout


def test_crates_inherit_the_fields_of_the_workspace(metadata):
    package = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    members = set(metadata["workspace_members"])
    own = [p for p in metadata["packages"] if p["id"] in members]
    assert len(own) > 9
    for crate in own:
        found = {k: crate[k] for k in ("version", "license", "repository", "rust_version")}
        assert found == {k: package[k.replace("_", "-")] for k in found}, crate["name"]


# Workflows


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.stem)
def workflow(request, yaml):
    return yaml.safe_load(request.param.read_text())


def test_both_workflows_have_their_triggers(yaml):
    assert [path.stem for path in WORKFLOWS] == ["check", "release"]
    # YAML reads the key `on` as true.
    check, release = (yaml.safe_load(path.read_text())[True] for path in WORKFLOWS)
    assert set(check) == {"push", "pull_request", "workflow_call"}
    assert release == {"push": {"tags": ["v*"]}, "workflow_dispatch": None}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_to_commits(path):
    used = re.findall(r"uses: *(.*)", path.read_text())
    assert used
    for action in used:
        pinned = re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
        assert pinned or (action.startswith("./") and (ROOT / action).is_file()), action
    # One commit per action, in both workflows.
    everywhere = {u for p in WORKFLOWS for u in re.findall(r"uses: *([^.\s].*)", p.read_text())}
    assert len(everywhere) == len({u.split("@")[0] for u in everywhere})


def test_permissions_are_minimal(workflow):
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job.get("permissions") == PUBLISHING.get(name), name
        assert "timeout-minutes" in job or "uses" in job, name
    for step in steps(workflow):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
        # Shell lines read contexts from the environment, so that the name of a branch is never executed.
        assert "${{" not in step.get("run", "")


def test_nothing_is_published_before_all_checks(yaml):
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    for name in PUBLISHING:
        assert set(release[name]["needs"]) == set(release) - set(PUBLISHING)
        assert release[name]["if"] == "github.event_name == 'push'"
    assert release["check"]["uses"] == "./.github/workflows/check.yml"
    assert any("make audit" in step.get("run", "") for step in release["audit"]["steps"])
    assert any("make release-check" in step.get("run", "") for step in release["version"]["steps"])
    check = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text())["jobs"]
    assert any(step.get("run") == "make test" for step in check["test"]["steps"])
    targets = {entry["target"] for entry in release["wheels"]["strategy"]["matrix"]["include"]}
    assert targets == {entry["target"] for entry in release["binaries"]["strategy"]["matrix"]["include"]}
    for system in ("linux", "darwin", "windows"):
        assert any(system in target for target in targets)


def test_make_targets_of_workflows_exist(workflow):
    called = [line for step in steps(workflow) for line in re.findall(r"^make .*", step.get("run", ""), re.MULTILINE)]
    assert called
    for line in called:
        for target in (word for word in line.split()[1:] if "=" not in word):
            # A dry run does not need the tools of the targets.
            dry = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True)
            assert dry.returncode == 0, dry.stderr
    dry = subprocess.run(["make", "-n", "no-such-target"], cwd=ROOT, capture_output=True, text=True)
    assert dry.returncode != 0


def test_wheels_and_tests_use_the_same_maturin(workflow):
    pinned = re.search(r"^maturin==(.*)$", (ROOT / "tests/python/requirements.txt").read_text(), re.MULTILINE)
    for step in steps(workflow):
        if step.get("uses", "").startswith("PyO3/maturin-action@"):
            assert step["with"]["maturin-version"] == f"v{pinned[1]}"


# Releases


@pytest.fixture
def release(tmp_path):
    """A copy of the files that contain the version, with an address filled in."""
    for name in ("Cargo.toml", "CITATION.cff", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    manifest = tmp_path / "Cargo.toml"
    address = 'repository = "https://example.org/fairfront"'
    manifest.write_text(re.sub(r"^repository = .*$", address, manifest.read_text(), flags=re.MULTILINE))
    version = tomllib.loads(manifest.read_text())["workspace"]["package"]["version"]
    with (tmp_path / "CHANGELOG.md").open("a") as file:
        file.write(f"\n## {version}\n")
    return tmp_path, version


def test_a_release_needs_one_version_and_an_address(release):
    folder, version = release
    problems = script("check_release").problems
    assert problems(folder, f"v{version}") == []
    assert problems(folder, "v99.0") == [f"tag v99.0: the workspace has version {version}; tag v{version}"]
    for name, old, new, expected in [
        ("Cargo.toml", "https://example.org/fairfront", "", "Cargo.toml: repository is not an address"),
        (
            "Cargo.toml",
            f'fairfront-core", version = "{version}"',
            'fairfront-core", version = "98.0"',
            "fairfront-core has",
        ),
        ("CITATION.cff", f"version: {version}", "version: 98.0", "CITATION.cff: version is 98.0"),
        ("CHANGELOG.md", f"## {version}", "## 98.0", f"CHANGELOG.md: no section for {version}"),
    ]:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))
        (line,) = problems(folder, f"v{version}")
        assert expected in line
        (folder / name).write_text(text)


def test_the_citation_and_the_issue_forms_have_their_fields(yaml):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert citation["cff-version"] == "1.2.0" and citation["version"] == version
    assert {"message", "title", "authors"} <= set(citation)
    forms = [yaml.safe_load((ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text()) for name in ("bug", "feature")]
    for form in forms:
        assert {"name", "description", "body"} <= set(form)
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert len({field["id"] for field in fields}) == len(fields) > 2
        assert all(field["attributes"]["label"] for field in fields)
