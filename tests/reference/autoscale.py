"""A plain twin of Prompt's Algorithm 4 that looks through the whole history at every batch."""

from __future__ import annotations

Batch = tuple[float, float, float]
"""W, rows and keys of a batch."""


def zone(w: float, threshold: float, step: float) -> str:
    if w > threshold:
        return "out"
    if w <= threshold - step:
        return "in"
    return "stay"


def plans(
    batches: list[Batch],
    maps: int,
    reduces: int,
    *,
    most: int,
    threshold: float,
    step: float,
    d: int,
    tolerance: float,
) -> list[tuple[int, int]]:
    """Return the number of map and reduce tasks after each batch."""
    result = []
    last_action: tuple[int, str] | None = None
    for i, (w, _, _) in enumerate(batches):
        here = zone(w, threshold, step)
        run = [i]
        while run[0] > 0 and zone(batches[run[0] - 1][0], threshold, step) == here:
            run.insert(0, run[0] - 1)
        before = run[0] - 1
        since_action = [j for j in run if last_action is None or j > last_action[0]]
        reverse = last_action is not None and last_action[1] != here and i - last_action[0] <= d
        if here != "stay" and len(since_action) >= d and not reverse:
            stats = since_action[-d:]
            rows = sum(batches[j][1] for j in stats) / d
            keys = sum(batches[j][2] for j in stats) / d
            rate_moved = keys_moved = False
            if before >= 0:
                if here == "out":
                    rate_moved = rows > batches[before][1] * (1 + tolerance)
                    keys_moved = keys > batches[before][2] * (1 + tolerance)
                else:
                    rate_moved = rows < batches[before][1] * (1 - tolerance)
                    keys_moved = keys < batches[before][2] * (1 - tolerance)
            if not rate_moved and not keys_moved:
                rate_moved = keys_moved = True
            change = 1 if here == "out" else -1
            new_maps = min(max(maps + change, 1), most) if rate_moved else maps
            new_reduces = min(max(reduces + change, 1), most) if keys_moved else reduces
            peak = max(batches[j][0] for j in stats)
            growth = max(maps / new_maps, reduces / new_reduces)
            if (new_maps, new_reduces) != (maps, reduces) and (
                here == "out" or peak * growth <= threshold
            ):
                maps, reduces = new_maps, new_reduces
                last_action = (i, here)
        result.append((maps, reduces))
    return result
