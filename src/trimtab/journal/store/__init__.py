"""One place for all that a driver keeps, on a disk, in an object store or on a cluster's files."""

from trimtab.journal.store.base import Store
from trimtab.journal.store.choice import store

__all__ = ["Store", "store"]
