"""Texts of columns and plans, recorded once for each version of Spark that is supported."""
