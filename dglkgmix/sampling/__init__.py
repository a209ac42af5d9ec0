"""What enters a batch: queries, triples, negatives, partners, mixed vectors."""
