import pytest

from dglkgmix.errors import CheckpointError
from dglkgmix.runs.history import COLUMNS, Row, TensorBoard, from_csv, to_csv, to_rows

ROWS = [
    Row("pretrain", 1, 0.1 + 0.2, 0.3, 0.0, 0, 8, 2, 1e-3, 4.5, 9.0, 0.25, None, 0),
    Row("train", 1, 1 / 3, 0.25, 1 / 12, 40, 8, 2, 5e-5, 4.5, 9.0, 0.25, 0.6180339887498949, 3),
]


def test_csv_round_trip_is_exact():
    data = to_csv(ROWS)
    header, first, _ = data.decode().splitlines()
    assert header == ",".join(COLUMNS)
    assert first.endswith(",,0,")  # What was not validated is empty.
    assert to_rows(from_csv(data)) == ROWS


def test_a_history_of_0_1_0_has_no_goal():
    lines = [line.rpartition(",")[0] for line in to_csv(ROWS).decode().splitlines()]
    assert to_rows(from_csv("\n".join(lines).encode())) == ROWS


@pytest.mark.parametrize(
    "data",
    [
        b"epoch,loss\n1,2\n",
        to_csv(ROWS).replace(b"pretrain,1,", b"pretrain,one,"),
        to_csv(ROWS) + b"train,2\n",
        b"\xff\xfe",
        b"",
    ],
)
def test_damaged_csv_is_one_error(data):
    with pytest.raises(CheckpointError, match=r"history"):
        to_rows(from_csv(data))


def test_rows_with_other_columns_are_refused():
    with pytest.raises(CheckpointError, match="history"):
        to_rows([{"stage": "train", "epoch": 1, "colour": 3}])


@pytest.mark.filterwarnings("ignore")
def test_tensorboard_holds_each_number_at_its_epoch(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    board = TensorBoard(tmp_path)
    for row in ROWS:
        board.write(row)
    board.close()
    events = EventAccumulator(str(tmp_path / "train")).Reload()
    (event,) = events.Scalars("valid_mrr")
    assert event.step == 1
    assert event.value == pytest.approx(0.618034, abs=1e-6)
    first = EventAccumulator(str(tmp_path / "pretrain")).Reload()
    assert "valid_mrr" not in first.Tags()["scalars"]
