"""What the tests share: the checkout, small data, and configs on them."""

import os
from pathlib import Path

import pytest

# The environment that installs the package may say where the checkout is.
ROOT = Path(os.environ.get("CONGENIAL_CHECKOUT", Path(__file__).resolve().parents[2]))

TREE = {
    "group": ["a", "a", "b", "b", "b", "c"],
    "zone": ["a1", "a2", "b1", "b2", "b3", "c1"],
    "count": [5, 0, 120, 3, 44, 7],
}
TABLE = {
    "row": ["a", "a", "b", "b", "c", "c"],
    "column": ["x", "y", "x", "y", "x", "y"],
    "count": [5, 1, 12, 3, 4, 7],
}


@pytest.fixture
def tree():
    """A grid on a tree of three levels, its data in the dict."""
    return {
        "name": "tree",
        "seed": 1,
        "replicates": 20,
        "data": {"table": TREE, "count": "count", "levels": ["group", "zone"]},
        "grid": [{"epsilon": [0.5, 1.0], "law": "double-geometric", "method": ["unconstrained", "exact"]}],
    }


@pytest.fixture
def table():
    """A grid on a two-way table with its margins, and the draws."""
    return {
        "name": "table",
        "seed": 1,
        "replicates": 4,
        "keep-draws": True,
        "data": {"table": TABLE, "count": "count", "entry": ["row", "column"]},
        "invariant": [{"kind": "margins", "rows": "row", "columns": "column"}],
        "grid": [{"epsilon": 1.0, "law": "double-geometric", "records": 200, "method": [{"kind": "line-gibbs", "sweeps": 2000}]}],
    }
