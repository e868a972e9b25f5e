SELECT toInt64(toUnixTimestamp($bucket)) AS start, $dimensions requests AS arrived, $state AS state
FROM $table
WHERE $bucket >= fromUnixTimestamp({first:Int64} - {window:Int64})
  AND $bucket < fromUnixTimestamp({last:Int64})
  AND $where
