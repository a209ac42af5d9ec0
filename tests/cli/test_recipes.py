from dglkgmix.cli.recipes import recipes
from dglkgmix.experiments.recipes import recipe_names, recipe_text
from tests.cli.conftest import call, call_json


def test_the_list_names_every_recipe_and_what_it_should_reach():
    lines = call(recipes).stdout.splitlines()
    assert lines[0].split() == ["name", "data", "model", "strategy", "regime", "expected"]
    row = next(line for line in lines if line.startswith("fb15k-237-conve-mixup"))
    assert row.split() == [
        *("fb15k-237-conve-mixup", "fb15k-237", "conve", "mixup", "1-k"),
        *("0.343", "(paper)"),
    ]
    assert [line.split()[0] for line in lines[2:]] == recipe_names()
    assert [row["name"] for row in call_json(recipes)] == recipe_names()


def test_show_prints_the_file_itself():
    assert call(recipes, "show", "codex-s-conve").stdout == recipe_text("codex-s-conve")
