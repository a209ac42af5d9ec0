"""Answers to queries by name."""
