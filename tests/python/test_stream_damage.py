"""States whose files are corrupted, locked or not writable: the command reports it, and loses nothing."""

import json
import random
import resource
import shutil
import subprocess

import pytest

from streaming import (
    SPEC,
    changing,
    contents,
    generations,
    is_root,
    newest,
    rejected,
    start,
    text_of,
    tree,
    wait_until,
    with_bad_rows,
)

KEEPS = {"all": [], "window": ["--window", "200"], "reservoir": ["--reservoir", "120"]}


class Made:
    """A state with five batches and waiting rows, and the command that made it."""

    def __init__(self, fairfront, folder, keep, source):
        self.fairfront, self.folder, self.source = fairfront, folder, source
        self.text = with_bad_rows(text_of(changing(fairfront)))
        (folder / "rows.csv").write_text(self.text)
        self.flags = [*SPEC, *keep]
        self.again(folder / "state")
        self.expected = contents(folder / "state")

    def again(self, state, *more):
        """Run the same command and return its output."""
        skip, stdin, name = [], None, self.folder / "rows.csv"
        if self.source == "stdin":
            stdin, name = self.text.encode(), "-"
            skip = ["--skip", "0"] if state.exists() else []
        done = self.fairfront.run("stream", state, name, *self.flags, *skip, *more, stdin=stdin)
        assert done.returncode == 0, done.stderr.decode()
        return " ".join((done.stdout + done.stderr).decode().split())

    def copy(self, name):
        shutil.rmtree(self.folder / name, ignore_errors=True)
        shutil.copytree(self.folder / "state", self.folder / name, symlinks=True)
        return self.folder / name

    def error(self, state, *more):
        stdin = self.text.encode() if self.source == "stdin" else None
        name = "-" if self.source == "stdin" else self.folder / "rows.csv"
        return self.fairfront.error("stream", state, name, *more, stdin=stdin)


@pytest.fixture(scope="module", params=["all-file", "window-stdin", "reservoir-stdin"])
def made(request, fairfront, tmp_path_factory):
    keep, source = request.param.split("-")
    return Made(fairfront, tmp_path_factory.mktemp(request.param), KEEPS[keep], source)


@pytest.fixture(scope="module")
def plain(fairfront, tmp_path_factory):
    return Made(fairfront, tmp_path_factory.mktemp("plain"), [], "file")


def hurt(path, rng, how=None):
    """Corrupt a file, and return the kind of damage."""
    data = bytearray(path.read_bytes())
    how = how or rng.choice(["cut", "flip", "remove", "empty", "longer"])
    if how == "cut":
        del data[rng.randrange(len(data)) :]
    elif how == "flip":
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == "empty":
        data.clear()
    elif how == "longer":
        data += b"more"
    if how == "remove":
        path.unlink()
    else:
        path.write_bytes(data)
    return how


def test_a_corrupted_generation_is_computed_again(made):
    rng = random.Random(2)
    for name in sorted(p.name for p in newest(made.folder / "state").iterdir()):
        state = made.copy("hurt")
        path = newest(state) / name
        how = hurt(path, rng)
        shown = made.fairfront.run("show", state)
        said = " ".join(shown.stderr.decode().split())
        assert shown.returncode == 0 and "is read instead" in said, (name, how)
        said = made.again(state)
        assert "is corrupted" in said and "resumes from the previous generation" in said, (name, how)
        assert contents(state) == made.expected, (name, how)
        # All rows are used once, including the waiting rows.
        made.again(state, "--flush", "--quiet")
        whole = made.copy("whole")
        made.again(whole, "--flush", "--quiet")
        assert contents(state) == contents(whole), (name, how)


def test_both_generations_are_corrupted(made):
    state = made.copy("hurt")
    for generation in generations(state):
        hurt(generation / "state.json", random.Random(1), "flip")
    before = tree(state)
    error = made.error(state)
    assert "no generation of this state is intact" in error and error.count("is corrupted") == 2
    assert "no generation" in made.fairfront.error("show", state)
    assert tree(state) == before


