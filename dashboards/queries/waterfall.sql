-- Each stage of TTFT where the one before ends, then the decode; a stage that was not reported has no bar.
SELECT
  bar.1 AS stage,
  bar.2 / 1000 AS begins,
  if(stage = 'ingress', bar.3, NULL) / 1000 AS ingress,
  if(stage = 'tokenize', bar.3, NULL) / 1000 AS tokenize,
  if(stage = 'queue', bar.3, NULL) / 1000 AS queue,
  if(stage = 'kv_init', bar.3, NULL) / 1000 AS kv_init,
  if(stage = 'prefill', bar.3, NULL) / 1000 AS prefill,
  if(stage = 'sample', bar.3, NULL) / 1000 AS sample,
  if(stage = 'egress', bar.3, NULL) / 1000 AS egress,
  if(stage = 'outside', bar.3, NULL) / 1000 AS outside,
  if(stage = 'decode', bar.3, NULL) / 1000 AS decode
FROM
(
  SELECT arrayJoin(arrayFilter(one -> isNotNull(one.3), arrayPushBack(
    arrayMap(
      (name, us, upto) -> (name, upto - ifNull(us, 0), us),
      ['ingress', 'tokenize', 'queue', 'kv_init', 'prefill', 'sample', 'egress', 'outside'],
      parts,
      arrayCumSum(arrayMap(us -> ifNull(us, 0), parts))),
    ('decode', ifNull(ttft_us, 0), e2e_us - ttft_us)))) AS bar
  FROM
  (
    SELECT
      [ingress_us, tokenize_us, queue_us, kv_init_us, prefill_us, sample_us, egress_us, outside_us] AS parts,
      ttft_us, e2e_us
    FROM requests
    WHERE <<this_trace>>
    ORDER BY requests.time
    LIMIT 1
  )
)
