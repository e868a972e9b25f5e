"""The exact decomposition of the change of a quantile into stages, workload and what is left unexplained.

`decompose` is the way in. `sizes` says how long a stage takes for its work; `hit` who was hit; `repair` how
to put a stage back to the baseline, from each window's `spread`; `repaired` does it to rows; `path` splits
the quantile's way back; `mix` prices the change of the work itself; `leave_out` gives every line its
interval; `tilt` meets numbers displayed from elsewhere.
"""
