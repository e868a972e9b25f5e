-- The engine's steps while the request was there: by number where it knows them, else by time.
SELECT
    toUnixTimestamp64Micro(time) AS time_us,
    step,
    duration_us,
    batch_size,
    prefill_tokens,
    waiting,
    preemptions,
    kv_usage
FROM steps
WHERE service = {service:String}
  AND ({node:String} = '' OR node = {node:String})
  AND ({replica:String} = '' OR replica = {replica:String})
  AND time BETWEEN fromUnixTimestamp64Micro({from_us:Int64}) AND fromUnixTimestamp64Micro({to_us:Int64})
  AND step BETWEEN {first:UInt64} AND {last:UInt64}
ORDER BY time
LIMIT {limit:UInt32}
