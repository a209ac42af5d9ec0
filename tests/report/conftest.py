import numpy as np
import pyarrow as pa
import pytest

from dglkgmix.evaluation.rank_table import SCHEMA, RankTable


@pytest.fixture(scope="session")
def make_table():
    """Make a rank table from the columns that a test cares about."""

    def make(**columns):
        count = len(columns["rank"])
        names = [f"e{i}" for i in range(count)]
        defaults = {
            "head": names,
            "relation": ["r"] * count,
            "tail": names,
            "direction": ["tail"] * count,
            "score": np.zeros(count),
            "rank_optimistic": columns["rank"],
            "rank_pessimistic": columns["rank"],
            "candidates": [100] * count,
        }
        zeros = {name: [0] * count for name in SCHEMA.names}
        data = zeros | defaults | columns
        return RankTable(
            pa.table(
                {name: pa.array(data[name]).cast(SCHEMA.field(name).type) for name in data},
                schema=None,
            )
            .select(SCHEMA.names)
            .cast(SCHEMA)
        )

    return make
