"""Run folders: writing and replacing runs, removing temporary files, and checksums."""

import json
import os
import re
import subprocess
import time

import pytest

from seals import checksum

FIT = ["fit", "demo(rows=300)", "--solver", "weighted", "--set", "sums=2", "--set", "max-steps=1", "--quiet"]
WHOLE = ["encoding.json", "front.parquet", "report.html", "run.json", "tallies.json"]
CHANGED = "the file was changed after it was written"


@pytest.fixture(scope="module")
def run(fairfront, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    fairfront(*FIT, "--out", folder / "r")
    fairfront("select", folder / "r", "--model-id", 1, "--model", folder / "model.json")
    return folder


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_an_existing_folder_is_filled(fairfront, tmp_path):
    """The current folder keeps its inode, its mode and `lost+found`, as a mount point must."""
    (tmp_path / "lost+found").mkdir()
    tmp_path.chmod(0o2750)
    before = os.stat(tmp_path)
    fairfront(*FIT, "--out", ".", cwd=tmp_path)
    fairfront(*FIT, "--out", tmp_path, "--force", "--seed", 1)
    after = os.stat(tmp_path)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert names(tmp_path) == sorted([*WHOLE, "lost+found"])
    assert json.loads((tmp_path / "run.json").read_text())["spec"]["seed"] == 1
    fairfront("verify", ".", cwd=tmp_path)


def test_other_files_are_not_touched(fairfront, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    error = fairfront.error(*FIT, "--out", tmp_path, "--force")
    assert "notes.txt" in error and names(tmp_path) == ["notes.txt"]


def test_a_replaced_run_keeps_only_the_log_of_certificates(fairfront, run, tmp_path):
    folder = tmp_path / "r"
    fairfront(*FIT, "--out", folder)
    fairfront("report", folder, "--figures")
    fairfront("select", folder, "--require", "accuracy >= 0.2")
    assert names(folder) == sorted([*WHOLE, "certificates.jsonl", "figures"])
    fairfront(*FIT, "--out", folder, "--force", "--seed", 1)
    assert names(folder) == sorted([*WHOLE, "certificates.jsonl"])


def test_temporary_files_are_removed_after_their_process_ends(fairfront, run, tmp_path):
    """A prediction that waits for its input has a temporary file, which is removed only after a kill."""
    rows = tmp_path / "rows.csv"
    fairfront("data", "export", "demo(rows=300)", "--output", rows)
    command = [fairfront.binary, "predict", run / "model.json", "-", "-o", "scores.csv"]
    writer = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        writer.stdin.write(rows.read_bytes())
        writer.stdin.flush()
        until = time.monotonic() + 60
        while not (temporary := list(tmp_path.glob(".fairfront-*"))) and time.monotonic() < until:
            time.sleep(0.05)
        assert len(temporary) == 1
        other = tmp_path / ".fairfront-01234567-abcdefghij"
        other.write_text("written on another machine")
        model = ["select", run / "r", "--model-id", 1, "--model", tmp_path / "model.json", "--force"]
        fairfront(*model)
        assert temporary[0].exists() and other.exists()
    finally:
        writer.kill()
        writer.wait()
    assert temporary[0].exists()
    fairfront(*model)
    assert not temporary[0].exists() and other.exists()
    os.utime(other, (time.time() - 100_000,) * 2)
    fairfront(*model)
    assert not other.exists()


def test_checksums_agree_with_the_documentation(run):
    for path in [run / "r" / "run.json", run / "model.json"]:
        text = path.read_text()
        assert json.loads(text)["checksum"] == checksum(text)
        assert list(json.loads(text))[-1] == "checksum"


def changed(text):
    """Change one digit of one number."""
    places = [found.start() + 1 for found in re.finditer(r"\.\d", text)]
    place = places[len(places) // 2]
    return text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]


def test_changed_files_are_an_error(fairfront, run, tmp_path):
    model = tmp_path / "model.json"
    model.write_text(changed((run / "model.json").read_text()))
    export = ["export", model, "--format", "sql", "-o", "-"]
    for command in [export, ["predict", model, "demo.csv", "-o", tmp_path / "scores.csv"]]:
        error = fairfront.error(*command)
        assert str(model) in error and CHANGED in error and "fairfront select --model" in error
    # Indentation and line ends may differ.
    text = (run / "model.json").read_text()
    for other in [text.replace("\n", "\r\n"), re.sub(r"\n *", " ", text)]:
        model.write_bytes(other.encode())
        assert fairfront(*export) == fairfront("export", run / "model.json", *export[2:])

    for name in ["run.json", "encoding.json", "tallies.json"]:
        path = run / "r" / name
        text = path.read_text()
        try:
            path.write_text(changed(text))
            error = fairfront.error("select", run / "r", "--model-id", 1, "--model", model, "--force")
            assert name in error and CHANGED in error and "fit again" in error
            done = fairfront.run("verify", run / "r")
            assert done.returncode == 1 and name.encode() in done.stdout + done.stderr
        finally:
            path.write_text(text)
    fairfront("select", run / "r", "--model-id", 1, "--model", model, "--force")
