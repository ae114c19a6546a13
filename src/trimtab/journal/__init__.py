"""What a stream keeps on disk: checkpoint and event log. No Spark in here."""
