"""Data only: the catalog and the bundled graph."""
