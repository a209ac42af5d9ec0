"""The loop: configuration, losses, strategies, averaging, checkpoints."""
