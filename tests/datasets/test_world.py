"""Is the bundled graph what it says, and does it agree with itself?"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from itertools import chain

import pytest
from babel import Locale

from dglkgmix import datasets
from dglkgmix.datasets import build_world
from dglkgmix.kg import catalog
from tests.conftest import ROOT

Triple = tuple[str, str, str]


def rows(split: str) -> list[Triple]:
    text = datasets.path(f"world/{split}.txt").read_text(encoding="utf-8")
    return [tuple(line.split("\t")) for line in text.splitlines()]


SPLITS = {split: rows(split) for split in ("train", "valid", "test")}
ALL = list(chain(*SPLITS.values()))
COUNTRIES = {row["name"]: row for row in build_world.read_table("countries.csv")}


def tails(relation: str, triples: list[Triple] = ALL) -> dict[str, set[str]]:
    """Head -> tails of a relation."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for head, name, tail in triples:
        if name == relation:
            found[head].add(tail)
    return found


def heads(relation: str) -> dict[str, set[str]]:
    """Tail -> heads of a relation."""
    return tails(relation, [triple[::-1] for triple in ALL])


class TestFiles:
    def test_a_new_build_gives_the_same_files(self, tmp_path: object) -> None:
        build_world.build(tmp_path)
        for split in SPLITS:
            built = (tmp_path / f"{split}.txt").read_bytes()
            assert built == datasets.path(f"world/{split}.txt").read_bytes(), split

    def test_the_catalog_counts_it_right(self) -> None:
        entry = catalog.entry("world")
        assert {s: len(triples) for s, triples in SPLITS.items()} == {
            "train": entry.train,
            "valid": entry.valid,
            "test": entry.test,
        }
        assert len({name for h, _, t in ALL for name in (h, t)}) == entry.entities
        assert len({relation for _, relation, _ in ALL}) == entry.relations
        for split, digest in entry.digests.items():
            content = datasets.path(f"world/{split}.txt").read_bytes()
            assert catalog.lines_digest(content) == digest

    def test_the_readme_counts_it_right(self) -> None:
        readme = datasets.path("README.md").read_text(encoding="utf-8")
        rows = [line.strip("| ").split(" | ") for line in readme.splitlines() if "→" in line]
        stated = {row[0]: int(row[2]) for row in rows if row[0] != "relation"}
        assert stated == Counter(relation for _, relation, _ in ALL)
        assert f"{len(ALL):,} triples" in readme

    def test_the_guide_tells_the_truth(self) -> None:
        guide = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
        example = guide.split("```text\n")[1].split("\n```")[0]
        facts = [tuple(re.split(r" {2,}", line)) for line in example.splitlines()]
        assert len(facts) == 4
        assert set(facts) <= set(ALL)

    def test_rows_are_clean(self) -> None:
        assert len(set(ALL)) == len(ALL)
        assert not [triple for triple in ALL if len(triple) != 3 or triple[0] == triple[2]]
        names = {name for triple in ALL for name in triple}
        assert not [n for n in names if n != unicodedata.normalize("NFC", n).strip() or not n]

    def test_tails_are_rare_and_frequent(self) -> None:
        """Test queries, both directions, by tail-relation degree: every bin is populated."""
        degree = Counter(
            pair for h, r, t in SPLITS["train"] for pair in ((t, r, "tail"), (h, r, "head"))
        )
        asked = [
            degree[pair] for h, r, t in SPLITS["test"] for pair in ((t, r, "tail"), (h, r, "head"))
        ]
        zero, low = sum(d == 0 for d in asked), sum(1 <= d < 10 for d in asked)
        medium, high = sum(10 <= d < 50 for d in asked), sum(d >= 50 for d in asked)
        assert min(zero, low) >= 250
        assert medium >= 100
        assert high >= 30


class TestSplit:
    def test_every_name_of_valid_and_test_is_in_train(self) -> None:
        known = {name for triple in SPLITS["train"] for name in triple}
        for split in ("valid", "test"):
            assert {name for triple in SPLITS[split] for name in triple} <= known

    def test_a_tenth_each(self) -> None:
        assert len(SPLITS["valid"]) == len(SPLITS["test"]) == len(ALL) // 10

    def test_no_pair_of_entities_is_in_two_splits(self) -> None:
        """Neither backwards nor under another relation."""
        pairs = {s: {frozenset((h, t)) for h, _, t in triples} for s, triples in SPLITS.items()}
        assert not pairs["train"] & pairs["valid"]
        assert not pairs["train"] & pairs["test"]
        assert not pairs["valid"] & pairs["test"]


