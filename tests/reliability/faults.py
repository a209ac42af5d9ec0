"""Kills and faults: a training must say what happened, keep its last state, and go on from it."""

import ctypes
import os
import random
import resource
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from dataclasses import replace

from tests.reliability.training import command_line, fork, go_on, run, wait

KIB = 1024
_VERSION = 0x20080522
_READ_AND_WRITE_ANYTHING = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def kills(whole, base, count, seed):
    """One record a try, until ``count`` trainings were killed before they had ended."""
    done = number = 0
    seconds = whole.seconds
    while done < count:
        record = kill(whole, base, seed + number, seconds)
        if record["exit"] == -signal.SIGKILL:
            done += 1
        else:  # It had ended: the machine is less busy than it was.
            seconds = min(seconds, record["moment"])
        number += 1
        yield record


def kill(whole, base, seed, seconds):
    """One training, killed at a moment within ``seconds`` that follows from ``seed``, resumed."""
    out, log = base / f"kill-{seed}", base / "log"
    moment = random.Random(seed).uniform(0, seconds)
    child = fork(command_line(whole.command, out), log)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)  # A process that has ended waits as a zombie until asked for.
    status = wait(child)
    record = {"kind": "kill", "seed": seed, "moment": round(moment, 4), "exit": status}
    record |= go_on(whole, out, log)
    shutil.rmtree(out)
    return record


def faults(whole, base, count, seed):
    """``count`` tries of each kind of fault."""
    for what, make in FAULTS.items():
        for number in range(seed, seed + count):
            out = base / f"{what.replace(' ', '-')}-{number}"
            record = {"kind": "fault", "what": what, "seed": number}
            yield record | hitting(make, what, number, whole, out, base / "log")


def hitting(make, what, number, whole, out, log):
    """A try in which the fault came before the end: else the machine is less busy than it was."""
    for halvings in range(8):
        shorter = replace(whole, seconds=whole.seconds / 2**halvings)
        record = make(shorter, out, random.Random(f"{what} {number}"), log)
        shutil.rmtree(out, ignore_errors=True)
        if record["exit"] != 0:
            break
    return record


