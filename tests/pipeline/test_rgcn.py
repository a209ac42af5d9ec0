import pytest
import torch

from dglkgmix._dgl import dgl
from dglkgmix.errors import ConfigError, DataError, UnknownNameError
from dglkgmix.models.rgcn import RGCN
from dglkgmix.pipeline.ids import GraphIds
from dglkgmix.pipeline.rgcn import HeteroRGCN
from tests.pipeline.graphs import REVERSE, SIZES, medical, two_way

D = 6


def features(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return {n: torch.randn(size, D, generator=generator, dtype=dtype) for n, size in SIZES.items()}


def module(graph, **options):
    torch.manual_seed(1)
    return HeteroRGCN(graph.canonical_etypes, D, **{"bases": 3, **options}).double().eval()


@pytest.mark.parametrize("decomposition", ["basis", "block"])
def test_the_formula_edge_by_edge(decomposition):
    """W_0 h_v + b + Σ_r mean of W_r h_u over the edges (u, r, v); copies of an edge count."""
    graph, given = medical(), features()
    rgcn = module(graph, decomposition=decomposition)
    layer = rgcn.layers[0]
    matrices = [torch.block_diag(*blocks) for blocks in layer.matrices()]
    expected = {name: layer.self_loop(values) for name, values in given.items()}
    for number, etype in enumerate(graph.canonical_etypes):
        source, target = graph.edges(etype=etype)
        degrees = torch.bincount(target, minlength=SIZES[etype[2]])
        for u, v in zip(source.tolist(), target.tolist(), strict=True):
            message = given[etype[0]][u] @ matrices[number] / degrees[v]
            expected[etype[2]] = expected[etype[2]].index_add(
                0, torch.tensor([v]), message.unsqueeze(0)
            )
    result = rgcn(graph, given)
    assert set(result) == set(SIZES)
    for name in SIZES:
        torch.testing.assert_close(result[name], expected[name])


def test_as_the_encoder_of_the_library():
    """Over a graph with reverse types and no copies, with the same weights."""
    graph = two_way(dgl.remove_edges(medical(), torch.tensor([3]), etype="treats"))
    ids = GraphIds(graph, reverse_etypes=REVERSE)
    encoder = RGCN(ids.kg, D, D, layers=2, bases=3, residual="none").double().eval()
    torch.nn.init.normal_(encoder.entity_table)
    etypes = sorted(ids.relations, key=ids.relations.__getitem__)
    rgcn = HeteroRGCN(etypes, D, layers=2, bases=3).double().eval()
    rgcn.layers.load_state_dict(encoder.layers.state_dict())
    result = rgcn(graph, ids.split(encoder.entity_table))
    torch.testing.assert_close(ids.stack(result), encoder.encode().entities)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_blocks_give_what_the_graph_gives(layers):
    graph, given = two_way(), features()
    rgcn = module(graph, layers=layers)
    seeds = {"disease": torch.tensor([2, 0]), "gene": torch.tensor([1])}
    sampler = dgl.dataloading.MultiLayerFullNeighborSampler(layers)
    inputs, _, blocks = sampler.sample(graph, seeds)
    result = rgcn(blocks, {name: given[name][nodes] for name, nodes in inputs.items()})
    whole = rgcn(graph, given)
    for name, nodes in seeds.items():
        torch.testing.assert_close(result[name], whole[name][nodes])


def test_a_bipartite_graph_keeps_its_sources():
    graph = dgl.heterograph({("a", "r", "b"): ([0, 1], [0, 0])}, num_nodes_dict={"a": 2, "b": 3})
    given = {"a": torch.ones(2, D).double(), "b": torch.ones(3, D).double()}
    assert {n: len(v) for n, v in module(graph)(graph, given).items()} == {"a": 2, "b": 3}


def test_gradients_reach_every_parameter():
    graph = medical()
    rgcn = module(graph, layers=2, dropout=0.1).train()
    sum(values.sum() for values in rgcn(graph, features()).values()).backward()
    for name, parameter in rgcn.named_parameters():
        assert parameter.grad is not None, name
        assert (parameter.grad != 0).any(), name


def test_narrow_ids_and_types_in_another_order():
    given = features()
    rgcn = module(medical())
    for name, values in rgcn(medical(torch.int32), dict(reversed(given.items()))).items():
        torch.testing.assert_close(values, rgcn(medical(), given)[name])


def test_a_block_whose_targets_are_not_its_first_sources_is_refused():
    """Case 54: the rows of such a block's targets are other nodes' features, or are not there."""
    graph, given = two_way(), features()
    seeds = {"disease": torch.tensor([2, 0]), "gene": torch.tensor([1])}
    block = dgl.to_block(graph, seeds, include_dst_in_src=False)
    inputs = {name: given[name][block.srcnodes[name].data["_ID"]] for name in block.srctypes}
    with pytest.raises(DataError, match=r"2 target nodes of type 'disease'.*include_dst_in_src=Tr"):
        module(graph)([block], inputs)
    numberless = dgl.create_block({("a", "r", "b"): ([0, 1], [0, 0])})
    with pytest.raises(DataError, match=r"1 target nodes of type 'b' must be .* its 0 source nod"):
        module(numberless)([numberless], {"a": torch.ones(2, D).double()})


@pytest.mark.parametrize("missing", [("disease", 0), ("gene", 1)])
def test_a_block_whose_edges_reach_nodes_that_are_no_targets_is_refused(missing):
    """DGL makes such a block without a word, and gives these edges numbers of no node."""
    graph, given = two_way(), features()
    seeds = {
        name: torch.tensor([node for node in range(size) if (name, node) != missing])
        for name, size in SIZES.items()
    }
    block = dgl.to_block(graph, seeds)
    reached = sum(
        graph.edges(etype=etype)[1].tolist().count(missing[1])
        for etype in graph.canonical_etypes
        if etype[2] == missing[0]
    )
    inputs = {name: given[name][block.srcnodes[name].data["_ID"]] for name in block.srctypes}

    assert reached
    with pytest.raises(DataError, match=rf"{reached} of \d+ edges reach nodes .*dgl\.in_subgraph"):
        module(graph)([block], inputs)


def test_edge_types_are_read_at_once(monkeypatch):
    """Case 68: reading them one by one costs more than the layer where each has few edges."""
    graph, given = medical(), features()
    rgcn = module(graph)
    expected = rgcn(graph, given)
    monkeypatch.delattr(type(graph), "all_edges")

    assert set(rgcn(graph, given)) == set(expected)


def test_what_is_refused():
    graph, given = medical(), features()
    rgcn = module(graph, layers=2)
    with pytest.raises(DataError, match=r"'drug': \(2, 6\).*each type needs \(nodes, 6\) for"):
        rgcn(graph, given | {"drug": given["drug"][:2]})
    with pytest.raises(DataError, match="each type needs"):
        rgcn(graph, {name: given[name] for name in ("drug", "gene")})
    with pytest.raises(DataError, match="1 blocks for 2 layers"):
        rgcn([graph], given)
    with pytest.raises(UnknownNameError, match="unknown edge type"):
        rgcn(two_way(), given)
    with pytest.raises(DataError, match=r"graph must be a DGL graph, not a dict"):
        rgcn(given, given)
    with pytest.raises(DataError, match=r"features must be a dict .*, not a Tensor"):
        rgcn(graph, torch.zeros(3, 6))
    with pytest.raises(DataError, match=r"not \w*Graph: pass graph\.canonical_etypes"):
        HeteroRGCN(graph, 6)
    with pytest.raises(DataError, match=r"not \['treats'\]: pass graph\.canonical_etypes"):
        HeteroRGCN(["treats"], 6)
    with pytest.raises(DataError, match="not list: pass"):
        HeteroRGCN([], 6)
    with pytest.raises(ConfigError, match="layers 0"):
        module(graph, layers=0)
    with pytest.raises(ConfigError, match="decomposition is 'none'"):
        module(graph, decomposition="none")
    with pytest.raises(ConfigError, match="blocks must divide"):
        module(graph, decomposition="block", bases=4)
