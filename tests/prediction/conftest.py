from dglkgmix.evaluation.list_probability import FEATURES, ListProbability
from tests.cli.conftest import make_run

__all__ = ["make_run"]
# Log odds of half the score, less 1.
HALF = ListProbability(-1.0, tuple(0.5 * (name == "score") for name in FEATURES), {})
