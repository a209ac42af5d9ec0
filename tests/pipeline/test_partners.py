import pytest
import torch

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.pipeline.ids import GraphIds
from dglkgmix.pipeline.partners import MixupPartners
from dglkgmix.sampling.partners import PartnerSampler
from dglkgmix.sampling.seeds import derive
from tests.pipeline.graphs import REVERSE, TREATS, medical, two_way, with_masks


def test_samples_belong_to_the_edges_asked_for(ids):
    samples = MixupPartners(ids)({"causes": torch.tensor([1, 0]), "treats": torch.tensor([2, 0])})
    # Causes 1 is alone at its disease, treats 2 too.
    assert samples.positions.tolist() == [1, 1, 3, 3]
    assert samples.first.tolist() == [[7, 2, 0]] * 2 + [[4, 1, 0]] * 2
    assert torch.equal(samples.second, ids.kg.edges[samples.partners])
    assert torch.equal(samples.second[:, 2], samples.first[:, 2])
    assert ((samples.lam >= 0) & (samples.lam <= 1)).all()


def test_as_the_librarys_own_sampler_draws():
    ids = GraphIds(two_way(), reverse_etypes=REVERSE)
    partners = MixupPartners(ids, threshold=3, partners=2, rule="strict", seed=4)
    partners.set_epoch(7)
    expected = PartnerSampler(ids.kg, 3, 2, "strict").draw(derive(4, "partners", 7))
    samples = partners.of_rows(torch.arange(ids.kg.num_edges))
    assert torch.equal(samples.partners, expected.partners)
    assert partners.coverage["synthetic_per_epoch"] == len(expected)


def test_lambda():
    ids, asked = GraphIds(medical()), {"targets": torch.tensor([0, 1])}
    half = MixupPartners(ids, lambda_range="half")(asked)
    fixed = MixupPartners(ids, fixed_lambda=1.0)(asked)
    assert (half.lam >= 0.5).all()
    assert (fixed.lam == 1).all()


def test_whatever_the_order_of_the_edges():
    partners = MixupPartners(GraphIds(medical()), partners=1)

    def partners_of(edges):
        samples = partners({"targets": torch.tensor(edges)})
        return samples.partners.tolist()

    assert partners_of([1, 0]) == partners_of([0, 1])[::-1] == partners_of([1]) + partners_of([0])


def test_held_out_edges_are_no_partners_and_have_none():
    """Treats 1 is held out; it was one of two partners of causes 0."""
    partners = MixupPartners(GraphIds(with_masks()))
    samples = partners({"causes": torch.tensor([0])})
    assert samples.second.tolist() == [[4, 1, 0]]
    with pytest.raises(DataError, match="no training edge"):
        partners({TREATS: torch.tensor([1])})


def test_errors_by_name(ids):
    with pytest.raises(ConfigError, match="partners must be 1 or more, got 0"):
        MixupPartners(ids, partners=0)
    with pytest.raises(ConfigError, match=r"fixed_lambda must lie in \[0, 1\], got 2"):
        MixupPartners(ids, fixed_lambda=2)
    with pytest.raises(ConfigError, match="partner_rule"):
        MixupPartners(ids, rule="loose")
