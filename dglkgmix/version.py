"""The version, apart from the package's root, which imports every step."""

__version__ = "0.2.0"
