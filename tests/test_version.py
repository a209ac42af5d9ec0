import re

import dglkgmix
from dglkgmix.version import __version__


def test_the_version_is_three_numbers_and_the_package_s_own():
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
    assert dglkgmix.__version__ == __version__