def test_corrupted_rows(made):
    state = made.copy("hurt")
    files = sorted(state.glob("rows/*.rows"))
    if not files:
        # A reservoir is stored in its generation, which the test above corrupts.
        assert list(state.glob("generation-*/kept.rows"))
        return
    rng = random.Random(4)
    for how in ["cut", "flip", "remove", "empty"]:
        state = made.copy("hurt")
        hurt(sorted(state.glob("rows/*.rows"))[-1], rng, how)
        said = made.again(state)
        assert "resumes from the previous generation" in said
        assert contents(state) == made.expected
    # Without an intact previous generation, the newest one stays, so that you can restore its rows.
    state = made.copy("hurt")
    last, other = sorted(state.glob("rows/*.rows"))[-1], generations(state)[0] / "state.json"
    original = last.read_bytes()
    hurt(last, rng, "flip")
    hurt(other, rng, "flip")
    before = tree(state)
    assert last.name in made.error(state)
    assert tree(state) == before
    last.write_bytes(original)
    made.again(state)
    assert contents(state) == made.expected
    # Rows of earlier batches are stored only once.
    for how in ["cut", "flip", "remove"]:
        state = made.copy("hurt")
        needed = json.loads((newest(state) / "state.json").read_text())["kept"]["segments"]
        path = state / f"rows/{needed[0]['batch']:06}.rows"
        original = path.read_bytes()
        hurt(path, rng, how)
        before = tree(state)
        error = made.error(state)
        assert path.name in error
        assert tree(state) == before, "a file changed"
        path.write_bytes(original)
        made.again(state)
        assert contents(state) == made.expected


def test_a_corrupted_log_of_waiting_rows(made):
    rng = random.Random(9)
    for how in ["cut", "flip", "remove"]:
        state = made.copy("hurt")
        log = sorted(state.glob("spool/*.log"))[-1]
        hurt(log, rng, how)
        # Standard input sends all rows again, and fairfront does not skip the lost ones.
        made.again(state, "--flush")
        whole = made.copy("whole")
        made.again(whole, "--flush")
        assert contents(state) == contents(whole), how


def test_changed_files_that_only_grow(plain):
    for name in ["rejected.csv", "drift.jsonl"]:
        for how in ["flip", "cut", "empty"]:
            state = plain.copy("hurt")
            hurt(state / name, random.Random(3), how)
            before = tree(state)
            error = plain.error(state)
            assert name in error and ("was changed" in error or "shorter" in error)
            assert tree(state) == before
        # A removed file starts again; the front does not change.
        state = plain.copy("hurt")
        (state / name).unlink()
        said = plain.again(state, "--flush")
        assert f"{name} is missing and starts again" in said
        whole = plain.copy("whole")
        plain.again(whole, "--flush")
        names = ["front.parquet", "encoding.json"]
        assert contents(state, names) == contents(whole, names)
        assert "is missing" not in plain.again(state)
        # Bytes that a killed process wrote after the last commit are cut off.
        state = plain.copy("hurt")
        hurt(state / name, random.Random(3), "longer")
        plain.again(state)
        assert contents(state) == plain.expected


def test_a_missing_link_does_not_matter(plain):
    state = plain.copy("hurt")
    (state / "current").unlink()
    plain.again(state)
    assert contents(state) == plain.expected


def test_one_writer_at_a_time(fairfront, plain, tmp_path):
    state = plain.copy("hurt")
    log = tmp_path / "log.csv"
    log.write_text(plain.text.split("\n", 1)[0] + "\n")
    process = start(fairfront, state, log, "--follow", "--quiet")
    wait_until(lambda: (state / "lock").read_text().strip() == str(process.pid), "the lock")
    before = tree(state)
    try:
        error = plain.error(state)
        assert f"another process is using this folder (process {process.pid})" in error
        assert tree(state) == before
        fairfront("show", state)
    finally:
        process.kill()
        process.communicate()
    plain.again(state)
    assert contents(state) == plain.expected


