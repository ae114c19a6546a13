"""Plain-Python twins of w-choices, d-choices, fish and flexsp."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from tests.reference.hashing import choice, mix64, salt


def least_choices(head: list[float], n: int) -> int:
    """Nasir et al., ICDE 2016, the condition on the number of choices, for every prefix."""
    if not head or n <= 2:
        return min(2, n)
    for d in range(2, n):
        fits = True
        for h in range(1, len(head) + 1):
            reached = n - n * ((n - 1) / n) ** (h * d)
            load = (
                sum(head[:h])
                + (reached / n) ** d * sum(head[h:])
                + (reached / n) ** 2 * max(0.0, 1 - sum(head))
            )
            fits = fits and load <= reached * (1 / n + 1e-4)
        if fits:
            return d
    return n


def head_and_tail_lanes(
    keys: list[int], n: int, heat: float, seed: int, kind: str, epoch: int = 0
) -> list[int]:
    """Route one batch; `kind` is "w", "d" or "fish"."""
    loads, counts, out = [0] * n, Counter[int](), []
    seen, hot_choices, next_look = 0, 2, 500
    for key in keys:
        if kind == "d" and seen == next_look:
            shares = sorted((c / seen for c in counts.values()), reverse=True)
            hot_choices = least_choices([p for p in shares if p * n >= heat], n)
            next_look *= 2
        if kind == "fish" and len(out) and len(out) % epoch == 0:
            counts = Counter({k: c // 2 for k, c in counts.items() if c >= 2})
            seen = sum(counts.values())
        counts[key] += 1
        seen += 1
        choices = 2
        if counts[key] >= 10 and counts[key] * n >= Fraction(heat) * seen:
            if kind == "w":
                choices = n
            elif kind == "d":
                choices = hot_choices
            else:
                choices, double = n, 2 * counts[key]
                while double <= max(counts.values()):
                    choices, double = choices // 2, 2 * double
                choices = max(2, choices)
            if choices >= n or choices > 64:
                choices = 0
        candidates = [choice(key, seed, number, n) for number in range(choices)] or range(n)
        lane = min(candidates, key=lambda candidate: loads[candidate])
        loads[lane] += 1
        out.append(lane)
    return out


def flexsp_lanes(keys: list[int], n: int, beta: float, seed: int) -> list[int]:
    loads, out = [0] * n, []
    for key in keys:
        split = mix64(key ^ salt(seed, 2)) >> 32 < int(beta * 2**32)
        candidates = [choice(key, seed, number, n) for number in range(2 if split else 1)]
        lane = min(candidates, key=lambda candidate: loads[candidate])
        loads[lane] += 1
        out.append(lane)
    return out
