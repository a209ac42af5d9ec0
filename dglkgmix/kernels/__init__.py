"""Fast versions of formulas, each the same as its plain one, and tested against it."""
