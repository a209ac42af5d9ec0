"""ComplEx, against complex arithmetic."""

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.models.complex import ComplEx


def test_score_is_the_real_part_of_the_complex_product():
    decoder = ComplEx(6, 6)
    vectors = torch.randn(3, 4, 6)
    head, relation, tail = (torch.complex(v[:, :3], v[:, 3:]) for v in vectors)
    expected = (head * relation * tail.conj()).sum(1).real
    query = decoder.query(vectors[0], vectors[1])
    torch.testing.assert_close(decoder.score_all(query, vectors[2]).diagonal(), expected)


def test_refuses_odd_and_different_dimensions():
    with pytest.raises(ConfigError, match="even number"):
        ComplEx(5, 5)
    with pytest.raises(ConfigError, match="complex needs them equal"):
        ComplEx(4, 2)
