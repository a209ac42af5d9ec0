import json

import pytest

from dglkgmix.errors import CheckpointError
from dglkgmix.experiments.search_record import RECORD, claim


def test_a_folder_is_taken_once_and_found_again(tmp_path):
    claim(tmp_path, {"goal": "mrr"}, "best.toml")
    (tmp_path / "best.toml").touch()
    claim(tmp_path, {"goal": "mrr"}, "best.toml")
    assert json.loads((tmp_path / RECORD).read_text()) == {"goal": "mrr"}


def test_what_differs_is_told_and_a_long_list_cut(tmp_path):
    claim(tmp_path, {"goal": "mrr", "old": "1"}, "best.toml")
    with pytest.raises(CheckpointError) as caught:
        claim(tmp_path, {"goal": "low"}, "best.toml")
    expected = "goal was mrr and is low now; old was 1 and is left out now. Choose another folder"
    assert expected in str(caught.value)
    with pytest.raises(CheckpointError, match=r"; and 2 more\. Choose"):
        claim(tmp_path, {"goal": "low", **dict.fromkeys("abc", "2")}, "best.toml")
    assert json.loads((tmp_path / RECORD).read_text()) == {"goal": "mrr", "old": "1"}


@pytest.mark.parametrize("damage", ["{", "[]"])
def test_a_damaged_record_is_refused_and_may_be_replaced(tmp_path, damage):
    (tmp_path / RECORD).write_text(damage)
    with pytest.raises(CheckpointError, match=r"search\.json: damaged"):
        claim(tmp_path, {"goal": "mrr"}, "best.toml")
    claim(tmp_path, {"goal": "mrr"}, "best.toml", overwrite=True)
    assert json.loads((tmp_path / RECORD).read_text()) == {"goal": "mrr"}


def test_a_result_of_nobody_knows_what_is_not_replaced(tmp_path):
    (tmp_path / "best.toml").touch()
    with pytest.raises(CheckpointError, match="exists, and of no known search"):
        claim(tmp_path, {}, "best.toml")
    assert not (tmp_path / RECORD).exists()
