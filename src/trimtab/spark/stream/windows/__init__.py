"""Event-time windows: arithmetic, aggregates that merge, the operation."""
