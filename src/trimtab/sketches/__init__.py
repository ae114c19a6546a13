"""Statistics of key streams: exact counts, heavy hitters, cardinality, Prompt's and DR's counters."""
