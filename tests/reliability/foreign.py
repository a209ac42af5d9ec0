"""Foreign bytes where triples, settings and runs are read: a result or one clear error.

Each record tells of many inputs. They are tried in a fork, so that a crash of native code, a hang
or too much memory is one more loss and not the end of the program.
"""

import json
import random
import resource
import shutil
import signal
import time
from collections import Counter

from tests.reliability.mutate import mutated
from tests.reliability.training import command_line, run

# Inputs of a record, and what one of them may take.
CHUNK = 500
SECONDS = 10
MIB = 200


def foreign(whole, base, count, seed):
    """``count`` inputs of each kind, in chunks.

    Each maker gives a judge, which tries one input and says what came of it, "refused" or a word of
    its own; it raises where the input is a loss.
    """
    finished = base / "finished"
    run(command_line(whole.command, finished), base / "log")
    makers = {
        "files of triples": triple_files,
        "ranks and queries": tables,
        "settings": settings,
        "run folders, damaged": lambda folder: damaged_runs(finished, folder),
        "run folders, forged": lambda folder: forged_runs(finished, folder),
    }
    for what, make in makers.items():
        for number, begin in enumerate(range(0, count, CHUNK)):
            inputs = min(CHUNK, count - begin)
            record = {"kind": "foreign", "what": what, "seed": seed + number, "inputs": inputs}
            yield record | chunk(make, base, f"{what} {seed + number}", inputs)


def chunk(make, base, name, inputs):
    """What came of so many inputs, drawn from ``name``."""
    folder = base / "foreign"
    folder.mkdir()
    status, said = run(lambda: judge_all(make(folder), random.Random(name), inputs), base / "log")
    shutil.rmtree(folder)
    if status == 0:
        return {"exit": status} | json.loads(said.splitlines()[-1])
    return {"exit": status, "lost": said[-500:] or f"ended with {status}"}


