-- The rows of a window whose total, as it is or with its stages put back, can reach a floor. The last condition adds
-- what putting them back can add at most.
SELECT $columns
FROM requests
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND $where
  AND $value >= {floor_us:Float64} - ($more)
ORDER BY time, $value, prompt_tokens, output_tokens
