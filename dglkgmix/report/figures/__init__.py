"""One figure a file."""
