"""Bytes made of other bytes."""

# What text formats give a meaning to, and what is invalid in them.
TOKENS = (
    *(b"\t", b"\n", b"\r\n", b"\r", b"", b'"', b'""', b",", b" ", b"=", b"[", b"]", b"{", b"#"),
    *(b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", "\u2028".encode()),
    *(b"<", b">", b"_:", b"@prefix", b"^^", b"-1", b"1e999", b"nan", b"99999999999999999999"),
    *(b"true", b"'''", b"\\u0000", b"\x1f\x8b", b"PAR1"),
)


def mutated(chance, data, others=()):
    """``data`` changed in one place or a few; parts of ``others`` are among what may come in."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        data = chance.choice(CHANGES)(chance, data, others)
    return data


def _flip(chance, data, others):
    if not data:
        return data
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


def _cut(chance, data, others):
    begin, end = _span(chance, data)
    return data[:begin] + data[end:]


def _truncate(chance, data, others):
    return data[: chance.randint(0, len(data))]


def _repeat(chance, data, others):
    begin, end = _span(chance, data)
    return data[:end] + data[begin:end] * chance.randint(1, 3) + data[end:]


def _insert(chance, data, others):
    place = chance.randint(0, len(data))
    return data[:place] + chance.choice(TOKENS) + data[place:]


def _overwrite(chance, data, others):
    place, what = chance.randint(0, len(data)), chance.randbytes(chance.randint(1, 8))
    return data[:place] + what + data[place + len(what) :]


def _splice(chance, data, others):
    other = chance.choice(others) if others else data
    begin, end = _span(chance, other)
    place = chance.randint(0, len(data))
    return data[:place] + other[begin:end] + data[place:]


def _span(chance, data):
    begin = chance.randint(0, len(data))
    return begin, min(len(data), begin + chance.choice((1, 2, 8, 64, 1024)))


CHANGES = (*(_flip, _flip, _flip, _cut, _truncate, _repeat, _insert, _overwrite, _splice),)
