from tests.cli.conftest import make_run

__all__ = ["make_run"]
