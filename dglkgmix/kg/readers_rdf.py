"""Triples from N-Triples and Turtle, read by pyoxigraph (extra ``rdf``).

Names: an IRI without its angle brackets; a blank node as ``_:label``; a literal in its N-Triples
form, quotes and language or datatype included (``"12"^^<http://…#integer>``). No two of these can
be equal, and literals are kept: whoever does not want them removes them knowingly.

Labels of blank nodes hold across the files of a folder, as its files are splits of one graph.
Nodes that Turtle leaves without a label are named after the file and numbered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from dglkgmix.errors import DataError, DependencyError
from dglkgmix.kg.options import strip_compression
from dglkgmix.kg.tables import Codes, TripleTable, encode_fields, merge

_ROWS_AT_ONCE = 100_000
_PLACE = re.compile(r"^Parser error at (line \d+ )?")
# What pyoxigraph makes up for nodes without a label: 128 random bits without leading zeros, so
# another one at every reading
_MADE_UP = re.compile(r"[a-f][0-9a-f]{23,31}")


def read_rdf(stream: BinaryIO, name: str, format_name: str) -> TripleTable:
    """All triples of an RDF document of the format "ntriples" or "turtle".

    Raises:
        DataError: "name:line: what" where the document breaks its format.
        DependencyError: pyoxigraph is not installed.
    """
    ox = _pyoxigraph()
    form = ox.RdfFormat.N_TRIPLES if format_name == "ntriples" else ox.RdfFormat.TURTLE
    label = strip_compression(Path(name)).stem if format_name == "turtle" else None
    text = stream.read().removeprefix(b"\xef\xbb\xbf")
    try:
        return merge(list(_parts(ox.parse(input=text, format=form), _Namer(ox, name, label))))
    except SyntaxError as error:
        what = _PLACE.sub("", str(error.msg))
        raise DataError(f"{name}:{error.lineno or 1}: {what}") from None


class _Namer:
    """Names of terms; made-up labels are replaced by numbered ones."""

    def __init__(self, ox: Any, name: str, label: str | None) -> None:
        self._ox = ox
        self._name = name
        self._label = label
        self._numbered: dict[str, str] = {}

    def __call__(self, term: Any) -> str:
        if isinstance(term, self._ox.NamedNode):
            return str(term.value)
        if isinstance(term, self._ox.Literal):
            return str(term)
        if isinstance(term, self._ox.BlankNode):
            return f"_:{self._blank(term.value)}"
        raise DataError(f"{self._name}: a triple that speaks about a triple: {term}")

    def _blank(self, label: str) -> str:
        if self._label is None or not _MADE_UP.fullmatch(label):
            return label
        return self._numbered.setdefault(label, f"{self._label}.{len(self._numbered) + 1}")


def _parts(triples: Any, namer: _Namer) -> Iterator[tuple[pa.Array, Codes]]:
    fields: list[str] = []
    for triple in triples:
        fields += [namer(triple.subject), namer(triple.predicate), namer(triple.object)]
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
