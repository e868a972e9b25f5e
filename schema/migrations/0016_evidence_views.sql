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
    -- The request as scalars, so that the samples' partitions and key are cut by constants:
    -- (stretches, its node, its devices as they are named, nodes, trace id, span id).
    assumeNotNull((
        WITH us -> arrived + toInt64(floor(assumeNotNull(us) + 0.5005)) AS moment
        SELECT (
            arrayFilter(one -> one.3 > one.2, arrayConcat(
                [('request', arrived, moment(greatest(ifNull(e2e, 0), ifNull(ttft, 0), ends[-1])))],
                arrayMap(n -> (
                    ['ingress', 'tokenize', 'queue', 'kv_init', 'prefill', 'sample', 'egress', 'outside'][n],
                    moment(if(n > 1, ends[n - 1], 0)), moment(ends[n])),
                    arrayFilter(n -> isNotNull(parts[n]), range(1, length(parts) + 1))),
                [('decode', moment(ifNull(ttft, 0)), if(isNull(ttft) OR isNull(e2e), arrived, moment(e2e)))])),
            home, asked, arrayDistinct(arrayPushFront(arrayMap(one -> one.1, asked), home)), trace, span)
        FROM
        (
            -- A node before a colon holds for the words after it too; `0:2` is a MIG instance.
            SELECT
                *,
                arrayCumSum(arrayMap(us -> ifNull(us, 0), parts)) AS ends,
                splitByRegexp('[,;+ ]+', device_set) AS words,
                arrayMap(word -> extract(word, '^([^:]*):.'), words) AS heads,
                arrayPopFront(arrayFill(node -> node != '', arrayPushFront(
                    arrayMap(head -> if(match(head, '[^0-9]'), head, ''), heads), home))) AS word_nodes,
                arrayFilter(one -> one.2 != '', arrayZip(word_nodes, arrayMap(
                    (word, head) -> if(match(head, '[^0-9]'), substring(word, length(head) + 2), word),
                    words, heads))) AS asked
            FROM
            (
                SELECT
                    argMax(toUnixTimestamp64Micro(time), time) AS arrived,
                    argMax(toString(node), time) AS home,
                    argMax(toString(gpu_set), time) AS device_set,
                    argMax(tuple(ttft_us), time).1 AS ttft,
                    argMax(tuple(e2e_us), time).1 AS e2e,
                    argMax([ingress_us, tokenize_us, queue_us, kv_init_us, prefill_us, sample_us, egress_us,
                        outside_us], time) AS parts,
                    argMax(trace_id, time) AS trace,
                    argMax(span_id, time) AS span
                FROM requests
                WHERE trace_id = {trace:String}
            )
        )
    )) AS request,
    request.1 AS stretches,
    request.4 AS nodes,
    (
        -- Its places among what was read then, each with how far its clock may be from the request's.
        WITH node -> toFloat64(multiIf(
            node = home, 0,
            mapContains(clocks, node) AND clocks[node] >= 0 AND mapContains(clocks, home) AND clocks[home] >= 0,
            clocks[node] + clocks[home],
            -1)) AS apart
        SELECT arrayFilter(place -> place.3 >= 0, arrayConcat(
            arrayMap(place -> (place.1, place.2, apart(place.1)), cards),
            arrayMap(node -> (node, '', apart(node)), nodes)))
        FROM
        (
            SELECT
                request.2 AS home, request.3 AS asked, clocks,
                arrayMap(place -> (place.1, place.2, arrayExists(one -> one.1 = place.1 AND (
                    replaceRegexpOne(one.2, '^GPU-', '') = replaceRegexpOne(place.2, '^GPU-', '')
                    OR (position(one.2, ':') > 0 AND splitByChar(':', replaceRegexpOne(one.2, '^GPU-', ''))[1]
                        = replaceRegexpOne(place.2, '^GPU-', ''))
                    OR (length(one.2) > 7 AND startsWith(uuids[concat(place.1, ' ', place.2)], one.2))),
                    asked)), devices) AS known,
                -- Where none of a node's devices is one of the named, all of them stand for it.
                arrayFilter(place -> place.3 OR (
                    NOT arrayExists(other -> other.1 = place.1 AND other.3, known)
                    AND (empty(asked) OR arrayExists(one -> one.1 = place.1, asked))), known) AS cards
            FROM
            (
                SELECT
                    groupUniqArrayIf((toString(node), toString(device)), device != '' AND metric IN (
                        SELECT arrayJoin(arrayMap(one -> one.2, arrayFilter(one -> one.7 = 1, registry))))) AS devices,
                    maxMap(map(concat(node, ' ', device), attributes['slatag.gpu.uuid'])) AS uuids,
                    maxMap(map(toString(node), greatest(
                        if(metric = 'slatag.clock.uncertainty', 1e6 * value, -1),
                        ifNull(toFloat64OrNull(attributes['slatag.clock_uncertainty_us']), -1)))) AS clocks
                FROM samples
                WHERE time >= fromUnixTimestamp64Micro(stretches[1].2 - 60000000, 'UTC')
                    AND time < fromUnixTimestamp64Micro(stretches[1].3 + 60000000, 'UTC')
                    AND metric IN (SELECT arrayJoin(arrayMap(one -> one.2, registry)))
                    AND node IN nodes
            )
        )
    ) AS places
SELECT request.5 AS trace_id, request.6 AS span_id, * FROM
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
