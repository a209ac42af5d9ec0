import inspect
import pickle

import pytest

from dglkgmix import errors

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.DglkgmixError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_errors_cross_processes(kind):
    again = pickle.loads(pickle.dumps(kind("bad")))
    assert (type(again), str(again)) == (kind, "bad")


@pytest.mark.parametrize(
    ("kind", "builtin", "status"),
    [
        (errors.DataError, ValueError, 2),
        (errors.UnknownNameError, ValueError, 2),
        (errors.OutOfRangeError, IndexError, 2),
        (errors.ConfigError, ValueError, 2),
        (errors.CheckpointError, ValueError, 2),
        (errors.NumericError, ArithmeticError, 1),
        (errors.StorageError, OSError, 1),
        (errors.DependencyError, ImportError, 1),
        (errors.PeerError, ConnectionError, 1),
    ],
)
def test_each_is_the_built_in_that_users_catch(kind, builtin, status):
    with pytest.raises(builtin):
        raise kind("bad")
    assert kind.exit_status == status
