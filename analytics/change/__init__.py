"""The exact decomposition of the change of a quantile into stages, workload and what is left unexplained.

`decompose` is the way in; `sizes` says how long a stage takes for the work, `repair` undoes what changed
since the baseline, `path` splits the quantile's way back, `mix` prices the change of the work itself.
"""
