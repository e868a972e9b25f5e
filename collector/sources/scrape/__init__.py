"""Counters of other exporters and of engines, read from their Prometheus pages by declared mappings."""
