"""From files to a graph with degrees."""

SPLITS = ("train", "valid", "test")
ROLES = ("head", "relation", "tail")
