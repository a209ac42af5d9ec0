"""``make fuzz``: coverage-guided fuzzing of the text readers, by libFuzzer through atheris.

Any text, read with any options, is a table or one DataError; another exception, ten seconds or
200 MiB are a fault, and the input is kept in build/fuzz.
"""

import io
import resource
import sys
from pathlib import Path

FOLDER = Path("build/fuzz")
SECONDS = 10
MIB = 200
MODULES = ("readers_text", "options", "tables")
DELIMITERS = "\t,; |"
COLUMNS = (
    *(None, ("tail", "relation", "head"), ("_", "head", "relation", "tail")),
    *(("a", "b", "c"), ("head", "_", "relation", "_", "tail")),
)
LONGEST_ROWS = (1 << 27, 64, 7, 1)
SEEDS = (
    b"\0a\tr\tb\nc\tr\td\r\n",
    b"\x01head\trelation\ttail\n\na\tr\tb\n",
    b'\x02"a,b",r,"c ""d"""\n"e\nf",r,g\n',
    b"\x14\xef\xbb\xbfa\tr\tb\tx\ty\n\xff",
    b"\x83a,b,c\n1,2,3\n",
)


def one_input(data):
    """Reads a text with the options that its first byte stands for: "read" or "refused".

    Raises:
        AssertionError: an error that does not say where, or a name that is empty.
    """
    from dglkgmix.errors import ConfigError, DataError
    from dglkgmix.kg import readers_text
    from dglkgmix.kg.options import ReadOptions

    choice, text = data[0] if data else 0, data[1:]
    header, quoted, choice = bool(choice & 1), bool(choice & 2), choice >> 2
    columns, choice = COLUMNS[choice % len(COLUMNS)], choice // len(COLUMNS)
    readers_text.LONGEST_ROW = LONGEST_ROWS[choice % len(LONGEST_ROWS)]
    delimiter = DELIMITERS[len(text) % len(DELIMITERS)] if choice > 7 else DELIMITERS[quoted]
    try:
        options = ReadOptions(header=header, columns=columns)
        dialect = readers_text.Dialect(delimiter, quoted)
        table = readers_text.read_text(io.BytesIO(text), "f", dialect, options)
    except ConfigError:
        return "refused"
    except DataError as error:
        if not str(error).startswith("f:"):
            raise AssertionError(f"an error that does not say where: {error}") from None
        return "refused"
    if not all(all(column) for column in table.columns()):
        raise AssertionError("an empty name")
    return "read"


def main():
    """Runs libFuzzer with its own options from the command line, as ``-max_total_time=120``."""
    import atheris

    import dglkgmix.kg.graph

    for name in MODULES:
        sys.modules.pop(f"dglkgmix.kg.{name}", None)
    with atheris.instrument_imports(include=[f"dglkgmix.kg.{name}" for name in MODULES]):
        import dglkgmix.kg.readers_text  # noqa: F401
    corpus = FOLDER / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS):
        (corpus / f"seed-{number}").write_bytes(seed)
    one_input(SEEDS[0])
    limits = [f"-timeout={SECONDS}", "-print_final_stats=1"]
    places = [f"-artifact_prefix={FOLDER}/", str(corpus)]
    atheris.Setup([*sys.argv, *limits, *places], watched)
    atheris.Fuzz()


def watched(data):
    """One input, which must not take much memory; libFuzzer's own grows, too, but slowly."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    one_input(data)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    if grown > MIB:
        raise AssertionError(f"{grown} MiB for {len(data)} bytes")


if __name__ == "__main__":
    main()
