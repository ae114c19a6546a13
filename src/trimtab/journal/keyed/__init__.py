"""State of keys on disk: immutable lane files, their stacks, the manifest of a batch. No Spark."""
