"""Losses: what scores cost, as formulas."""
