"""What a driver keeps: checkpoint, event log, epochs, and the store for them. No Spark in here."""
