"""Prompt's receiver: it counts records while they arrive, and releases batches already laid out."""

from trimtab.receive.intake import Receiver
from trimtab.receive.log import Log
from trimtab.receive.running import Running, receiver

__all__ = ["Log", "Receiver", "Running", "receiver"]
