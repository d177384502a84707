"""What duckdb and pyarrow find in the samples of a run, as JSON.

    samples.py PARQUET [JSON_LINES]

Both count rows for each outcome, sum bytes and take percentiles (the value with so many others below or at it,
by rank: no interpolation), of what is not warm-up.
"""

import json
import math
import sys

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "max": 1.0}
SERIES = {  # key in result.json without _ns → column, classes that are in it
    "latency": ("latency_ns", ["status"]),
    "service": ("service_ns", ["status"]),
    "failed": ("latency_ns", ["error"]),
    "lateness": ("lateness_ns", ["status", "error", "cut_off"]),
}


def rank(share, count):
    return max(math.ceil(share * count - 1e-9), 1) - 1


def by_duckdb(path):
    sql = duckdb.connect()
    sql.execute(f"create view samples as select * from '{path}' where not warmup")
    outcomes = sql.execute(
        "select class, key, count(*), sum(bytes_in), sum(bytes_out) from samples group by 1, 2"
    ).fetchall()
    series = {}
    for name, (column, classes) in SERIES.items():
        of = f"from samples where {column} is not null and class in ({str(classes)[1:-1]})"
        count = sql.execute(f"select count(*) {of}").fetchone()[0]
        at = f"select {column} {of} order by 1 limit 1 offset ?"
        series[name] = {"count": count} | {
            p: sql.execute(at, [rank(share, count)]).fetchone()[0] for p, share in SHARES.items() if count
        }
    return {"outcomes": outcomes, "series": series}


def by_pyarrow(table):
    table = table.filter(pc.invert(table["warmup"]))
    text = lambda name: pc.cast(table[name], pa.string())
    plain = pa.table({"class": text("class"), "key": text("key")} | {
        name: table[name] for name in table.column_names if name not in ("class", "key")
    })
    groups = plain.group_by(["class", "key"]).aggregate(
        [([], "count_all"), ("bytes_in", "sum"), ("bytes_out", "sum")]
    )
    columns = ["class", "key", "count_all", "bytes_in_sum", "bytes_out_sum"]
    outcomes = list(zip(*(groups[name].to_pylist() for name in columns)))
    series = {}
    for name, (column, classes) in SERIES.items():
        some = plain.filter(pc.is_in(plain["class"], pa.array(classes)))[column].drop_null()
        values = sorted(some.to_pylist())
        series[name] = {"count": len(values)} | {
            p: values[rank(share, len(values))] for p, share in SHARES.items() if values
        }
    return {"outcomes": outcomes, "series": series}


def facts(table, path):
    """What holds between the columns of every row, counted where it does not."""
    sql = duckdb.connect()
    wrong = lambda where: sql.execute(f"select count(*) from '{path}' where {where}").fetchone()[0]
    order = sql.execute(
        f"select count(*) from (select done_ns < lag(done_ns) over (partition by thread order by file_row_number) as back "
        f"from read_parquet('{path}', file_row_number = true)) where back"
    ).fetchone()[0]
    return {
        "rows": table.num_rows,
        "seqs": sql.execute(f"select count(distinct seq) from '{path}'").fetchone()[0],
        "warmup": wrong("warmup"),
        "backwards": order,
        "latency_off": wrong("latency_ns is not null and abs(latency_ns - (done_ns - due_ns)) > 1"),
        "service_off": wrong("service_ns is not null and abs(service_ns - (done_ns - sent_ns)) > 1"),
        "lateness_off": wrong("sent_ns is not null and abs(lateness_ns - (sent_ns - due_ns)) > 1"),
        "order_off": wrong("first_byte_ns < sent_ns or done_ns < first_byte_ns or sent_ns < due_ns"),
        "groups": sorted(str(name) for name in set(table["group"].to_pylist())),
        "due": sql.execute(f"select seq, due_ns from '{path}' order by seq limit 5000").fetchall(),
    }


def events(path):
    """Events of a file of JSON lines, as rows without nulls."""
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [{k: v for k, v in line.items() if k != "type"} for line in lines if line["type"] == "event"]


def main():
    path = sys.argv[1]
    table = pq.read_table(path)
    found = {"duckdb": by_duckdb(path), "pyarrow": by_pyarrow(table), "facts": facts(table, path)}
    named = pq.read_metadata(path).metadata
    found["metadata"] = {k.decode(): v.decode() for k, v in named.items() if k.startswith(b"tare.")}
    if len(sys.argv) > 2:
        lines = events(sys.argv[2])
        rows = table.to_pylist()
        found["lines_are_the_same"] = lines == [{k: v for k, v in row.items() if v is not None} for row in rows]
    json.dump(found, sys.stdout)


main()
