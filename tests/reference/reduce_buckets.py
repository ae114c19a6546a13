"""Prompt's Algorithm 3 on plain lists, with line 8 as the text has it."""

from __future__ import annotations


def allocate_block(
    keys: list[int], weights: list[float], split: list[bool], buckets: int, first: int
) -> list[int]:
    """Return the bucket of each key of one block."""
    size = sum(weights) / buckets
    bucket = [key % buckets for key in keys]
    used = [0.0] * buckets
    for i in range(len(keys)):
        if split[i]:
            used[bucket[i]] += weights[i]
    room = [size - u for u in used]
    clusters = [i for i in range(len(keys)) if not split[i]]
    clusters.sort(key=lambda i: (-weights[i], keys[i]))
    candidates = list(range(buckets))
    for i in clusters:
        roomiest = max(candidates, key=lambda b: (room[b], -((b - first) % buckets)))
        bucket[i] = roomiest
        room[roomiest] -= weights[i]
        candidates.remove(roomiest)
        if not candidates:
            candidates = list(range(buckets))
    return bucket
