from dglkgmix.report.blocks import picture
from dglkgmix.report.figures.canvas import drawing


def test_a_picture_is_an_svg_with_its_words():
    with drawing() as (figure, _):
        pass
    made = picture("name", (figure, "In words"), "A title", "Caption", wide=True)
    assert made.svg.startswith("<svg")
    assert ">A title</title>" in made.svg
    assert ">In words</desc>" in made.svg
    assert (made.caption, made.wide) == ("Caption", True)
