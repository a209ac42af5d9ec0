"""From files to a graph: readers, vocabularies, splits, the heterograph and its degrees."""
