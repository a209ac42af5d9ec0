"""From vectors to scores: encoders, decoders and the predictor that joins them."""