def judge_all(judge, chance, inputs):
    """Run in the fork: prints what came of the inputs; 1 at the first loss."""
    counts = Counter()
    slowest = 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(inputs):
        state = chance.getstate()
        start = time.perf_counter()
        signal.alarm(SECONDS)  # A hang ends the process.
        try:
            counts[judge(chance)] += 1
        except Exception as error:
            chance.setstate(state)
            print(f"input {number}: {type(error).__name__}: {error}")
            raise
        slowest = max(slowest, time.perf_counter() - start)
    signal.alarm(0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    lost = f"{grown:.0f} MiB" if grown > MIB else ""
    outcomes = dict(sorted(counts.items()))
    record = {"outcomes": outcomes, "slowest": round(slowest, 3), "mib": round(grown), "lost": lost}
    print("\n" + json.dumps(record), flush=True)
    return 0


def triple_files(folder):
    """Files of every format, compressed or not, with any options."""
    import gzip
    import lzma

    import pyarrow as pa
    import pyarrow.parquet as pq

    from dglkgmix.errors import ConfigError, DataError
    from dglkgmix.kg.options import ReadOptions
    from dglkgmix.kg.readers import read_triples

    rows = [("a", "r", "é"), ("New York", "located in", "USA"), ("NA", "r", "nan")] * 3
    columns = dict(zip(("head", "relation", "tail"), map(list, zip(*rows, strict=True))))  # noqa: B905
    pq.write_table(pa.table(columns), folder / "seed.parquet")
    text = "".join("\t".join(row) + "\n" for row in rows).encode()
    nodes = b'<http://x/a> <http://x/r> _:b .\n_:b <http://x/r> "l\\n"@en .\n'
    seeds = {
        "tsv": text,
        "csv": text.replace(b"\t", b",") + b'"a ""b""","r, s","c\nd"\n',
        "parquet": (folder / "seed.parquet").read_bytes(),
        "nt": nodes,
        "ttl": b"@prefix x: <http://x/> .\nx:a x:r x:b, [ x:s 1 ] .\n",
    }
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": _zstd}

    def judge(chance):
        form, ending = chance.choice(list(seeds)), chance.choice(["", "", *pack])
        inside = chance.random() < 0.7  # Change what is packed, or the package.
        data = mutated(chance, seeds[form], list(seeds.values())) if inside else seeds[form]
        data = pack[ending](data)
        path = folder / f"x.{form}{ending}"
        path.write_bytes(data if inside else mutated(chance, data))
        try:
            table = read_triples(path, options=ReadOptions(**_reading(chance, form)))
        except ConfigError:
            return "refused"
        except DataError as error:
            if not str(error).startswith(str(path)):
                raise AssertionError(f"an error that does not name the file: {error}") from None
            return "refused"
        if not all(all(column) for column in table.columns()):
            raise AssertionError("an empty name")
        return "read"

    return judge


def _reading(chance, form):
    """Options of reading, as often as not."""
    options = {}
    if chance.random() < 0.3:
        options["header"] = True
    if chance.random() < 0.2:
        options["columns"] = chance.choice([("tail", "relation", "head"), ("a", "r", "é"), ("_",)])
    if chance.random() < 0.2 and form in ("tsv", "csv"):
        options["delimiter"] = chance.choice([";", " ", "\t", ",", "é", "ab", ""])
    return options


def _zstd(data):
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def tables(folder):
    """Ranks of another tool, queries, and false triples."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dglkgmix.errors import DataError
    from dglkgmix.evaluation.foreign import read_ranks
    from dglkgmix.evaluation.negatives import read_false_triples
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.prediction.files import read_queries

    kg = KnowledgeGraph.from_names([("a", "r", "b"), ("b", "s", "a")], [], [("b", "r", "a")])
    rows = {"head": ["b", "b"], "relation": ["r", "r"], "tail": ["a", "a"]}
    ranks = rows | {"direction": ["head", "tail"], "rank": [1.0, 2.0]}
    columns = {"ranks": ranks, "numbers": ranks | {"head": [1, 2], "rank": ["1", None]}}
    for name, table in columns.items():
        pq.write_table(pa.table(table), folder / name)
    text = b"head,relation,tail,direction,rank\nb,r,a,head,1\nb,r,a,tail,2.5\n"
    seeds = {
        "ranks.csv": text,
        "ranks.tsv": text.replace(b",", b"\t"),
        "ranks.parquet": (folder / "ranks").read_bytes(),
        "numbers.parquet": (folder / "numbers").read_bytes(),
        "queries.csv": b'head,relation,tail\na,r,\n,"s",b\n',
        "queries.tsv": b"tail\tx\thead\trelation\n\t1\ta\tr\n",
        "false.txt": b"a\ts\tb\nb\tr\tb\n",
    }

    def judge(chance):
        name = chance.choice(list(seeds))
        path = folder / name
        path.write_bytes(mutated(chance, seeds[name], list(seeds.values())))
        try:
            if path.stem in ("ranks", "numbers"):
                read_ranks(path, kg, "test")
            elif path.stem == "queries":
                read_queries(path)
            else:
                read_false_triples(path, kg)
        except DataError as error:
            if not str(error).startswith(str(path)):
                raise AssertionError(f"an error that does not name the file: {error}") from None
            return "refused"
        return "read"

    return judge


def settings(folder):
    """Configuration, experiment and space files, and overrides."""
    from dglkgmix.config import Config
    from dglkgmix.config.checks import validate
    from dglkgmix.config.settings import OPTIONS
    from dglkgmix.config.toml import apply_overrides, dumps, load
    from dglkgmix.errors import ConfigError
    from dglkgmix.experiments.grid import parse_experiment
    from dglkgmix.experiments.recipes import packaged_text
    from dglkgmix.experiments.space import parse_space

    whole = dumps(Config()).encode()
    small = b'[training]\nlr = 1e-3\nepochs = 5\n[strategy]\nname = "mixup"\nfixed_lambda = 0.5\n'
    grid, space = (
        packaged_text("experiments", "paper-ablation"),
        packaged_text("spaces", "paper-conve"),
    )
    seeds = (whole, small, grid.encode(), space.encode())

    def override(chance):
        value = mutated(chance, chance.choice((b"1", b"[1, 2]", b'"auto"', b"0.5")))
        text = f"{chance.choice(list(OPTIONS))}={value.decode(errors='replace')}"
        validate(apply_overrides(Config(), [text]))

    def judge(chance):
        kind = chance.randrange(4)
        data = mutated(chance, seeds[kind if kind > 1 else chance.randrange(2)], seeds)
        path = folder / "x.toml"
        path.write_bytes(data)
        try:
            if kind == 0:
                validate(load(path))
            elif kind == 1:
                override(chance)
            elif kind == 2:
                parse_experiment(data.decode(errors="replace"), "x.toml")
            else:
                parse_space(data.decode(errors="replace"), "x.toml")
        except ConfigError:
            return "refused"
        return "read"

    return judge


def damaged_runs(finished, folder):
    """One file of a run truncated, emptied, flipped, removed, or two swapped."""
    from dglkgmix.errors import CheckpointError
    from dglkgmix.files import MANIFEST, RunFolder

    path = folder / "run"
    shutil.copytree(finished, path)
    names = [*RunFolder.open(path).names, MANIFEST]

    def judge(chance):
        name, other = chance.sample(names, 2)
        touched = {each: (path / each).read_bytes() for each in (name, other)}
        try:
            hit = _damage(chance, path, touched, name, other)
            whole = all((path / each).exists() for each in hit)
            if whole and all((path / each).read_bytes() == touched[each] for each in hit):
                return "unchanged"
            read_all(path)
        except CheckpointError as error:
            if not any(str(error).startswith(f"{path / each}: ") for each in hit):
                raise AssertionError(f"none of {hit} is named: {error}") from None
            if "estore" not in str(error):
                raise AssertionError(f"what to do is not said: {error}") from None
            return "refused"
        finally:
            for each, data in touched.items():
                (path / each).write_bytes(data)
        raise AssertionError(f"damage to {hit} was not seen")

    return judge


def _damage(chance, path, touched, name, other):
    """Do one damage; the files that it hit."""
    kind = chance.choice(["remove", "empty", "swap", "mutate", "mutate"])
    if kind == "remove":
        (path / name).unlink()
    elif kind == "empty":
        (path / name).write_bytes(b"")
    elif kind == "swap":
        (path / name).write_bytes(touched[other])
        (path / other).write_bytes(touched[name])
        return [name, other]
    else:
        (path / name).write_bytes(mutated(chance, touched[name], [touched[other]]))
    return [name]


def read_all(path):
    """Everything that a run holds, and what it can be asked."""
    from dglkgmix.runs.checkpoint import StateFile
    from dglkgmix.runs.run import Run

    run = Run.open(path)
    for name in run.folder.names:
        run.folder.read(name)
    StateFile(run.folder, "auto").load()
    for part in ("config", "kg", "model", "history", "metrics"):
        getattr(run, part)
    for split in ("valid", "test"):
        run.rank_table(split)


def forged_runs(finished, folder):
    """A file with other content under a seal that fits it: no reader may trust the digest alone."""
    from dglkgmix.errors import DglkgmixError
    from dglkgmix.files import RunFolder

    path = folder / "run"
    shutil.copytree(finished, path)
    names = RunFolder.open(path).names

    def judge(chance):
        name = chance.choice(names)
        with RunFolder.resume(path) as run_folder:
            before = run_folder.read(name)
            run_folder.write(name, mutated(chance, before))
        try:
            read_all(path)
        except DglkgmixError as error:
            if str(path) not in str(error):
                raise AssertionError(f"an error that does not name the run: {error}") from None
            return "refused"
        finally:
            with RunFolder.resume(path) as run_folder:
                run_folder.write(name, before)
        return "read"

    return judge
