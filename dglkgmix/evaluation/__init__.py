"""From scores to numbers: ranks, metrics, calibration and tests."""
