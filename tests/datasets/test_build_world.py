from __future__ import annotations

from pathlib import Path

import pytest

from dglkgmix.datasets import build_world
from dglkgmix.datasets.build_world import Fact, Triple


class TestReadLines:
    def read(self, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> object:
        (folder / "some.txt").write_text(text, encoding="utf-8")
        monkeypatch.setattr(build_world, "FACTS", folder)
        return build_world.read_lines("some.txt")

    def test_keys_and_values(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        text = "# a comment: no, fact\nNew Land: Old Land,  Far Land\nAtoll:\n"
        expected = {"New Land": ["Old Land", "Far Land"], "Atoll": []}
        assert self.read(text, tmp_path, monkeypatch) == expected

    @pytest.mark.parametrize("text", ["New Land, Old Land\n", "A: B\nA: C\n"])
    def test_slips(self, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ValueError, match=r"some\.txt: line"):
            self.read(text, tmp_path, monkeypatch)


class TestCheck:
    def fact(self, *triple: str, kinds: tuple[str, str] = ("country", "country")) -> Fact:
        head, relation, tail = triple
        return Fact((head, relation, tail), *kinds)

    def test_good_facts_pass(self) -> None:
        build_world.check(build_world.facts())

    def test_a_misspelt_country(self) -> None:
        with pytest.raises(ValueError, match="Germny"):
            build_world.check([self.fact("France", "borders", "Germny")])

    def test_a_misspelt_sea_where_several_kinds_may_stand(self) -> None:
        mouth = self.fact("Rhine", "flows into", "Nort Sea", kinds=("river", "sea|lake|river"))
        with pytest.raises(ValueError, match="Nort Sea"):
            build_world.check([mouth])

    def test_a_name_of_two_kinds(self) -> None:
        facts = [
            self.fact("France", "currency", "Franc", kinds=("country", "currency")),
            self.fact("France", "mountain", "Franc", kinds=("country", "peak")),
        ]
        with pytest.raises(ValueError, match=r"not of exactly one declared kind: \['Franc'\]"):
            build_world.check(facts)

    def test_a_fact_stated_twice(self) -> None:
        with pytest.raises(ValueError, match=r"stated twice: .*'Spain'"):
            build_world.check([self.fact("France", "borders", "Spain")] * 2)


class TestSplit:
    def pairs(self) -> list[Triple]:
        """A ring of 40 with both directions, and a second relation on every other pair."""
        ring = [(f"n{i}", f"n{(i + 1) % 40}") for i in range(40)]
        return [
            *((a, "next to", b) for a, b in ring),
            *((b, "next to", a) for a, b in ring),
            *((a, "likes", b) for a, b in ring[::2]),
        ]

    def test_all_triples_of_a_pair_stay_together(self) -> None:
        parts = build_world.split(self.pairs())
        assert sorted(t for part in parts.values() for t in part) == sorted(self.pairs())
        where = {(frozenset((h, t)), name) for name, part in parts.items() for h, _, t in part}
        assert len(where) == 40
        assert 8 <= len(parts["valid"]) <= len(self.pairs()) // 10
        assert 8 <= len(parts["test"]) <= len(self.pairs()) // 10

    def test_every_name_keeps_a_training_triple(self) -> None:
        star = [(f"leaf {i}", "on", "stem") for i in range(30)]
        lone = [("stem", "is", "green")]
        parts = build_world.split(star + lone)
        assert parts["valid"] == parts["test"] == []
        twice = star + [(f"leaf {i}", "under", "sky") for i in range(30)]
        parts = build_world.split(twice)
        known = {name for triple in parts["train"] for name in triple}
        assert len(parts["valid"]) == len(parts["test"]) == 6
        assert {name for triple in twice for name in triple} == known

    def test_the_order_of_facts_does_not_matter(self) -> None:
        assert build_world.split(self.pairs()) == build_world.split(self.pairs()[::-1])