def disk_full(whole, out, chance, log):
    """A disk (or, where none can be mounted, a file size) too small; then there is room."""
    out.mkdir()
    size = chance.randrange(20 * KIB, 2 * whole.size // 3)
    with small_disk(out, size) as (how, expected, grow, limited):
        run_folder = out / "run"
        status, said = run(limited(command_line(whole.command, run_folder)), log)
        grow()
        found = go_on(whole, run_folder, log)
        return verdict({"how": how, "moment": size, "exit": status}, said, 1, expected, found)


def not_writable(whole, out, chance, log):
    """The folder loses its write permission during the run, and gets it back."""

    def work():
        obey_permissions()
        return command_line(whole.command, out)()

    child, moment = start(whole, work, out, chance, log)
    set_modes(out, 0o555)
    status = wait(child)
    said = log.read_text(errors="replace")
    set_modes(out, 0o755)
    found = go_on(whole, out, log)
    return verdict({"moment": moment, "exit": status}, said, 1, "not writable", found)


def moved_away(whole, out, chance, log):
    """The folder is moved during the run: what it holds is whole, and goes on there."""
    child, moment = start(whole, command_line(whole.command, out), out, chance, log)
    elsewhere = out.with_name(out.name + "-moved")
    out.rename(elsewhere)
    status = wait(child)
    said = log.read_text(errors="replace")
    found = go_on(whole, elsewhere, log)
    shutil.rmtree(elsewhere)
    record = verdict({"moment": moment, "exit": status}, said, 1, "removed meanwhile", found)
    return record | ({"lost": "the folder was made anew"} if out.exists() else {})


def removed(whole, out, chance, log):
    """The folder is removed during the run: nothing is left to keep, and that is said."""
    child, moment = start(whole, command_line(whole.command, out), out, chance, log)
    while out.exists():
        shutil.rmtree(out, ignore_errors=True)
    status = wait(child)
    said = log.read_text(errors="replace")
    lost = "the folder was made anew" if out.exists() else ""
    record = {"moment": moment, "exit": status}
    return verdict(record, said, 1, "removed meanwhile", {"lost": lost})


def second_training(whole, out, chance, log):
    """A second training into the folder of a running one is refused; the first ends as ever."""
    child, moment = start(whole, command_line(whole.command, out), out, chance, log)
    second = log.with_suffix(".second")
    os.kill(child, signal.SIGSTOP)  # The first lives until the second has been refused.
    status, said = run(command_line([*whole.command, "--resume"], out), second)
    os.kill(child, signal.SIGCONT)
    first = wait(child)
    found = go_on(whole, out, log)
    record = verdict({"moment": moment, "exit": status}, said, 2, "in use by another", found)
    return record | ({"lost": f"the first ended with {first}"} if first else {})


def interrupted(whole, out, chance, log):
    """Ctrl-C: exit status 130, and how to go on."""
    child, moment = start(whole, command_line(whole.command, out), out, chance, log)
    os.kill(child, signal.SIGINT)
    status = wait(child)
    said = log.read_text(errors="replace")
    found = go_on(whole, out, log)
    return verdict({"moment": moment, "exit": status}, said, 130, "--resume", found)


FAULTS = {
    "disk full": disk_full,
    "not writable": not_writable,
    "moved away": moved_away,
    "removed": removed,
    "second training": second_training,
    "interrupted": interrupted,
}


def start(whole, work, out, chance, log):
    """A training that has begun to write, some random time into it; its id and that time."""
    child = fork(work, log)
    while not (out / "manifest.json").exists():
        time.sleep(0.001)
    moment = chance.uniform(0, 0.6 * whole.seconds)
    time.sleep(moment)
    return child, round(moment, 4)


def verdict(record, said, status, expected, found):
    """The record of a try, lost where the training did not end as it should."""
    lines = said.strip().splitlines()
    record |= {"said": lines[-1][-200:] if lines else ""} | found
    wrong = record["exit"] != status or expected not in said or "Traceback" in said
    if wrong and not record["lost"]:
        record["lost"] = f"ended with {record['exit']} and said: {said[-500:]}"
    return record


def set_modes(folder, mode):
    """Set the permissions of a folder and of the folders in it."""
    for path in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        path.chmod(mode)


@contextmanager
def small_disk(path, size):
    """How, what is said, what makes room, and what to wrap the training in."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)]
    if os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0:
        larger = ["mount", "-o", "remount,size=64m", str(path)]
        try:
            yield (
                "tmpfs",
                "the disk is full",
                lambda: subprocess.run(larger, check=True),
                lambda work: work,
            )
        finally:
            subprocess.run(["umount", "--lazy", str(path)], check=True)
    else:
        # The largest single file is the state: a limit below it fails in the midst of one.
        expected = "larger than this system allows"
        yield "file size limit", expected, lambda: None, lambda work: limit_files(work, size // 8)


def limit_files(work, size):
    """``work`` with files of at most ``size`` bytes."""

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return work()

    return limited


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def obey_permissions():
    """Give up, for this process, what lets root write where nobody may; others have no such right.

    A process of root's owns root's folders like any other user's process then: what it may do
    there is what their mode says.
    """
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = _Header(_VERSION, 0), (_Sets * 2)()
    if libc.capget(ctypes.byref(header), ctypes.byref(sets)) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    for kind in ("effective", "permitted"):
        setattr(sets[0], kind, getattr(sets[0], kind) & ~_READ_AND_WRITE_ANYTHING)
    if libc.capset(ctypes.byref(header), ctypes.byref(sets)) != 0:
        raise OSError(ctypes.get_errno(), "capset")
