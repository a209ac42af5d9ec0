"""Weights of another run, placed by name."""

import pytest
import torch

from dglkgmix.config import Config
from dglkgmix.config.toml import apply_overrides
from dglkgmix.errors import CheckpointError
from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.runs import checkpoint, run_files
from dglkgmix.runs.start import read_start
from dglkgmix.training.defaults import resolve

OLD = KnowledgeGraph.from_names([("a", "likes", "b"), ("b", "knows", "c")])
# In another order; d, e and "sees" are new.
NEW = KnowledgeGraph.from_names(
    [
        ("d", "knows", "c"),
        ("a", "sees", "d"),
        ("d", "likes", "a"),
        ("d", "sees", "e"),
        ("b", "knows", "c"),
    ]
)


def settled(kg, *options):
    given = ["model.decoder=distmult", "model.entity_dim=4", "runtime.device=cpu", *options]
    return resolve(apply_overrides(Config(), given), kg)


def stored(path, *options, kg=OLD):
    """A finished run on ``kg`` as far as a start needs it; every number of its model is its own."""
    config = settled(kg, *options)
    model = LinkPredictor.build(config.model, kg)
    with torch.no_grad():
        for number, (_, values) in enumerate(sorted(model.state_dict().items())):
            count = values.numel()
            values.copy_(100 * number + torch.arange(count).view(values.shape))
    with RunFolder.create(path, overwrite=True) as folder:
        run_files.write_graph(folder, kg)
        run_files.write_config(folder, config)
        folder.write(run_files.MODEL, checkpoint.pack_weights(model.state_dict()))
    return model


def filled(path, *options, whole=True):
    """A model on NEW before and after it got the weights of the run."""
    named = f"training.parent={path}" if whole else f"pretrain.run={path}"
    config = settled(NEW, *options, named)
    before, after = (LinkPredictor.build(config.model, NEW, seed=1) for _ in range(2))
    start = read_start(config, NEW)
    assert start is not None
    start.fill(after)
    return before, after


def rows(table, names, kg):
    return table[kg.entities.ids(names)]


def both(kg, name):
    """Rows of a relation and its reciprocal."""
    return [kg.relations.id(name), kg.relations.id(name) + kg.num_relations]


@pytest.mark.parametrize("whole", [True, False])
def test_rows_go_by_name_and_new_ones_start_as_ever(whole, tmp_path):
    old = stored(tmp_path / "run", "model.bias=true")
    before, after = filled(tmp_path / "run", "model.bias=true", whole=whole)
    table, known = after.encoder.entity_table, ["a", "b", "c"]
    assert torch.equal(rows(table, known, NEW), rows(old.encoder.entity_table, known, OLD))
    new = ["d", "e"]
    assert torch.equal(rows(table, new, NEW), rows(before.encoder.entity_table, new, NEW))
    relations, theirs = after.encoder.relation_table, old.encoder.relation_table
    for name in ("likes", "knows"):
        assert torch.equal(relations[both(NEW, name)], theirs[both(OLD, name)])
    unknown = both(NEW, "sees")
    assert torch.equal(relations[unknown], before.encoder.relation_table[unknown])
    taken = rows(old.bias, known, OLD) if whole else torch.zeros(3)
    assert torch.equal(rows(after.bias, known, NEW), taken)
    assert rows(after.bias, new, NEW).tolist() == [0, 0]


def test_all_other_parameters_are_taken_but_no_statistics_of_batch_norm(tmp_path):
    conve = ("model.decoder=conve", "model.entity_dim=18", "model.filters=2")
    old = stored(tmp_path / "run", *conve)
    before, after = filled(tmp_path / "run", *conve)
    theirs, fresh = dict(old.decoder.named_parameters()), before.decoder.state_dict()
    for name, value in after.decoder.state_dict().items():
        assert torch.equal(value, theirs[name] if name in theirs else fresh[name]), name
    assert {"projection.weight", "output_norm.bias"} <= set(theirs)
    assert set(fresh) - set(theirs)


@pytest.mark.parametrize(("kind", "name"), [("basis", "coefficients"), ("block", "blocks")])
def test_matrices_of_rgcn_go_by_relation(kind, name, tmp_path):
    options = ("model.encoder=rgcn", f"model.decomposition={kind}", "model.bases=2")
    old = stored(tmp_path / "run", *options)
    _, after = filled(tmp_path / "run", *options)
    theirs, ours = (getattr(m.encoder.layers[0].matrices, name) for m in (old, after))
    for relation in ("likes", "knows"):
        assert torch.equal(ours[both(NEW, relation)], theirs[both(OLD, relation)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("model.entity_dim=6",), r"entity_table, without its rows, is of shape \(4,\) there and"),
        (("model.decoder=complex",), "model.decoder is 'distmult' and this training's 'complex'"),
        (("model.encoder=rgcn",), "model.encoder is 'lookup' and this training's 'rgcn'"),
        (("model.bias=true",), r"bias, without its rows, is missing there and of shape \(\) here"),
    ],
)
def test_a_run_of_another_model_is_refused(options, message, tmp_path):
    stored(tmp_path / "run")
    with pytest.raises(CheckpointError, match=message):
        filled(tmp_path / "run", *options)


def test_what_a_run_has_and_the_model_lacks_is_refused(tmp_path):
    stored(tmp_path / "run", "model.bias=true")
    with pytest.raises(CheckpointError, match=r"is of shape \(\) there and missing here: give"):
        filled(tmp_path / "run")


def test_a_run_without_a_name_of_the_graph_is_refused(tmp_path):
    other = KnowledgeGraph.from_names([("x", "likes", "y")])
    stored(tmp_path / "run", kg=other)
    with pytest.raises(CheckpointError, match=r"no entity of this graph is in it \('x' there"):
        filled(tmp_path / "run")
    stored(tmp_path / "run", kg=KnowledgeGraph.from_names([("a", "hates", "b")]))
    with pytest.raises(CheckpointError, match=r"no relation of this graph is in it \('hates'"):
        filled(tmp_path / "run")


def test_an_unfinished_or_damaged_run_is_refused(tmp_path):
    with RunFolder.create(tmp_path / "run") as folder:
        run_files.write_graph(folder, OLD)
        run_files.write_config(folder, settled(OLD))
    with pytest.raises(CheckpointError, match=r"not finished; resume with: .* --resume"):
        filled(tmp_path / "run")
    stored(tmp_path / "run")
    (tmp_path / "run" / run_files.MODEL).write_bytes(b"cut")
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        filled(tmp_path / "run")


def test_it_says_how_much_the_run_knows(tmp_path):
    stored(tmp_path / "run")
    start = read_start(settled(NEW, f"training.parent={tmp_path / 'run'}"), NEW)
    assert start is not None
    assert str(start).endswith("run, which knows 3 of 5 entities and 2 of 3 relations")
    assert [NEW.entities[i] for i in start.new.nonzero().flatten().tolist()] == ["d", "e"]
    assert read_start(settled(NEW), NEW) is None


def test_held_out_triples_that_the_run_was_trained_on_are_counted(tmp_path):
    stored(tmp_path / "run")
    held_out = [("a", "likes", "b"), ("b", "likes", "a"), ("c", "likes", "d"), ("b", "knows", "c")]
    kg = KnowledgeGraph.from_names([("c", "knows", "d")], held_out[:2], held_out[2:])
    start = read_start(settled(kg, f"training.parent={tmp_path / 'run'}"), kg)
    assert start is not None
    assert start.seen == 2  # The first and the last.
