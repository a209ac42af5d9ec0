"""Settings of the tests that draw their inputs, and the graph of many others."""

import pytest
from hypothesis import settings

# The machine is shared: how long one example takes says nothing.
settings.register_profile("dglkgmix", deadline=None)
settings.load_profile("dglkgmix")


@pytest.fixture
def kg(toy):
    return toy
