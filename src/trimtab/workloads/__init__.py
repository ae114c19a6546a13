"""Seeded streams of keys with known laws: Zipf, drift, changing rates."""

from trimtab.workloads.laws import Law
from trimtab.workloads.zipf import drifting_zipf, zipf_ids, zipf_shares

__all__ = ["Law", "drifting_zipf", "zipf_ids", "zipf_shares"]
