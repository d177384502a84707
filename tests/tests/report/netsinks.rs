//! `--to` Prometheus, OpenTelemetry and InfluxDB: what the real programs of Debian say of a run equals
//! `result.json`.
//!
//! Needs prometheus, influxdb and curl of Debian, and the Python packages of tests/requirements.txt
//! (scripts/python.sh).

mod influxdb;
mod otlp;
mod prometheus;
mod servers;
mod trouble;
