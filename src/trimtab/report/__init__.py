"""What a job did, as tables, pictures, self-contained pages and views in the terminal.

All are made from a `Run`, which is read from a stream's checkpoint or measured in memory. Nothing
here imports Spark, and matplotlib is loaded only when a picture is drawn.
"""

from trimtab.report.run import BatchFigures, Run
from trimtab.report.table import Table

__all__ = ["BatchFigures", "Run", "Table"]
