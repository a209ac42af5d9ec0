"""From scores to numbers: filtered ranks, metrics, bins, calibration, significance."""
