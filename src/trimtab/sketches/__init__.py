"""Statistics of key streams: exact counts, heavy hitters, cardinality, and two papers' counters."""
