"""Shims that record an engine's requests and steps inside its own processes."""
