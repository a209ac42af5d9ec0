import dataclasses
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from dglkgmix.errors import DataError, StorageError, UnknownNameError
from dglkgmix.kg import catalog
from dglkgmix.kg.catalog import Entry
from tests.conftest import ROOT
from tests.kg import mirror as faults
from tests.kg.test_download import packed

# Each with its lines in the order of their bytes, so that the digest is that of the file.
FILES = {
    "train": b"a\tr\tb\nb\tr\tc\n",
    "valid": b"a\tr\tc\n",
    "test": b"c\tr\ta\n",
}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An empty cache folder."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("DGLKGMIX_DATA", str(tmp_path / "store"))
    return tmp_path / "store"


@pytest.fixture
def mirror(store):
    with faults.running() as server:
        yield server


def toy(urls, archive=None):
    return Entry(
        name="toy",
        summary="a toy",
        entities=3,
        relations=1,
        train=2,
        valid=1,
        test=1,
        licence="MIT",
        citation="none",
        urls=urls,
        digests={split: hashlib.sha256(text).hexdigest() for split, text in FILES.items()},
        archive_sha256=hashlib.sha256(archive).hexdigest() if archive else None,
    )


def from_files(mirror):
    return toy({split: mirror.add(f"/{split}.txt", text) for split, text in FILES.items()})


def from_archive(mirror, archive=None):
    archive = archive or packed(*((f"{split}.txt", text) for split, text in FILES.items()))
    return toy({"archive": mirror.add("/toy.tar.gz", archive)}, archive)


def kept(store):
    return [path for path in store.rglob("*") if path.is_file()] if store.exists() else []


class TestEntries:
    def test_the_names(self):
        assert catalog.names() == (
            *("world", "fb15k-237", "nell-995", "codex-s", "codex-m", "wn18rr", "umls"),
        )
        assert all(catalog.is_known(name) for name in catalog.names())
        assert not catalog.is_known("FB15k-237")

    @pytest.mark.parametrize("name", catalog.names())
    def test_every_entry_is_complete(self, name):
        entry = catalog.entry(name)
        assert entry.name == name
        assert entry.bundled == (name == "world")
        assert all(url.startswith("https://") for url in entry.urls.values())
        assert set(entry.urls) in ({"train", "valid", "test"}, {"archive"}, set())
        assert ("archive" in entry.urls) == (entry.archive_sha256 is not None)
        assert set(entry.digests) == {"train", "valid", "test"}
        sums = [*entry.digests.values(), *entry.file_sha256.values()]
        assert all(len(bytes.fromhex(digest)) == 32 for digest in sums)
        assert all((entry.licence, entry.citation, entry.summary))

    @pytest.mark.parametrize("name", catalog.names())
    def test_the_guide_states_the_same(self, name):
        entry = catalog.entry(name)
        counts = (entry.entities, entry.relations, entry.train, entry.valid, entry.test)
        row = " | ".join([f"| `{name}`", *(f"{count:,}" for count in counts)])
        guide = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
        assert [line.startswith(row) for line in guide.splitlines()].count(True) == 1

    def test_an_unknown_name_lists_close_matches(self):
        with pytest.raises(UnknownNameError, match="'FB15K237': did you mean fb15k-237"):
            catalog.entry("FB15K237")
        with pytest.raises(UnknownNameError, match="there are world, fb15k-237, nell-995"):
            catalog.fetch("zzz")


class TestCacheFolder:
    @pytest.mark.parametrize(
        ("chosen", "xdg", "folder"),
        [
            ("~/graphs", "/caches", "/users/me/graphs"),
            ("", "/caches", "/caches/dglkgmix"),
            ("", "", "/users/me/.cache/dglkgmix"),
            ("", "relative", "/users/me/.cache/dglkgmix"),
        ],
    )
    def test_the_variable_comes_first_then_the_platform(self, chosen, xdg, folder, monkeypatch):
        for name, value in {"DGLKGMIX_DATA": chosen, "XDG_CACHE_HOME": xdg}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("HOME", "/users/me")
        assert catalog.cache_folder() == Path(folder)

    def test_a_user_without_home_is_told_what_to_do(self, monkeypatch):
        def homeless():
            raise RuntimeError("no home")

        monkeypatch.delenv("DGLKGMIX_DATA", raising=False)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(Path, "home", homeless)
        with pytest.raises(StorageError, match="DGLKGMIX_DATA"):
            catalog.cache_folder()


class TestDigest:
    def test_the_order_of_lines_and_their_ends_do_not_matter(self):
        by_hand = hashlib.sha256(b"a\nb\nb\nc\xff\r.\n").hexdigest()
        for content in (
            b"b\na\nc\xff\r.\nb\n",
            b"\r\nc\xff\r.\r\nb\r\n\n\nb\r\na",
            b"a\nb\nb\nc\xff\r.",
        ):
            assert catalog.lines_digest(content) == by_hand
        assert catalog.lines_digest(b"a\nb\nc\xff\r.\n") != by_hand
        assert catalog.lines_digest(b"a \nb\nb\nc\xff\r.\n") != by_hand

    def test_nothing_is_the_digest_of_nothing(self):
        assert catalog.lines_digest(b"\n\r\n") == hashlib.sha256(b"").hexdigest()


