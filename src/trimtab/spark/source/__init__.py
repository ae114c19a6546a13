"""Spark on the logs of receivers: the data source, and the frame that it gives."""
