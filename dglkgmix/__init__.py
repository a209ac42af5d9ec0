"""Knowledge graph completion that knows about degree bias."""

__version__ = "0.1.0"
