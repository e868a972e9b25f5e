"""Profiles of a GPU program as evidence: reading them, and what their time adds up to.

`read.read_profile` makes a `timeline.Profile` of a file; everything else is a pure function of one.
"""
