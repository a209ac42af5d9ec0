import errno
import json
import os
import random
import resource
import signal
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path

import pytest

from dglkgmix.errors import CheckpointError, ConfigError, StorageError
from dglkgmix.files import MANIFEST, RunFolder, manifest_bytes


def contents(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


@pytest.fixture(autouse=True)
def fast_disk(monkeypatch):
    """Nobody cuts the power here, and hundreds of real syncs take their time."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def run(tmp_path):
    with RunFolder.create(tmp_path / "run") as folder:
        folder.write("config.toml", b"seed = 0\n")
        folder.write("model.safetensors", b"weights")
        folder.write("last/state.safetensors", b"state 1")
    return tmp_path / "run"


@contextmanager
def file_size_limit(size):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limit[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)


class TestReadingAndWriting:
    def test_what_is_written_and_removed(self, run):
        folder = RunFolder.open(run)
        assert folder.read("last/state.safetensors") == b"state 1"
        assert folder.names == ["config.toml", "last/state.safetensors", "model.safetensors"]
        with RunFolder.resume(run) as folder:
            folder.write("last/state.safetensors", b"state 2")
            folder.write("metrics.json", b"{}")
            folder.remove("model.safetensors")
            folder.remove("model.safetensors")
        again = RunFolder.open(run)
        assert again.read("last/state.safetensors") == b"state 2"
        assert again.names == ["config.toml", "last/state.safetensors", "metrics.json"]
        assert not (run / "model.safetensors").exists()

    def test_a_folder_opened_for_reading_does_not_write(self, run):
        before = contents(run)
        folder = RunFolder.open(run)
        with pytest.raises(CheckpointError, match="opened for reading"):
            folder.write("config.toml", b"x")
        with pytest.raises(CheckpointError, match="opened for reading"):
            folder.remove("config.toml")
        assert contents(run) == before

    def test_reading_works_on_a_folder_that_cannot_be_written(self, run):
        run.chmod(0o500)
        try:
            assert RunFolder.open(run).read("config.toml") == b"seed = 0\n"
        finally:
            run.chmod(0o700)

    def test_a_reader_beside_a_busy_writer_sees_whole_states(self, run):
        code = """
            import sys
            from dglkgmix.files import RunFolder
            with RunFolder.resume(sys.argv[1]) as folder:
                for number in range(100):
                    folder.write("model.safetensors", (b"%d " % number) * 5000)
        """
        command = [sys.executable, "-c", textwrap.dedent(code), str(run)]
        seen = set()
        with subprocess.Popen(command) as writer:
            while writer.poll() is None:
                seen.add(RunFolder.open(run).read("model.safetensors"))
        assert writer.returncode == 0
        assert all(len(set(data.split())) == 1 for data in seen)

    @pytest.mark.parametrize(
        "name", ["", "/etc/passwd", "../up", "a/../b", "a//b", "a/", ".", MANIFEST, ".lock", "a\0b"]
    )
    def test_names_stay_inside(self, run, name):
        with (
            RunFolder.resume(run) as folder,
            pytest.raises(CheckpointError, match="cannot be the name"),
        ):
            folder.write(name, b"x")

    def test_links_to_elsewhere_are_not_followed(self, run, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        (run / "last").rename(elsewhere)
        (run / "last").symlink_to(elsewhere)
        with pytest.raises(CheckpointError, match=r"run/last: a link"):
            RunFolder.open(run).read("last/state.safetensors")
        with pytest.raises(CheckpointError, match=r"run/last: a link"):
            RunFolder.create(run, overwrite=True)
        assert contents(elsewhere) == {"state.safetensors": b"state 1"}


class TestDamage:
    @pytest.mark.parametrize(
        "name", ["config.toml", "model.safetensors", "last/state.safetensors", MANIFEST]
    )
    @pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "extend", "remove", "folder"])
    def test_the_damaged_file_is_named(self, run, name, damage):
        file = run / name
        data = file.read_bytes()
        for place in random.Random(0).sample(range(len(data)), min(len(data), 8)):
            self.inflict(damage, file, data, place)
            with pytest.raises(CheckpointError) as caught:
                self.read_all(run)
            assert str(caught.value).startswith(f"{file}: "), damage
            assert "estore" in str(caught.value), "what to do"
            if file.is_dir():
                file.rmdir()
            file.write_bytes(data)
        self.read_all(run)

    @staticmethod
    def inflict(damage, file, data, place):
        if damage in ("remove", "folder"):
            file.unlink()
            if damage == "folder":
                file.mkdir()
            return
        flipped = bytes([data[place] ^ 1 << place % 8])
        file.write_bytes(
            {
                "flip": data[:place] + flipped + data[place + 1 :],
                "truncate": data[:place],
                "empty": b"",
                "extend": data + b"\n",
            }[damage]
        )

    @staticmethod
    def read_all(run):
        folder = RunFolder.open(run)
        for name in ("config.toml", "model.safetensors", "last/state.safetensors"):
            assert folder.has(name)
            folder.read(name)

    def test_a_file_that_was_never_written_or_is_foreign(self, run):
        for _ in range(2):
            assert not RunFolder.open(run).has("metrics.json")
            with pytest.raises(CheckpointError, match=r"metrics\.json: not part of this run"):
                RunFolder.open(run).read("metrics.json")
            (run / "metrics.json").write_text("{}")

    def test_a_file_that_may_not_be_read(self, run, monkeypatch):
        folder = RunFolder.open(run)

        def refuse(self, mode="rb"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

        monkeypatch.setattr(Path, "read_bytes", refuse)
        monkeypatch.setattr(Path, "open", refuse)
        with pytest.raises(CheckpointError, match=r"config\.toml: cannot be read: Permission"):
            folder.read("config.toml")
        with pytest.raises(CheckpointError, match=r"manifest\.json: cannot be read: Permission"):
            RunFolder.open(run)

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"[]",
            b"null",
            b'"files"',
            b'{"files": 3}',
            b'{"files": {"a": 3}}',
            b'{"files": {"a": ["x"]}}',
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"name": "A web app", "icons": []}',
        ],
    )
    def test_any_other_manifest_is_refused_by_name(self, run, data):
        assert list(json.loads((run / MANIFEST).read_bytes())) == ["format", "files", "seal"]
        (run / MANIFEST).write_bytes(data)
        with pytest.raises(CheckpointError, match=r"run/manifest\.json: damaged"):
            RunFolder.open(run)

    def test_no_folder_and_not_a_folder(self, tmp_path):
        (tmp_path / "file").touch()
        (tmp_path / "empty").mkdir()
        for name, message in [
            ("nowhere", "no such run folder"),
            ("file", "a file, not a run folder"),
            ("empty", r"empty/manifest\.json: missing"),
        ]:
            for opened in (RunFolder.open, RunFolder.resume):
                with pytest.raises(CheckpointError, match=message):
                    opened(tmp_path / name)
        with pytest.raises(ConfigError, match="file: a file, where a folder"):
            RunFolder.create(tmp_path / "file", overwrite=True)
        with pytest.raises(ConfigError, match=r"run: .*file is a file, where a folder"):
            RunFolder.create(tmp_path / "file" / "run")
        assert contents(tmp_path) == {"file": b""}


class TestCreate:
    def test_makes_parents_and_marks_the_folder_at_once(self, tmp_path):
        RunFolder.create(tmp_path / "a" / "b").close()
        assert RunFolder.open(tmp_path / "a" / "b").names == []

    def test_refuses_a_folder_with_a_foreign_file_and_leaves_no_trace(self, tmp_path):
        (tmp_path / "thesis.tex").write_text("mine")
        with pytest.raises(CheckpointError, match=r"thesis\.tex.*--overwrite"):
            RunFolder.create(tmp_path)
        assert contents(tmp_path) == {"thesis.tex": b"mine"}

    def test_overwrite_removes_own_files_and_spares_foreign_ones(self, run):
        (run / "notes.txt").write_text("mine")
        (run / "last" / "notes.txt").write_text("mine too")
        with RunFolder.create(run, overwrite=True) as folder:
            assert folder.names == []
            folder.write("config.toml", b"new")
        kept = {name for name in contents(run) if name not in (MANIFEST, ".lock")}
        assert kept == {"config.toml", "notes.txt", "last/notes.txt"}

    def test_overwrite_removes_the_folders_that_it_empties(self, run):
        RunFolder.create(run, overwrite=True).close()
        assert set(contents(run)) == {MANIFEST, ".lock"}
        assert not (run / "last").exists()

    def test_overwrite_never_replaces_a_foreign_file_of_the_same_name(self, tmp_path):
        (tmp_path / "metrics.json").write_text("mine")
        with RunFolder.create(tmp_path, overwrite=True) as folder:
            folder.write("config.toml", b"x")
            with pytest.raises(CheckpointError, match=r"metrics\.json: not a file of this run"):
                folder.write("metrics.json", b"{}")
        assert (tmp_path / "metrics.json").read_text() == "mine"

    def test_overwrite_with_a_damaged_manifest_removes_nothing(self, run):
        (run / MANIFEST).write_bytes((run / MANIFEST).read_bytes()[:-5])
        before = contents(run)
        with pytest.raises(CheckpointError, match="remove the folder yourself"):
            RunFolder.create(run, overwrite=True)
        assert contents(run) == before

    def test_overwrite_with_a_forged_manifest_removes_nothing_outside(self, tmp_path):
        (tmp_path / "precious").write_text("mine")
        run = tmp_path / "run"
        run.mkdir()
        (run / MANIFEST).write_bytes(manifest_bytes({"../precious": ("0" * 64,)}))
        with pytest.raises(CheckpointError, match=r"manifest\.json: damaged"):
            RunFolder.create(run, overwrite=True)
        assert (tmp_path / "precious").read_text() == "mine"

    def test_what_a_killed_start_leaves_is_no_obstacle(self, tmp_path):
        (tmp_path / ".lock").touch()
        (tmp_path / f".dglkgmix-{'0' * 16}.tmp").write_bytes(b"half")
        RunFolder.create(tmp_path).close()
        assert set(contents(tmp_path)) == {MANIFEST, ".lock"}

    def test_an_unwritable_folder(self, tmp_path, monkeypatch):
        """As the kernel answers anyone but root."""

        def refuse(*args, **options):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

        monkeypatch.setattr(os, "open", refuse)
        with pytest.raises(StorageError, match=r"\.lock: not writable"):
            RunFolder.create(tmp_path / "run")


class TestStorage:
    def test_the_folder_removed_during_the_run(self, run):
        with RunFolder.resume(run) as folder:
            for file in sorted(run.rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()
            run.rmdir()
            with pytest.raises(StorageError, match="removed meanwhile"):
                folder.write("last/state.safetensors", b"state 2")
        assert not run.exists()

    def test_a_folder_that_vanishes_within_a_write_is_not_made_anew(self, run, monkeypatch):
        """Right after the manifest was written, and before the file is renamed into place."""
        commit = RunFolder._commit

        def vanish(self, changes):
            commit(self, changes)
            run.rename(run.with_name("elsewhere"))

        with RunFolder.resume(run) as folder:
            monkeypatch.setattr(RunFolder, "_commit", vanish)
            with pytest.raises(StorageError, match="removed meanwhile"):
                folder.write("new/deep/metrics.json", b"{}")
        assert not run.exists()
        assert RunFolder.open(run.with_name("elsewhere")).read("config.toml") == b"seed = 0\n"

    def test_folders_inside_are_made_as_deep_as_need_be(self, run):
        with RunFolder.resume(run) as folder:
            folder.write("new/deep/metrics.json", b"{}")
        assert (run / "new" / "deep" / "metrics.json").read_bytes() == b"{}"

    def test_a_disk_that_fills_up_keeps_the_last_complete_state(self, run, monkeypatch):
        """Fails at each of the three renames of a write in turn; then there is space again."""
        replace = Path.replace
        for failing in range(3):
            calls = iter(range(3))

            def full(self, target, at=failing):
                if next(calls) == at:  # noqa: B023 - used up within the turn
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return replace(self, target)

            with RunFolder.resume(run) as folder:
                folder.write("last/state.safetensors", b"before")
                with monkeypatch.context() as patch:
                    patch.setattr(Path, "replace", full)
                    with pytest.raises(StorageError, match="disk is full"):
                        folder.write("last/state.safetensors", b"after")
                state = b"after" if failing == 2 else b"before"
                assert folder.read("last/state.safetensors") == state
                assert RunFolder.open(run).read("last/state.safetensors") == state
                folder.write("last/state.safetensors", b"later")
            assert RunFolder.open(run).read("last/state.safetensors") == b"later"


KILL_AT_EACH_STEP = """
    # For each of the calls that touch the disk, a forked child that dies there without clean-up.
    import os, sys
    from pathlib import Path
    from dglkgmix.files import RunFolder

    base, action = Path(sys.argv[1]), sys.argv[2]
    os.fsync = lambda descriptor: None  # A step like any other, but no power is cut here.

    def die_at(step):
        count = iter(range(10_000))
        def wrap(function):
            def counted(*args, **options):
                if next(count) == step:
                    os._exit(9)
                return function(*args, **options)
            return counted
        for owner, name in [(os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "mkdir"),
                            (Path, "rmdir"), (Path, "open")]:
            setattr(owner, name, wrap(getattr(owner, name)))

    def act(run):
        if action == "overwrite":
            RunFolder.create(run, overwrite=True).write("config.toml", b"new")
            return
        folder = RunFolder.resume(run)
        if action == "replace":
            folder.write("last/state.safetensors", b"state 2")
        if action == "add":
            folder.write("new/metrics.json", b"{}")
        if action == "remove":
            folder.remove("model.safetensors")

    for step in range(200):
        run = base / str(step)
        with RunFolder.create(run) as folder:
            folder.write("config.toml", b"old")
            folder.write("model.safetensors", b"weights")
            folder.write("last/state.safetensors", b"state 1")
        child = os.fork()
        if child == 0:
            die_at(step)
            act(run)
            os._exit(0)
        if os.waitpid(child, 0)[1] == 0:
            break
    print(step)
"""


class TestKilled:
    @pytest.mark.parametrize("action", ["replace", "add", "remove", "overwrite"])
    def test_killed_at_any_step_of(self, action, tmp_path, run_python):
        """The folder is then readable, and whole in the old or the new way; so is a next try."""
        ended = run_python(KILL_AT_EACH_STEP, tmp_path, action)
        assert ended.returncode == 0, ended.stderr
        steps = int(ended.stdout)
        assert 5 < steps < 100
        outcomes = []
        for step in range(steps + 1):
            outcomes.append(self.state(tmp_path / str(step)))
            self.check_next_try(tmp_path / str(step))
        assert outcomes == sorted(outcomes, key=outcomes.index), "old, then new, never back"
        assert outcomes[0] == (
            ("config.toml", b"old"),
            ("last/state.safetensors", b"state 1"),
            ("model.safetensors", b"weights"),
        )
        assert outcomes[-1] != outcomes[0]

    @staticmethod
    def state(run):
        folder = RunFolder.open(run)
        return tuple((name, folder.read(name)) for name in folder.names)

    @staticmethod
    def check_next_try(run):
        with RunFolder.resume(run) as folder:
            folder.write("last/state.safetensors", b"state 3")
            folder.write("new/metrics.json", b"{1}")
        state = dict(TestKilled.state(run))
        assert state["last/state.safetensors"] == b"state 3"
        assert state["new/metrics.json"] == b"{1}"
        assert not list(run.rglob("*.tmp"))


class TestLock:
    def test_a_second_writer_is_refused_while_the_first_lives(self, run):
        with RunFolder.resume(run):
            for second in (
                lambda: RunFolder.resume(run),
                lambda: RunFolder.create(run),
                lambda: RunFolder.create(run, overwrite=True),
            ):
                with pytest.raises(CheckpointError, match="in use by another training"):
                    second()
            assert RunFolder.open(run).read("config.toml") == b"seed = 0\n"
        RunFolder.resume(run).close()

    def test_a_killed_writer_leaves_no_lock_behind(self, run):
        code = """
            import sys, time
            from dglkgmix.files import RunFolder
            folder = RunFolder.resume(sys.argv[1])
            print("locked", flush=True)
            time.sleep(60)
        """
        command = [sys.executable, "-c", textwrap.dedent(code), str(run)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "locked\n"
            with pytest.raises(CheckpointError, match="in use"):
                RunFolder.resume(run)
            holder.send_signal(signal.SIGKILL)
            holder.wait()
        RunFolder.resume(run).close()

    def test_announced_names_are_checked_at_once_and_the_lock_released(self, tmp_path):
        (tmp_path / "metrics.json").write_text("mine")
        for _ in range(2):
            with pytest.raises(CheckpointError, match="not a file of this run"):
                RunFolder.create(tmp_path, overwrite=True, names=["config.toml", "metrics.json"])
        assert not (tmp_path / MANIFEST).exists()

    def test_a_link_in_the_lock_s_place_is_not_followed(self, run, tmp_path):
        (run / ".lock").unlink()
        (run / ".lock").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(StorageError, match=r"\.lock"):
            RunFolder.resume(run)
        assert not (tmp_path / "elsewhere").exists()
