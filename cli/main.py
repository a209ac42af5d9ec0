"""Entry point."""
from __future__ import annotations


def main() -> None:
    """Stand-in until the group is written."""
