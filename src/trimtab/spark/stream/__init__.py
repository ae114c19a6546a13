"""Streams: the public class, the runner of a batch, steering, operations, windows, sinks."""