def test_several_processes_start_at_once(fairfront, plain, tmp_path):
    """One of them creates the state, and the others report an error; the state is complete."""
    file = plain.folder / "rows.csv"
    processes = [start(fairfront, tmp_path / "state", file, *SPEC, "--quiet") for _ in range(4)]
    errors = [(p.communicate(timeout=60)[1].decode(), p.returncode) for p in processes]
    assert any(code == 0 for _, code in errors), errors
    for error, code in errors:
        assert code in (0, 1), error
        assert code == 0 or "another process" in error, error
    names = ["front.parquet", "encoding.json", "drift.jsonl", "rejected.csv"]
    found = contents(tmp_path / "state", names[:3])
    assert found == {n: plain.expected[n] for n in names[:3]}


def limited(bytes_):
    """Make writes beyond this size of a file fail, as on a full disk."""

    def apply():
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, resource.RLIM_INFINITY))

    return apply


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_a_file_that_cannot_grow_loses_nothing(fairfront, plain, tmp_path, source):
    state, file = tmp_path / "state", plain.folder / "rows.csv"
    failed = 0
    for limit in [0, 100, 3_000, 9_000, 14_000, 20_000, 30_000, 45_000]:
        stdin = subprocess.DEVNULL if source == "file" else open(file, "rb")
        skip = ["--skip", "0"] if source == "stdin" else []
        name = file if source == "file" else "-"
        process = start(
            fairfront, state, name, *SPEC, *skip, "--quiet", stdin=stdin, preexec_fn=limited(limit)
        )
        _, err = process.communicate(timeout=60)
        if process.returncode != 0:
            failed += 1
            err = err.decode()
            assert process.returncode == 1 and err.splitlines()[-1].startswith("error: "), err
            assert "would exceed the size limit" in err, err
            # A batch in the spool can fail before any row of standard input is read.
            said = ["nothing is lost"] if source == "file" else ["from standard input are stored", "nothing is lost"]
            assert any(words in err for words in said), err
    assert failed >= 3
    stdin = plain.text.encode() if source == "stdin" else None
    fairfront("stream", state, name, *SPEC, *skip, "--quiet", stdin=stdin)
    names = ["front.parquet", "encoding.json", "drift.jsonl"]
    assert contents(state, names) == {n: plain.expected[n] for n in names}
    assert len(rejected(state)) == len(rejected(plain.folder / "state"))


def test_a_full_disk(fairfront, plain, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=192k", "tmpfs", disk], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.decode().strip()}")
    try:
        file = plain.folder / "rows.csv"
        errors, room = [], [*range(150, 0, -30), 0]
        for k in room:
            (disk / "ballast").write_bytes(b"")
            (disk / "ballast").write_bytes(b"x" * 1024 * k)
            done = fairfront.run("stream", disk / "state", file, *SPEC, "--quiet")
            if done.returncode != 0:
                errors.append(done.stderr.decode())
                assert "no space left" in errors[-1] and "nothing is lost" in errors[-1], errors[-1]
        subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
        (disk / "ballast").unlink()
        assert errors
        fairfront("stream", disk / "state", file, *SPEC, "--quiet")
        names = ["front.parquet", "encoding.json", "drift.jsonl"]
        assert contents(disk / "state", names) == {n: plain.expected[n] for n in names}
        # A read-only state can be read but not written.
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        fairfront("show", disk / "state")
        assert "read-only" in plain.error(disk / "state")
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_folder_without_write_permission(fairfront, plain, tmp_path):
    if is_root():
        pytest.skip("root can write to any folder; the read-only disk is tested instead")
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    error = plain.error(folder / "state", *SPEC)
    assert "permission denied" in error.lower()
