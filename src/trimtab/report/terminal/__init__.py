"""A run as it looks in a terminal: the newest batch, the recent batches, a stream while it runs.

Every view is drawn from the same figures as the pages, in the same words. Nothing here imports
Spark.
"""

from trimtab.report.terminal.bars import bars
from trimtab.report.terminal.follow import follow
from trimtab.report.terminal.newest import newest_batch
from trimtab.report.terminal.recent import recent_batches

__all__ = ["bars", "follow", "newest_batch", "recent_batches"]
