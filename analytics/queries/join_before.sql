-- Earlier requests of one engine that asked for about as much work, the most alike first.
SELECT *, toUnixTimestamp64Micro(time) AS time_us
FROM requests
WHERE service = {service:String}
  AND time >= fromUnixTimestamp64Micro({from_us:Int64}, 'UTC')
  AND time < fromUnixTimestamp64Micro({to_us:Int64}, 'UTC')
  AND model = {model:String}
  AND node = {node:String}
  AND gpu_set = {gpu_set:String}
  AND replica = {replica:String}
  AND status = 'ok'
  AND abs(log((1 + prompt_tokens) / (1 + {prompt:Float64}))) <= log(2)
  AND abs(log((1 + greatest(0, prompt_tokens - ifNull(cached_tokens, 0))) / (1 + {fresh:Float64}))) <= log(2)
ORDER BY
    abs(log((1 + prompt_tokens) / (1 + {prompt:Float64})))
        + abs(log((1 + greatest(0, prompt_tokens - ifNull(cached_tokens, 0))) / (1 + {fresh:Float64}))),
    time DESC
LIMIT {most:UInt32}