class TestFetch:
    @pytest.mark.parametrize("make", [from_files, from_archive])
    def test_downloads_once_then_works_offline(self, make, mirror, store):
        entry = make(mirror)
        assert not catalog.is_cached(entry)
        steps = []
        folder = catalog.fetch(entry, progress=lambda name, _done, _total: steps.append(name))
        assert folder == store / "toy"
        assert {path.stem: path.read_bytes() for path in kept(store)} == FILES
        assert steps == [url.rpartition("/")[2] for url in entry.urls.values()]
        assert catalog.is_cached(entry)
        offline = dict.fromkeys(entry.urls, "http://127.0.0.1:1/gone")
        assert catalog.fetch(dataclasses.replace(entry, urls=offline)) == folder
        assert len(mirror.asked) == len(entry.urls)

    @pytest.mark.parametrize("make", [from_files, from_archive])
    @pytest.mark.parametrize(
        ("answer", "error", "what"),
        [
            (faults.page, DataError, "a web page"),
            (faults.half, StorageError, "broke off"),
            (faults.gateway_timeout, StorageError, "HTTP status 504"),
            (faults.silent, StorageError, "no answer within 0.4 s"),
            (faults.whole(b"a\tr\tz\n"), DataError, "nothing was kept"),
            (faults.whole(b""), DataError, "nothing was kept"),
        ],
    )
    def test_a_faulty_mirror_leaves_nothing_behind(self, make, answer, error, what, mirror, store):
        entry = make(mirror)
        last = list(entry.urls.values())[-1]
        mirror.add("/" + last.rpartition("/")[2], answer)
        with pytest.raises(error) as caught:
            catalog.fetch(entry, timeout=0.4)
        message = str(caught.value)
        assert message.startswith("toy: ")
        assert what in message
        assert last in message
        assert f"copy train.txt, valid.txt and test.txt into {store / 'toy'}" in message
        assert kept(store) == []
        assert not (store / "toy").exists()

    @pytest.mark.parametrize(
        ("members", "what"),
        [
            ([("../train.txt", FILES["train"])], "no plain file train.txt"),
            ([("train.txt", bytes(130 * 2**20))], "unpacks to more than"),
            ([("train.txt", FILES["test"])], "holds another train.txt"),
        ],
        ids=["climbs", "bomb", "other content"],
    )
    def test_a_bad_archive_leaves_nothing_behind(self, members, what, mirror, store):
        rest = [(f"{split}.txt", FILES[split]) for split in ("valid", "test")]
        with pytest.raises(DataError, match=what):
            catalog.fetch(from_archive(mirror, packed(*members, *rest)))
        assert kept(store.parent) == []

    def test_another_archive_is_refused_whatever_it_holds(self, mirror, store):
        entry = from_archive(mirror)
        again = packed(*((f"{split}.txt", text) for split, text in FILES.items()), ("new", b""))
        mirror.add("/toy.tar.gz", again)
        with pytest.raises(DataError, match="is not the published archive; nothing was kept"):
            catalog.fetch(entry)
        assert kept(store) == []

    def test_plain_files_count_as_the_cache(self, mirror, store):
        entry = from_files(mirror)
        (store / "toy").mkdir(parents=True)
        for split, text in FILES.items():
            (store / "toy" / f"{split}.txt").write_bytes(text.replace(b"\n", b"\r\n"))
        assert catalog.fetch(entry) == store / "toy"
        assert mirror.asked == []

    def test_a_changed_file_is_named_and_a_missing_one_fetched(self, mirror, store):
        entry = from_files(mirror)
        changed = catalog.fetch(entry) / "valid.txt"
        changed.write_bytes(b"mine\tr\tc\n")
        with pytest.raises(DataError, match=f"toy: {changed} is not the published file"):
            catalog.fetch(entry)
        assert changed.read_bytes() == b"mine\tr\tc\n"
        changed.unlink()
        mirror.asked.clear()
        catalog.fetch(entry)
        assert mirror.asked == ["/valid.txt"]  # the missing file alone
        assert changed.read_bytes() == FILES["valid"]

    @pytest.mark.parametrize("taken", ["store", "store/toy"])
    def test_a_folder_that_cannot_be_made(self, taken, mirror, store):
        entry = from_files(mirror)
        place = store.parent / taken
        place.parent.mkdir(exist_ok=True)
        place.write_text("a file in the way")
        with pytest.raises(StorageError, match="DGLKGMIX_DATA names another folder"):
            catalog.fetch(entry)
        assert place.read_text() == "a file in the way"

    def test_processes_at_the_same_time(self, mirror, store):
        entry = from_files(mirror)

        def slowly(handler):
            handler.wait(0.3)
            faults.whole(FILES["train"])(handler)

        mirror.add("/train.txt", slowly)
        code = f"import sys; from dglkgmix.kg.catalog import Entry, fetch\nprint(fetch({entry!r}))"
        processes = [
            subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        outputs = [process.communicate(timeout=60)[0] for process in processes]
        assert outputs == [f"{store / 'toy'}\n"] * 3
        assert {path.stem: path.read_bytes() for path in kept(store)} == FILES


def test_the_bundled_graph_needs_no_network(store):
    (store / "world").mkdir(parents=True)
    (store / "world" / "train.txt").write_text("somebody's own\n")
    folder = catalog.fetch("world")
    entry = catalog.entry("world")
    rows = {split: (folder / f"{split}.txt").read_bytes().count(b"\n") for split in FILES}
    assert rows == {"train": entry.train, "valid": entry.valid, "test": entry.test}


@pytest.mark.parametrize("name", ["fb15k-237", "nell-995", "codex-s", "codex-m"])
def test_the_published_files_pass(name, shared_data, monkeypatch):
    monkeypatch.setenv("DGLKGMIX_DATA", str(shared_data))
    entry = catalog.entry(name)
    folder = catalog.fetch(name)
    rows = {split: (folder / f"{split}.txt").read_bytes().count(b"\n") for split in FILES}
    assert rows == {"train": entry.train, "valid": entry.valid, "test": entry.test}
