"""The places that the log of results is tested on: those of the stores."""

from tests.journal.conftest import lost_session, place, shelf

__all__ = ["lost_session", "place", "shelf"]
