"""Naive Bayes, the application of Consistent Grouping's paper, as a stream: equal to the batch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from pyspark.sql import functions as F

import trimtab.spark as tt
from tests.spark.stream.inputs import NOW
from trimtab.workloads import zipf_ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.exhaustive]

WORDS, LABELS, PER_TEXT, TEXTS = 200, 2, 3, 600


def texts() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return words of each text, Zipf-distributed, and its label: they rank words differently."""
    generator = np.random.default_rng(3)
    labels = generator.integers(0, LABELS, TEXTS)
    words = zipf_ids(TEXTS * PER_TEXT, WORDS, 1.0, seed=5).astype(np.int64)
    shifted = (words.reshape(TEXTS, PER_TEXT) + 3 * labels[:, None]) % WORDS
    return shifted, labels


def accuracy(counts: dict[tuple[int, int], int], train: int) -> float:
    """Return how many of the texts behind the first `train` get the label that they have."""
    words, labels = texts()
    table = np.ones((LABELS, WORDS))
    for (label, word), count in counts.items():
        table[label, word] += count
    chances = np.log(table / table.sum(axis=1, keepdims=True))
    scores = chances[:, words[train:]].sum(axis=2)
    return float((scores.argmax(axis=0) == labels[train:]).mean())


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """Write the words of the first 400 texts, in four files; return them, too."""
    place = tmp_path_factory.mktemp("texts")
    words, labels = texts()
    each = pd.DataFrame({"label": np.repeat(labels, PER_TEXT), "word": words.ravel()})
    train = each.iloc[: 400 * PER_TEXT]
    for number in range(4):
        train.iloc[number::4].to_parquet(place / f"{number}.parquet")
    return place, train


@pytest.mark.parametrize("partitioner", ["cg", "trim"])
def test_counts_of_split_keys_are_merged_exactly(
    spark: SparkSession, rows: tuple[Path, Any], tmp_path: Path, partitioner: str
) -> None:
    place, train = rows
    counts: Counter[tuple[int, int]] = Counter()

    def aggregate(batch_rows: DataFrame, batch: Any) -> None:
        # Each lane counts what it has; the parts of a key are put together once in every batch.
        for label, word, count in batch_rows.groupBy("label", "word").agg(F.count("*")).collect():
            counts[label, word] += count

    stream = (
        spark.readStream.schema("label long, word long")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(place))
    )
    begun = tt.stream(
        stream, ["label", "word"], 3, partitioner=partitioner, checkpoint=str(tmp_path / "ck")
    )
    begun.for_each_batch(aggregate).start(trigger=NOW).awaitTermination()
    expected = Counter(map(tuple, train.to_numpy().tolist()))
    assert counts == expected
    assert accuracy(counts, 400) == accuracy(dict(expected), 400) > 0.8
