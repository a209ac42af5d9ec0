"""kill -9 at random moments of a training; each time it must go on to the same final weights."""

import os
import random
import signal
import time
from shutil import rmtree

from tests.reliability.training import command_line, fork, go_on, wait


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
    rmtree(out)
    return record
