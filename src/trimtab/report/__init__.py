"""Pictures, tables and a self-contained page of what a job did, from its event log or from memory.

Nothing here imports Spark, and matplotlib is loaded only when a picture is drawn.
"""

from trimtab.report.run import BatchFigures, Run
from trimtab.report.table import Table

__all__ = ["BatchFigures", "Run", "Table"]
