-- Engine steps of the named services and nodes, within a window.
SELECT
    time, service, node, engine, replica, step, duration_us, batch_size, prefill_tokens, decode_tokens,
    waiting, running, preemptions, kv_usage, schedule_us, forward_us, sample_us, collective_us, copy_us, output_us
FROM steps
WHERE time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND $sample
  AND service IN {services:Array(String)}
  AND node IN {nodes:Array(String)}
ORDER BY service, node, replica, step, time
LIMIT {most:UInt64}
