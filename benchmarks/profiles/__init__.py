"""Profiles: our figures beside those of HolisticTraceAnalysis, and how fast both come."""
