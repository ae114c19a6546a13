"""The pictures of a report, one file each; every one shows the lower bound."""

from trimtab.report.pictures.canvas import Picture
from trimtab.report.pictures.decisions import decisions
from trimtab.report.pictures.heat import heat
from trimtab.report.pictures.hot_keys import hot_keys
from trimtab.report.pictures.lanes import lanes
from trimtab.report.pictures.times import times

__all__ = ["Picture", "decisions", "heat", "hot_keys", "lanes", "times"]
