"""The places that states of routers are tested on: those of the stores."""

from tests.journal.conftest import lost_session, place, shelf

__all__ = ["lost_session", "place", "shelf"]
