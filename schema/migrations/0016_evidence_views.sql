-- repeatable
-- What cards and hosts did in exactly some time, as views with parameters:
--     SELECT * FROM request_evidence(trace = '4bf92f3577b34da6a3ce929d0e0e4736') ORDER BY stage, counter, device
--     SELECT * FROM window_evidence(from = '2026-05-01 12:00:00', to = '2026-05-01 12:15:00', nodes = ['node3'])
-- The first gives each counter in the whole request, in each of its stages and in `decode`; the second gives
-- it in a window, on the named nodes ([]: all). `value` is a total's increase or a gauge's mean, `low` and `high`
-- what it lies between, `coverage` the share of the time that readings stand for. They say what
-- `otel-attrib trace ID --evidence` says, and read a minute of samples more than the time asked for.
-- Views hold no rows: they are made anew whenever a counter joins the registry.
CREATE OR REPLACE VIEW request_evidence $on_cluster AS
WITH
    $counters AS registry,
    -- Scalars, so that the samples' partitions and key are cut by constants.
    assumeNotNull((
        SELECT argMax(
            (toUnixTimestamp64Micro(time), toString(node), toString(gpu_set), ttft_us, e2e_us,
                [ingress_us, tokenize_us, queue_us, kv_init_us, prefill_us, sample_us, egress_us, outside_us],
                trace_id, span_id),
            time)
        FROM requests WHERE trace_id = {trace:String}
    )) AS request,
    request.1 AS arrived,
    request.2 AS home,
    arrayCumSum(arrayMap(us -> ifNull(us, 0), request.6)) AS ends,
    us -> arrived + toInt64(floor(assumeNotNull(us) + 0.5005)) AS moment,
    arrayFilter(one -> one.3 > one.2, arrayConcat(
        [('request', arrived, moment(greatest(ifNull(request.5, 0), ifNull(request.4, 0), ends[-1])))],
        arrayMap(n -> (['ingress', 'tokenize', 'queue', 'kv_init', 'prefill', 'sample', 'egress', 'outside'][n],
                moment(if(n > 1, ends[n - 1], 0)), moment(ends[n])),
            arrayFilter(n -> isNotNull(request.6[n]), range(1, length(ends) + 1))),
        [('decode', if(isNull(request.5), arrived, moment(ifNull(request.4, 0))),
            if(isNull(request.4), arrived, moment(ifNull(request.5, 0))))])) AS stretches,
    -- Devices as they are named: a node before a colon holds on, `0:2` is a MIG instance.
    splitByRegexp('[,;+ ]+', request.3) AS words,
    arrayMap(word -> extract(word, '^([^:]*):.'), words) AS heads,
    arrayMap(head -> match(head, '[^0-9]'), heads) AS prefixed,
    arrayPopFront(arrayFill(node -> node != '', arrayPushFront(
        arrayMap((head, is_node) -> if(is_node, head, ''), heads, prefixed), home))) AS word_nodes,
    arrayFilter(one -> one.2 != '', arrayZip(word_nodes, arrayMap((word, head, is_node) ->
        if(is_node, substring(word, length(head) + 2), word), words, heads, prefixed))) AS asked,
    arrayDistinct(arrayPushFront(arrayMap(one -> one.1, asked), home)) AS nodes,
    assumeNotNull((
        -- What was read of these nodes then: devices with their UUIDs, and what they say of their clocks.
        SELECT (
            groupUniqArrayIf((toString(node), toString(device)), device != '' AND metric IN (
                SELECT arrayJoin(arrayMap(one -> one.2, arrayFilter(one -> one.7 = 1, registry))))),
            maxMap(map(concat(node, ' ', device), attributes['slatag.gpu.uuid'])),
            maxMap(map(toString(node), greatest(
                if(metric = 'slatag.clock.uncertainty', 1e6 * value, -1),
                ifNull(toFloat64OrNull(attributes['slatag.clock_uncertainty_us']), -1)))))
        FROM samples
        WHERE time >= fromUnixTimestamp64Micro(stretches[1].2 - 60000000, 'UTC')
            AND time < fromUnixTimestamp64Micro(stretches[1].3 + 60000000, 'UTC')
            AND metric IN (SELECT arrayJoin(arrayMap(one -> one.2, registry)))
            AND node IN nodes
    )) AS seen,
    arrayMap(place -> (place.1, place.2, arrayExists(one -> one.1 = place.1 AND (
            replaceRegexpOne(one.2, '^GPU-', '') = replaceRegexpOne(place.2, '^GPU-', '')
            OR (position(one.2, ':') > 0 AND
                splitByChar(':', replaceRegexpOne(one.2, '^GPU-', ''))[1] = replaceRegexpOne(place.2, '^GPU-', ''))
            OR (length(one.2) > 7 AND startsWith(seen.2[concat(place.1, ' ', place.2)], one.2))), asked)), seen.1) AS devices,
    arrayFilter(place -> place.3 OR (
        NOT arrayExists(other -> other.1 = place.1 AND other.3, devices)
        AND (empty(asked) OR arrayExists(one -> one.1 = place.1, asked))), devices) AS cards,
    node -> if(node = home, 0, if(seen.3[node] >= 0 AND mapContains(seen.3, node) AND seen.3[home] >= 0
        AND mapContains(seen.3, home), seen.3[node] + seen.3[home], -1)) AS apart,
    arrayFilter(place -> place.3 >= 0, arrayConcat(
        arrayMap(place -> (place.1, place.2, toFloat64(apart(place.1))), cards),
        arrayMap(node -> (node, '', toFloat64(apart(node))), nodes))) AS places
SELECT request.7 AS trace_id, request.8 AS span_id, * FROM
(
$evidence
);

CREATE OR REPLACE VIEW window_evidence $on_cluster AS
WITH
    $counters AS registry,
    {nodes:Array(String)} AS nodes,
    [('window', toUnixTimestamp64Micro({from:DateTime64(6, 'UTC')}),
        toUnixTimestamp64Micro({to:DateTime64(6, 'UTC')}))] AS stretches,
    -- Every place, each on its own clock.
    (
        SELECT arrayDistinct(arrayConcat(
            groupUniqArray((toString(node), toString(device), 0.)),
            groupUniqArray((toString(node), '', 0.))))
        FROM samples
        WHERE time >= fromUnixTimestamp64Micro(stretches[1].2 - 60000000, 'UTC')
            AND time < fromUnixTimestamp64Micro(stretches[1].3 + 60000000, 'UTC')
            AND metric IN (SELECT arrayJoin(arrayMap(one -> one.2, registry)))
            AND (empty(nodes) OR node IN nodes)
    ) AS places
$evidence;
