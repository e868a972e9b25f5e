-- How many states there are, and how many would be left after merging those not to be told apart.
SELECT count() AS stored, uniq($dimensions $bucket) AS distinct_states
FROM $table
WHERE $bucket >= fromUnixTimestamp({first:Int64} - {window:Int64})
  AND $bucket < fromUnixTimestamp({last:Int64})
  AND $where
