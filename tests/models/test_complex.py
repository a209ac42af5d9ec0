"""ComplEx; its scores are held to complex arithmetic in tests/contracts."""

import pytest

from dglkgmix.errors import ConfigError
from dglkgmix.models.complex import ComplEx


def test_refuses_odd_dimensions():
    with pytest.raises(ConfigError, match="even number"):
        ComplEx(5, 5)
