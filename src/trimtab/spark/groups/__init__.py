"""A function of each group, called in one pass over a lane."""
