"""Controllers: whether a new plan pays, how many tasks to run, which partitioner suits."""
