"""Triples from N-Triples and Turtle, read by pyoxigraph (extra ``rdf``).

Names: an IRI without its angle brackets; a blank node as ``_:label``; a literal in its N-Triples
form, quotes and language or datatype included (``"12"^^<http://…#integer>``). No two of these can
be equal, and literals are kept: whoever does not want them removes them knowingly.

A label of a blank node means the same node in every file of a folder, as its files are splits of
one graph. Nodes that Turtle leaves without a label are named ``_:[file:number]``, no label.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from dglkgmix.errors import DataError, DependencyError
from dglkgmix.kg.options import strip_compression
from dglkgmix.kg.tables import Codes, TripleTable, encode_fields, merge

_ROWS_AT_ONCE = 100_000
_PLACE = re.compile(r"^Parser error at (line \d+ )?")


def read_rdf(stream: BinaryIO, name: str, format_name: str) -> TripleTable:
    """All triples of an RDF document of the format "ntriples" or "turtle".

    Raises:
        DataError: "name:line: what" where the document breaks its format.
        DependencyError: pyoxigraph is not installed.
    """
    ox = _pyoxigraph()
    text = stream.read().removeprefix(b"\xef\xbb\xbf")
    try:
        if format_name == "ntriples":
            triples = ox.parse(input=text, format=ox.RdfFormat.N_TRIPLES)
            return merge(list(_parts(ox, name, ((triple, triple) for triple in triples))))
        # pyoxigraph gives a node without a label a random one, another one at each reading.
        readings = [ox.parse(input=text, format=ox.RdfFormat.TURTLE) for _ in range(2)]
        return merge(list(_parts(ox, name, zip(*readings, strict=True))))
    except SyntaxError as error:
        what = _PLACE.sub("", str(error.msg))
        raise DataError(f"{name}:{error.lineno or 1}: {what}") from None


def _parts(ox: Any, name: str, pairs: Iterable[Any]) -> Iterator[tuple[pa.Array, Codes]]:
    """Names and codes; ``pairs`` holds each triple as two readings gave it."""
    file = strip_compression(Path(name)).name
    unlabelled: dict[str, str] = {}
    fields: list[str] = []
    for triple, again in pairs:
        for term, other in zip(tuple(triple)[:3], tuple(again)[:3], strict=True):
            if isinstance(term, ox.NamedNode):
                fields.append(term.value)
            elif isinstance(term, ox.Literal):
                fields.append(str(term))
            elif not isinstance(term, ox.BlankNode):
                raise DataError(f"{name}: a triple that speaks about a triple: {term}")
            elif term == other:
                fields.append(f"_:{term.value}")
            else:
                number = len(unlabelled) + 1
                fields.append(unlabelled.setdefault(term.value, f"_:[{file}:{number}]"))
        if len(fields) >= 3 * _ROWS_AT_ONCE:
            yield encode_fields(pa.array(fields, pa.large_string()))
            fields = []
    if fields:
        yield encode_fields(pa.array(fields, pa.large_string()))


def _pyoxigraph() -> Any:
    try:
        import pyoxigraph
    except ImportError:
        raise DependencyError(
            "N-Triples and Turtle need pyoxigraph: pip install 'dglkgmix[rdf]'"
        ) from None
    return pyoxigraph
