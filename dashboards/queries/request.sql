-- The request as its row says.
SELECT
  requests.time AS arrived, service, model, tenant, node, gpu_set, engine, replica, status, finish_reason,
  prompt_tokens, cached_tokens, output_tokens, preemptions, prefill_chunks, batch_size_mean, kv_usage_max,
  waiting_max, trace_id
FROM requests
WHERE <<this_trace>>
ORDER BY arrived
