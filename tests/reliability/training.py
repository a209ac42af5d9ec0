"""A small training with frequent saves, run in forked processes that may be killed.

Importing PyTorch, DGL and Arrow costs seconds, a training of sixty entities far less. So one warm
process imports everything and never computes: it has a single thread of ours, and each try is a
fork of it that starts in milliseconds and is a process of its own in all that counts, with its own
files, its own lock and its own threads.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import random
import signal
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Two stages with mixup and averaging, small, a state saved after every epoch.
SMALL = (
    "--strategy=mixup",
    "--set=model.entity_dim=18",
    "--model=conve",
    "--set=model.filters=2",
    "--set=swa.start=2",
    "--set=swa.every=2",
    "--set=training.validate_every=1",
    "--set=training.patience=0",
    "--set=runtime.save_every=1",
    "--set=runtime.threads=1",
    "--device=cpu",
)
TRAIN = (*SMALL, "--epochs=6", "--batch-size=64", "--set=pretrain.epochs=3", "--quiet")
STEPS = (("next", 1), ("skip", 2), ("jump", 7), ("leap", 13))
LIMIT, PAUSE = 240.0, 0.002


@dataclass(frozen=True)
class Whole:
    """The training when nobody disturbs it."""

    source: Path
    seconds: float
    weights: str
    files: list[str]
    size: int

    @property
    def command(self):
        """Its command line, without ``--out``."""
        return ["train", str(self.source), *TRAIN]


def warm_up():
    """Import what a training imports."""
    import dglkgmix.cli.train
    import dglkgmix.runs.run
    import dglkgmix.training.launch  # noqa: F401

    check_threads()


def check_threads():
    """Forks of a process with threads are not safe; make sure that there are none."""
    threads = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    # Arrow's allocator has a thread of its own, and takes care of forks itself.
    others = [name for name in threads[1:] if not name.startswith("jemalloc_bg")]
    if others:
        raise SystemExit(f"threads before the first fork: {', '.join(others)}")


def write_source(folder):
    """A ring and its shortcuts: big enough that a signal finds the training at work."""
    folder.mkdir()
    rows = [f"e{i}\t{name}\te{(i + step) % 60}\n" for i in range(60) for name, step in STEPS]
    random.Random(0).shuffle(rows)
    for split, part in (("train", rows[:200]), ("valid", rows[200:220]), ("test", rows[220:])):
        (folder / f"{split}.txt").write_text("".join(part))
    return folder


def undisturbed(base):
    """Train to the end: once to see what else it imports, once more to see how long it takes."""
    source = write_source(base / "source")
    for name in ("first", "whole"):
        train = command_line(["train", str(source), *TRAIN], base / name)
        start = time.monotonic()
        status, said = run(with_modules(train, base / "modules"), base / "log")
        seconds = time.monotonic() - start
        if status != 0:
            raise SystemExit(f"the undisturbed training failed: {said}")
        import_also(json.loads((base / "modules").read_text()))
    files = [path for path in (base / "whole").rglob("*") if path.is_file()]
    return Whole(
        source,
        seconds,
        weights_of(base / "whole"),
        sorted(str(path.relative_to(base / "whole")) for path in files),
        sum(path.stat().st_size for path in files),
    )


def with_modules(work, path):
    """``work``, then the names of all modules into ``path``."""

    def call():
        status = work()
        path.write_text(json.dumps(list(sys.modules)))
        return status

    return call


def import_also(names):
    """Import here what the training imported on its way: no fork needs to do it again."""
    for name in names:
        with suppress(Exception):  # Modules that others make up have no file to be read from.
            importlib.import_module(name)
    check_threads()


def command_line(command, out):
    """The command with its ``--out``, to be run in a fork."""

    def call():
        from dglkgmix.cli.main import main

        return main([*command, "--out", str(out)])

    return call


def fork(work, log):
    """Start ``work`` in a fork whose output goes to ``log``; its process id."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        # A shell ignores Ctrl-C for what it runs in the background, and so would every fork.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        status = work()
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


def wait(child):
    """Exit status; minus the signal's number where one ended the process."""
    for _ in range(int(LIMIT / PAUSE)):  # Pauses, as a clock would run on while all is stopped.
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(PAUSE)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise SystemExit(f"a process hung for {LIMIT} seconds")


def run(work, log):
    """Exit status and output of ``work`` in a fork."""
    status = wait(fork(work, log))
    return status, log.read_text(errors="replace")


def look(out, log):
    """What a reader finds in the run folder, or None where nothing was written yet.

    Raises:
        DamagedError: a file cannot be read, or the run cannot be opened.
    """
    if not (out / "manifest.json").exists():
        return None
    status, said = run(lambda: _look(out), log)
    if status != 0:
        raise DamagedError(said)
    return json.loads(said)


class DamagedError(Exception):
    """A run folder that a reader cannot open."""


def _look(out):
    from dglkgmix.runs import run_files
    from dglkgmix.runs.run import Run

    run = Run.open(out)
    for name in run.folder.names:
        run.folder.read(name)
    epochs = len(run.history)
    if run.folder.has(run_files.STATE) or run.folder.has(run_files.MODEL):
        run.model  # noqa: B018 - reading it is the check
    if run.finished:
        run.metrics  # noqa: B018
    print(json.dumps({"files": len(run.folder.names), "epochs": epochs, "whole": run.finished}))
    import sys

    sys.stdout.flush()
    return 0


def weights_of(out):
    """SHA-256 of the final weights."""
    return hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()


def files_of(out):
    """All files of a folder, also those that do not belong there."""
    return sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())


def go_on(whole, out, log):
    """Look into a disturbed run, resume it, and compare its end with the undisturbed one's.

    Returns:
        ``kept`` (what a reader found), ``resumed`` (exit status), ``weights`` (digest) and
        ``lost``: "" or what went wrong.
    """
    try:
        kept = look(out, log)
    except DamagedError as error:
        return {"kept": None, "resumed": None, "weights": None, "lost": f"damaged: {error}"}
    status, said = run(command_line([*whole.command, "--resume"], out), log)
    if status != 0:
        return {"kept": kept, "resumed": status, "weights": None, "lost": said[-500:]}
    weights, lost = weights_of(out), ""
    if weights != whole.weights:
        lost = "other weights than without the disturbance"
    elif files_of(out) != whole.files:
        lost = f"other files: {sorted(set(files_of(out)) ^ set(whole.files))}"
    return {"kept": kept, "resumed": status, "weights": weights, "lost": lost}
