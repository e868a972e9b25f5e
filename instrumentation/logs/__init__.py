"""The engine's own log lines with the trace and span id of the request that they are about."""
