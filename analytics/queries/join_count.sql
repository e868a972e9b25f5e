-- How many samples `join_samples` would give.
SELECT count() AS samples
FROM ($samples)
