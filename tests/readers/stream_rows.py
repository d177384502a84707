"""Rows of an Arrow IPC stream that may have been cut: stream_rows.py FILE"""

import sys

import pyarrow as pa

rows = 0
with open(sys.argv[1], "rb") as file:
    stream = pa.ipc.open_stream(file)
    while True:
        try:
            rows += stream.read_next_batch().num_rows
        except (StopIteration, pa.ArrowInvalid, OSError):
            break
print(rows)
