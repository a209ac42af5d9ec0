"""Many trainings: recipes, grids, tuning."""
