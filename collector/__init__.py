"""OTLP in, ClickHouse out: receiver, spool, writer and the query endpoint."""