class TestCountries:
    def test_they_are_the_members_and_observers_of_the_united_nations(self) -> None:
        continents = Counter(
            continent
            for name, row in COUNTRIES.items()
            for continent in tails("continent")[name]
            if continent not in build_world.read_lines("further_continents.txt").get(name, [])
        )
        assert continents == {
            "Africa": 54,
            "Asia": 48,
            "Europe": 44,
            "North America": 23,
            "South America": 12,
            "Oceania": 14,
        }

    def test_codes_belong_to_the_names(self) -> None:
        others = {
            "CD": "Democratic Republic of the Congo",
            "CG": "Republic of the Congo",
            "CV": "Cabo Verde",
            "FM": "Federated States of Micronesia",
            "MM": "Myanmar",
            "PS": "Palestine",
        }
        english = Locale("en").territories
        for name, row in COUNTRIES.items():
            cldr = english[row["code"]].replace("St. ", "Saint ").replace(" & ", " and ")
            cldr = cldr.replace("Vincent and Gren", "Vincent and the Gren").replace("’", "'")
            assert name == others.get(row["code"], cldr)

    def test_each_has_one_capital_or_a_stated_reason(self) -> None:
        capitals = tails("capital")
        lines = datasets.path("facts/capital_exceptions.txt").read_text(encoding="utf-8")
        reasons = dict(line.split(": ", 1) for line in lines.splitlines() if line[0] != "#")
        assert {name for name in COUNTRIES if len(capitals[name]) != 1} == set(reasons)
        assert all(len(reason) > 15 for reason in reasons.values())
        assert all(len(of) == 1 for of in heads("capital").values())

    def test_each_has_the_facts_that_every_country_has(self) -> None:
        for relation in ("region", "continent", "currency", "drives on"):
            assert set(tails(relation)) == set(COUNTRIES), relation
        no_language = {"Burkina Faso", "Eritrea", "Niger"}
        assert set(COUNTRIES) - set(tails("official language")) == no_language
        assert set(COUNTRIES) - set(tails("form of state")) == {"Afghanistan", "Libya"}

    def test_borders_are_symmetric(self) -> None:
        borders = tails("borders")
        assert all(name in borders[other] for name in borders for other in borders[name])

    def test_some_borders(self) -> None:
        borders = tails("borders")
        assert borders["Portugal"] == {"Spain"}
        assert len(borders["China"]) == len(borders["Russia"]) == 14
        assert borders["Germany"] == {
            *("Austria", "Belgium", "Czechia", "Denmark", "France", "Luxembourg"),
            *("Netherlands", "Poland", "Switzerland"),
        }

    def test_a_country_has_a_coast_or_is_landlocked(self) -> None:
        landlocked = heads("is a")["landlocked country"]
        assert len(landlocked) == 44
        coast = {h for h, r, t in ALL if r == "coast on" and t != "Caspian Sea"}
        assert not landlocked & coast
        assert landlocked | coast == set(COUNTRIES)
        assert not landlocked & heads("is a")["island country"]

    def test_only_island_countries_lack_neighbours(self) -> None:
        lonely = set(COUNTRIES) - set(tails("borders"))
        assert lonely <= heads("is a")["island country"] | {"Australia"}


@pytest.mark.parametrize(
    ("organisation", "members"),
    [
        ("African Union", 54),
        ("Arab League", 22),
        ("Association of Southeast Asian Nations", 11),
        ("Caribbean Community", 14),
        ("Commonwealth of Nations", 56),
        ("Council of Europe", 46),
        ("East African Community", 8),
        ("Economic Community of West African States", 12),
        ("European Union", 27),
        ("Group of Seven", 7),
        ("Group of Twenty", 19),
        ("Nordic Council", 5),
        ("North Atlantic Treaty Organization", 32),
        ("Organisation for Economic Co-operation and Development", 38),
        ("Organisation of Islamic Cooperation", 57),
        ("Pacific Islands Forum", 14),
        ("Schengen Area", 29),
        ("Southern African Development Community", 16),
    ],
)
def test_organisations_have_their_number_of_members(organisation: str, members: int) -> None:
    assert len(heads("member of")[organisation]) == members


class TestPlaces:
    """Facts of different files agree on which country a place is in."""

    def waters(self) -> dict[str, set[str]]:
        """River, lake or sea -> countries on it."""
        return {**heads("coast on"), **heads("shore on"), **tails("flows through")}

    def test_a_river_ends_in_one_of_its_countries(self) -> None:
        waters = self.waters()
        for river, mouths in tails("flows into").items():
            for mouth in mouths:
                assert waters[river] & waters[mouth], (river, mouth)

    def test_a_city_lies_on_water_of_its_country(self) -> None:
        waters, capital, largest = self.waters(), heads("capital"), heads("largest city")
        for city, several in tails("lies on").items():
            for water in several:
                home = capital.get(city, set()) | largest.get(city, set())
                assert home & waters[water], (city, water)

    def test_an_island_lies_off_one_of_its_countries(self) -> None:
        waters, owners = self.waters(), heads("island")
        for island, seas in tails("lies in").items():
            for sea in seas:
                assert owners[island] & waters[sea], (island, sea)

    def test_a_mountain_stands_in_a_range_of_its_country(self) -> None:
        ranges, owners = heads("mountain range"), heads("highest mountain")
        for mountain in owners:
            for range_ in tails("part of")[mountain]:
                assert owners[mountain] <= ranges[range_], (mountain, range_)

    def test_countries_of_a_river_are_neighbours(self) -> None:
        borders = tails("borders")
        for river, countries in tails("flows through").items():
            lonely = [c for c in countries if len(countries) > 1 and not borders[c] & countries]
            assert not lonely, (river, lonely)

    def test_every_language_is_official_somewhere(self) -> None:
        languages = {row["name"] for row in build_world.read_table("languages.csv")}
        assert set(heads("official language")) == languages
        assert set(tails("written in")) == set(tails("language family")) == languages
