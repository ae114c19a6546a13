"""Prompt's receiver: it counts records while they arrive, and releases batches already laid out."""
