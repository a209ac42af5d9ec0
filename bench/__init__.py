"""Timings and memory, side by side in one run; never part of the tests or the wheel."""
