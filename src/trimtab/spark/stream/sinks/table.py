"""A table of the catalogue as a sink: a directory of Parquet files that has a name."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from trimtab.errors import InvalidArgument
from trimtab.spark.columns import quoted
from trimtab.spark.session_facts import is_connect
from trimtab.spark.stream.batch import Batch
from trimtab.spark.stream.sinks.files import ParquetSink


class TableSink(ParquetSink):
    """A table of the catalogue, in Parquet; it is made if it is not there.

    Parameters
    ----------
    name
        Name of the table, in the catalogue of the session that starts the query.

    Examples
    --------
    >>> rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 9).load()
    >>> stream = tt.stream(rows, "value", lanes=2, checkpoint=tmp + "/checkpoint")
    >>> numbers = stream.apply(lambda rows: rows[["value"]], "value long")
    >>> sink = tt.TableSink("kept_numbers")
    >>> numbers.start(sink=sink, trigger={"availableNow": True}).awaitTermination()
    >>> spark.table("kept_numbers").count()
    9
    """

    def __init__(self, name: object) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidArgument(f"table must be the name of a table; got {name!r}")
        self.name = name
        self._session: SparkSession | None = None
        self._store = None

    def prepare(self, schema: T.StructType, session: SparkSession) -> None:
        """Make the table if it is not there, and find out where its files are."""
        name = self.name
        if not session.catalog.tableExists(name):
            fields = ", ".join(f"{quoted(f.name)} {f.dataType.simpleString()}" for f in schema)
            session.sql(f"CREATE TABLE {name} ({fields}) USING parquet")
        facts = {
            row["col_name"]: row["data_type"]
            for row in session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
        }
        if facts.get("Provider", "").lower() != "parquet" or "Location" not in facts:
            raise InvalidArgument(
                f"table {name!r} is kept as {facts.get('Provider', 'a view')}; tables in parquet "
                "can be written exactly once; for others give a function that writes by batch id"
            )
        found = session.table(name).schema
        if found.simpleString() != schema.simpleString():
            raise InvalidArgument(
                f"table {name!r} has the columns {found.simpleString()}, the results have "
                f"{schema.simpleString()}"
            )
        self.path = facts["Location"]
        super().prepare(schema, session)
        # A session remembers the files of a table that it has read. On Spark Connect the batch's
        # own session is the user's, and this one could not travel there.
        self._session = None if is_connect(session) else session

    def write(self, results: DataFrame | None, batch: Batch, session: SparkSession) -> None:
        """Write the files of a batch, and let the session that started the query see them."""
        super().write(results, batch, session)
        (self._session or session).catalog.refreshTable(self.name)
