"""Receives OTLP metrics over HTTP and writes each request down as a line of JSON.

usage: otlp_receiver.py FILE [--reject N] [--busy 1]

The messages are decoded by OpenTelemetry's own generated classes (PyPI opentelemetry-proto). With --reject it says of
each request with more than one metric that it took all but N data points. With --busy it answers 503 until there is a
file FILE.go.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

FILE = open(sys.argv[1], "w", encoding="utf-8")
OPTIONS = dict(zip(sys.argv[2::2], map(int, sys.argv[3::2])))
REJECT = OPTIONS.get("--reject", 0)
BUSY = OPTIONS.get("--busy", 0)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/metrics":
            self.answer(404, b"no such page")
            return
        if BUSY and not os.path.exists(sys.argv[1] + ".go"):
            self.answer(503, b"busy")
            return
        message = ExportMetricsServiceRequest()
        message.ParseFromString(body)
        record = {"headers": {name.lower(): value for name, value in self.headers.items()}, "message": MessageToDict(message)}
        FILE.write(json.dumps(record) + "\n")
        FILE.flush()
        response = ExportMetricsServiceResponse()
        if REJECT and len(message.resource_metrics[0].scope_metrics[0].metrics) > 1:
            response.partial_success.rejected_data_points = REJECT
            response.partial_success.error_message = "out of room"
        self.answer(200, response.SerializeToString())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(f"listening on {server.server_address[1]}", flush=True)
server.serve_forever()
