"""Reads the Parquet files of an experiment, for the notebooks beside it.

With the Python packages duckdb, or pandas and pyarrow, this is one line each. Where they
are not to be had, as on Debian, DuckDB's package for Node.js stands in, which `make npm`
installs: every number comes over as its shortest text and is the same number again.
"""

import json
import os
import pathlib
import subprocess

import pandas as pd

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = pathlib.Path(os.environ.get("RUN", ROOT / "results" / "batch-gateway"))


def query(sql):
    """The rows of an SQL query by DuckDB, as a DataFrame."""
    try:
        import duckdb
    except ImportError:
        return _query_by_node(sql)
    return duckdb.sql(sql).df()


def read(path):
    """The columns of a Parquet file that hold single values."""
    try:
        import pyarrow  # noqa: F401, pandas reads Parquet with it
    except ImportError:
        return query(f"SELECT * EXCLUDE (chunk_gap_s, chunk_tokens) FROM '{path}'")
    return pd.read_parquet(path)


def _query_by_node(sql):
    scripts = ROOT / "pkg" / "record" / "testdata" / "duckdb"
    done = subprocess.run(
        ["node", scripts / "query.mjs", scripts / "node_modules"],
        input=json.dumps([f"DESCRIBE {sql}", sql]), capture_output=True, text=True, check=True)
    described, rows = json.loads(done.stdout)
    frame = pd.DataFrame(rows, columns=[column[0] for column in described], dtype=object)
    for name, kind, *_ in described:
        if kind == "BOOLEAN":
            frame[name] = frame[name] == "true"
        elif kind in ("DOUBLE", "FLOAT", "BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT"):
            frame[name] = [None if v is None else float(v) for v in frame[name]]
    return frame
