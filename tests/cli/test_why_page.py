from dglkgmix.cli.why_page import why_page
from dglkgmix.evaluation.neighbours import Neighbour
from dglkgmix.prediction.answers import Answer, Prediction, Query
from dglkgmix.prediction.facts import Triple
from dglkgmix.prediction.why import Why


def answer(name, why):
    return Answer(name, 1.0, None, 1234, "high", known=False, trained=True, why=why)


def test_four_lines_for_each_of_the_first_three_answers():
    fact, second = Triple("a", "likes", "b\n"), Triple("a", "knows", "\x1b[31m")
    near = [Neighbour("c", 0.876, 7), Neighbour("d", -0.5, 1200, reciprocal=True)]
    full = Why([fact], [fact, second], 56, [[fact, second], [fact]], near)
    empty = Why([], [], 0, [], [])
    answers = [answer("x\x1b", full), *(answer(name, empty) for name in "yzw")]
    page = why_page(Prediction(Query(None, "likes", "t"), answers, []))
    heading, first, *others = page.split("\n\n")
    assert heading.splitlines() == [
        "  training facts and neighbours of the first answers, the nearest of each;",
        "  an answer's own fact is counted in brackets, but not listed",
    ]
    assert first.splitlines() == [
        r"  1  x\x1b",
        r"     same relation and answer (1,234): a · likes · b\n",
        r"     of t (56): a · likes · b\n; a · knows · \x1b[31m",
        r"     shortest paths: a · likes · b\n + a · knows · \x1b[31m; a · likes · b\n",
        "     nearest by vector: c 0.88 (degree 7); d -0.50 (degree 1,200, reciprocal)",
    ]
    assert [block.splitlines()[0].split() for block in others] == [["2", "y"], ["3", "z"]]
    assert others[0].splitlines()[1:] == [
        "     same relation and answer (1,234): none",
        "     of t (0): none",
        "     shortest paths: none",
        "     nearest by vector: none",
    ]
