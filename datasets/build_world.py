"""Builds ``world``, the bundled graph: ``python -m dglkgmix.datasets.build_world``.

Facts come from the hand-written files in ``facts/`` and, for official languages, currencies and
scripts, from the Unicode CLDR through Babel. The same facts give the same files to the byte: the
split hangs on a hash of each fact, so that a new fact leaves most others where they are.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

Triple = tuple[str, str, str]

FACTS = Path(__file__).with_name("facts")
WORLD = Path(__file__).with_name("world")
CURRENCIES_ON = date(2026, 6, 1)
HELD_OUT = ("test", "valid")
HELD_OUT_SHARE = 10  # one triple in ten goes to each


@dataclass(frozen=True)
class Source:
    """One file of lines ``key: value, value``, and the relation that it states."""

    file: str
    relation: str
    head: str
    tail: str
    key_is_head: bool = True


SOURCES = (
    Source("borders.txt", "borders", "country", "country"),
    Source("further_continents.txt", "continent", "country", "region"),
    Source("highest_mountains.txt", "highest mountain", "country", "mountain"),
    Source("rivers.txt", "flows through", "river", "country"),
    Source("regions.txt", "part of", "region", "region", key_is_head=False),
    Source("island_countries.txt", "is a", "country", "type", key_is_head=False),
    Source("time_zones.txt", "time zone", "country", "time zone", key_is_head=False),
    Source("organisations.txt", "member of", "country", "organisation", key_is_head=False),
    Source("coasts.txt", "coast on", "country", "sea", key_is_head=False),
    Source("seas.txt", "part of", "sea", "sea", key_is_head=False),
    Source("mouths.txt", "flows into", "river", "sea|lake|river", key_is_head=False),
    Source("lakes.txt", "shore on", "country", "lake", key_is_head=False),
    Source("cities_on_water.txt", "lies on", "city", "sea|lake|river", key_is_head=False),
    Source("mountain_ranges.txt", "mountain range", "country", "range", key_is_head=False),
    Source("mountains_in_ranges.txt", "part of", "mountain", "range", key_is_head=False),
    Source("islands.txt", "island", "country", "island", key_is_head=False),
    Source("islands_in_seas.txt", "lies in", "island", "sea", key_is_head=False),
    Source("families.txt", "part of", "family", "family", key_is_head=False),
)
# Column of countries.csv (also its relation): the kind of what stands in it.
COLUMNS = {
    "region": "region",
    "capital": "city",
    "largest city": "city",
    "drives on": "side of the road",
    "form of state": "form of state",
    "independent from": "country|former state",
    "independent since": "decade",
}
FORMER_STATES = {
    "Czechoslovakia",
    "Ottoman Empire",
    "Serbia and Montenegro",
    "Soviet Union",
    "Yugoslavia",
}


@dataclass(frozen=True)
class Fact:
    """A triple with what its head and tail are; ``a|b`` where the relation allows several."""

    triple: Triple
    head_kind: str
    tail_kind: str


def read_lines(name: str) -> dict[str, list[str]]:
    """The lines ``key: value, value`` of a file of facts, comments aside."""
    lines = (FACTS / name).read_text(encoding="utf-8").splitlines()
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("#"):
            continue
        key, colon, values = line.partition(":")
        if not colon or key in found:
            raise ValueError(f"{name}: line {line!r} has no colon, or its key stands twice")
        found[key] = [value.strip() for value in values.split(",") if value.strip()]
    return found


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file of facts."""
    with (FACTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def facts() -> list[Fact]:
    """Every fact, checked: no name without its declaration, none that is two kinds of thing."""
    found = [fact for source in SOURCES for fact in _listed(source)]
    found += _of_countries() + _of_languages()
    found += _landlocked(found)
    check(found)
    return found


def _listed(source: Source) -> Iterator[Fact]:
    for key, values in read_lines(source.file).items():
        for value in values:
            head, tail = (key, value) if source.key_is_head else (value, key)
            yield Fact((head, source.relation, tail), source.head, source.tail)


def _of_countries() -> list[Fact]:
    continents = {
        region: continent
        for continent, regions in read_lines("regions.txt").items()
        for region in regions
    }
    found = []
    for row in read_table("countries.csv"):
        country = row["name"]
        for relation, kind in COLUMNS.items():
            for value in filter(None, row[relation].split(";")):
                tail = f"{value[:-1]}0s" if kind == "decade" else value
                found.append(Fact((country, relation, tail), "country", kind))
        continent = continents.get(row["region"], row["region"])
        found.append(Fact((country, "continent", continent), "country", "region"))
        found += [
            Fact((country, "currency", name), "country", "currency") for name in _currencies(row)
        ]
    return found


def _currencies(row: dict[str, str]) -> list[str]:
    from babel import Locale
    from babel.numbers import get_territory_currencies

    corrected = read_lines("currencies.txt").get(row["name"])
    if corrected is not None:
        return corrected
    names = Locale("en").currencies
    return [names[code] for code in get_territory_currencies(row["code"], CURRENCIES_ON)]


def _of_languages() -> list[Fact]:
    from babel.languages import get_official_languages

    languages = {row["code"]: row for row in read_table("languages.csv")}
    corrected = read_lines("official_languages.txt")
    found = []
    for row in read_table("countries.csv"):
        codes = get_official_languages(row["code"], de_facto=True)
        # A code with an underscore is a second script of a language that stands there anyway.
        names = corrected.get(row["name"]) or (
            []
            if row["name"] in corrected
            else [languages[code]["name"] for code in codes if "_" not in code]
        )
        found += [Fact((row["name"], "official language", n), "country", "language") for n in names]
    for code, row in languages.items():
        found.append(Fact((row["name"], "language family", row["family"]), "language", "family"))
        found += [
            Fact((row["name"], "written in", script), "language", "script")
            for script in _scripts(code, row["name"])
        ]
    return found


def _scripts(code: str, language: str) -> list[str]:
    from babel import Locale
    from babel.core import get_global

    corrected = read_lines("scripts.txt").get(language)
    if corrected is not None:
        return corrected
    script = get_global("likely_subtags")[code].split("_")[1]
    return [f"{Locale('en').scripts[script]} script"]


def _landlocked(found: Iterable[Fact]) -> list[Fact]:
    coast = {
        head
        for head, relation, tail in (fact.triple for fact in found)
        if relation == "coast on" and tail != "Caspian Sea"
    }
    countries = (row["name"] for row in read_table("countries.csv"))
    return [
        Fact((country, "is a", "landlocked country"), "country", "type")
        for country in countries
        if country not in coast
    ]


def check(found: Iterable[Fact]) -> None:
    """Refuses a fact stated twice and a name that is not of exactly one kind.

    Of no kind is, for one, a misspelt sea or country, which no file declares.
    """
    found = list(found)
    twice = [triple for triple, n in Counter(fact.triple for fact in found).items() if n > 1]
    kinds: dict[str, set[str]] = {}
    for fact in found:
        head, _, tail = fact.triple
        for name, kind in ((head, fact.head_kind), (tail, fact.tail_kind)):
            kinds[name] = kinds.get(name, set(kind.split("|"))) & set(kind.split("|"))
    declared = _declared()
    stray = [
        name
        for name, several in kinds.items()
        if sum(name in declared.get(kind, {name}) for kind in several) != 1
    ]
    if twice or stray:
        raise ValueError(f"stated twice: {twice}; not of exactly one declared kind: {stray}")


def _declared() -> dict[str, set[str]]:
    """For the kinds whose names one file declares: those names."""
    countries = read_table("countries.csv")
    regions = read_lines("regions.txt")
    languages = read_table("languages.csv")
    cities = (row[column].split(";") for row in countries for column in ("capital", "largest city"))
    return {
        "country": {row["name"] for row in countries},
        "former state": FORMER_STATES,
        "city": {city for several in cities for city in several},
        "region": {*regions, *(r for several in regions.values() for r in several)}
        | {"South America"},
        "language": {row["name"] for row in languages},
        "sea": set(read_lines("coasts.txt")),
        "lake": set(read_lines("lakes.txt")),
        "river": set(read_lines("rivers.txt")),
        "range": set(read_lines("mountain_ranges.txt")),
        "island": set(read_lines("islands.txt")),
        "mountain": {
            m for several in read_lines("highest_mountains.txt").values() for m in several
        },
    }


def split(triples: Iterable[Triple]) -> dict[str, list[Triple]]:
    """Train, valid and test: a tenth of the triples each for the latter two.

    All triples of one pair of entities, in either direction and under any relation, go to the same
    split, so that no held-out fact can be read off a training triple (``borders`` backwards, a
    capital that is also the largest city). Each entity and relation keeps a training triple.
    """
    units: defaultdict[frozenset[str], list[Triple]] = defaultdict(list)
    for head, relation, tail in sorted(triples):
        units[frozenset((head, tail))].append((head, relation, tail))
    left = Counter(name for unit in units.values() for triple in unit for name in triple)
    parts: dict[str, list[Triple]] = {"train": [], "valid": [], "test": []}
    quota = sum(map(len, units.values())) // HELD_OUT_SHARE
    for unit in sorted(units.values(), key=_lot):
        names = Counter(name for triple in unit for name in triple)
        spare = all(left[name] > n for name, n in names.items())
        room = [name for name in HELD_OUT if len(parts[name]) + len(unit) <= quota]
        if spare and room:
            left -= names
        parts[room[0] if spare and room else "train"] += unit
    return {name: sorted(part) for name, part in parts.items()}


def _lot(unit: list[Triple]) -> bytes:
    """The place of a unit in the draw: fixed by its own text alone."""
    return hashlib.sha256("\n".join("\t".join(triple) for triple in unit).encode()).digest()


def build(folder: Path) -> dict[str, int]:
    """Writes train.txt, valid.txt and test.txt; returns their numbers of rows."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = split(fact.triple for fact in facts())
    for name, triples in parts.items():
        text = "".join("\t".join(triple) + "\n" for triple in triples)
        (folder / f"{name}.txt").write_text(text, encoding="utf-8", newline="\n")
    return {name: len(triples) for name, triples in parts.items()}


if __name__ == "__main__":
    sys.stdout.write(f"{build(WORLD)}\n")
