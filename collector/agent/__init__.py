"""The node agent: reads counters of this machine on a schedule, within a budget, and sends them as OTLP."""
