import dataclasses
import io

from dglkgmix.runs.history import Row
from dglkgmix.training.progress import BarProgress, LineProgress, Progress, make_progress


def row(epoch, mrr=None, samples=0, goal=None):
    losses = (12.345, 10.0, 2.345)
    goal = mrr if goal is None else goal
    return Row("train", epoch, *losses, samples, 1000, 4, 1e-3, 1.0, 1.0, 0.5, mrr, 0, goal)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(progress, rows):
    progress.start_stage("train", 1, 3, 4)
    for item in rows:
        for _ in range(4):
            progress.batch(250)
        progress.epoch(item)
    progress.end_stage()


def test_lines_tell_epoch_losses_speed_mrr_and_time_left():
    stream = io.StringIO()
    run(LineProgress(stream, interval=0), [row(1), row(2, 0.25, 500), row(3, 0.5, goal=0.125)])
    first, second, third = stream.getvalue().splitlines()
    assert first.startswith("train 1/3 loss 12.35")
    assert "2,000 triples/s" in first
    assert "synthetic" not in first
    assert "valid MRR" not in first
    assert "(graph 10, synthetic 2.345)" in second
    assert "3,000 triples/s" in second
    assert "valid MRR 0.2500  " in second
    assert "valid MRR 0.5000 (goal 0.1250)" in third
    assert third.endswith("0:00 left at most")
    assert "\r" not in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_fast_epochs_share_lines_but_validations_and_the_last_one_show():
    stream = io.StringIO()
    rows = [row(1), row(2), row(3)]
    run(LineProgress(stream, interval=1000), rows)
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == ["1/3", "3/3"]
    stream = io.StringIO()
    run(LineProgress(stream, interval=1000), [row(1), row(2, 0.1), row(3)])
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == ["1/3", "2/3", "3/3"]


def test_a_bar_shows_the_same_on_a_terminal():
    stream = Terminal()
    run(BarProgress(stream), [row(1), row(2, 0.25), row(3)])
    text = stream.getvalue()
    assert "train 3/3" in text
    assert "100%" in text
    assert "valid MRR 0.2500" in text
    run(BarProgress(stream), [dataclasses.replace(row(1, 0.25), averaged=1)])
    assert "valid MRR of the average 0.2500" in stream.getvalue()
    assert "2,000 triples/s" in text


def test_a_resumed_bar_starts_where_it_was():
    stream = Terminal()
    progress = BarProgress(stream)
    progress.start_stage("train", 3, 4, 10)
    progress.end_stage()
    assert "train 3/4" in stream.getvalue()
    assert " 50%" in stream.getvalue()


def test_ending_twice_or_before_a_start_is_harmless():
    progress = BarProgress(Terminal())
    progress.end_stage()
    progress.start_stage("train", 1, 1, 1)
    progress.end_stage()
    progress.end_stage()


def test_the_stream_decides_and_quiet_says_nothing():
    assert isinstance(make_progress(stream=Terminal()), BarProgress)
    assert isinstance(make_progress(stream=io.StringIO()), LineProgress)
    silent = make_progress(quiet=True)
    assert type(silent) is Progress
    run(silent, [row(1)])
    silent.message("not shown")


def test_messages_go_to_the_stream():
    for stream, kind in ((io.StringIO(), LineProgress), (Terminal(), BarProgress)):
        kind(stream).message("hello")
        assert "hello" in stream.getvalue()
