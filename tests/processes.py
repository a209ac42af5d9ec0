"""Functions that several processes run together, as torchrun would have them."""

import multiprocessing
import tempfile
import traceback
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

from dglkgmix.processes import Processes
from dglkgmix.training.parallel import connected

# Imported once, in the process that all others are forked from.
LIBRARY = ["torch", "dglkgmix.training.launch", "dglkgmix.runs.run"]
SECONDS = 120


def together(size, function, *args):
    """What ``function(processes, *args)`` returns in each of ``size`` processes; plain values."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LIBRARY)
    with tempfile.TemporaryDirectory() as folder:
        queue = context.SimpleQueue()
        inputs = (str(Path(folder) / "store"), size, queue, function, args)
        processes = [context.Process(target=_one, args=(i, *inputs)) for i in range(size)]
        for process in processes:
            process.start()
        results = dict(queue.get() for _ in processes)
        for process in processes:
            process.join(SECONDS)
    failed = [result for result in results.values() if isinstance(result, _Failure)]
    assert not failed, "\n".join(result.text for result in failed)
    return [results[index] for index in range(size)]


class _Failure:
    def __init__(self, text):
        self.text = text


def _one(index, path, size, queue, function, args):
    torch.set_num_threads(1)
    store = dist.FileStore(path, size)
    store.set_timeout(timedelta(seconds=SECONDS))
    try:
        with connected(store, index, size):
            found = function(Processes(index, size, size, store), *args)
            queue.put((index, found))
    except BaseException:
        queue.put((index, _Failure(traceback.format_exc())))
        raise
