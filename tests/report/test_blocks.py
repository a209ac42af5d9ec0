from dglkgmix.report import blocks
from dglkgmix.report.blocks import Code, Fold, Grid, Queries, Row, Text, picture
from dglkgmix.report.figures.canvas import drawing
from dglkgmix.report.tables import Table


def test_every_kind_of_block_has_a_name_of_its_own():
    kinds = [k.kind for k in (Text, Grid, blocks.Picture, Row, Code, Fold, Queries)]
    assert len(set(kinds)) == len(kinds)
    assert Row((Text("a"), Grid(Table((), ())))).blocks[0].text == "a"


def test_a_picture_is_an_svg_with_its_words():
    with drawing() as (figure, _):
        pass
    made = picture("name", figure, "A title", "In words", "Caption", wide=True)
    assert made.svg.startswith("<svg")
    assert ">A title</title>" in made.svg
    assert ">In words</desc>" in made.svg
    assert (made.caption, made.wide) == ("Caption", True)
