-- The engine's steps while one request was there, with the parts of each: by number where it knows them, else by
-- time.
SELECT
    time, service, node, engine, replica, step, duration_us, batch_size, prefill_tokens, decode_tokens,
    waiting, running, preemptions, kv_usage, schedule_us, forward_us, sample_us, collective_us, copy_us, output_us
FROM steps
WHERE service = {service:String}
  AND ({node:String} = '' OR node = {node:String})
  AND ({replica:String} = '' OR replica = {replica:String})
  AND time BETWEEN fromUnixTimestamp64Micro({from_us:Int64}, 'UTC') AND fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND step BETWEEN {first:UInt64} AND {last:UInt64}
ORDER BY time, step
LIMIT {most:UInt64}
