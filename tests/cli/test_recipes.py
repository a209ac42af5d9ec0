import json

from click.testing import CliRunner

from dglkgmix.cli.recipes import recipes
from dglkgmix.experiments.recipes import recipe_names, recipe_text


def test_the_list_names_every_recipe_and_what_it_should_reach():
    result = CliRunner().invoke(recipes, [])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["name", "data", "model", "strategy", "regime", "expected"]
    row = next(line for line in lines if line.startswith("fb15k-237-conve-mixup"))
    assert row.split() == [
        *("fb15k-237-conve-mixup", "fb15k-237", "conve", "mixup", "1-k"),
        *("0.343", "(paper)"),
    ]
    assert [line.split()[0] for line in lines[2:]] == recipe_names()


def test_json_has_every_recipe():
    result = CliRunner().invoke(recipes, ["--json"])
    rows = json.loads(result.stdout)
    assert [row["name"] for row in rows] == recipe_names()


def test_show_prints_the_file_itself():
    result = CliRunner().invoke(recipes, ["show", "codex-s-conve"])
    assert result.exit_code == 0
    assert result.stdout == recipe_text("codex-s-conve")
