SELECT
    stretch.1 AS stage,
    fromUnixTimestamp64Micro(stretch.2, 'UTC') AS start,
    fromUnixTimestamp64Micro(stretch.3, 'UTC') AS end,
    rule.1 AS counter,
    rule.2 AS metric,
    rule.5 AS unit,
    if(rule.6 = 1, 'total', 'gauge') AS kind,
    node,
    place_device AS device,
    if(rule.6 = 1, rule.11 * (stretch.3 - stretch.2) / 1e6, rule.11) AS most,
    least(if(rule.8 = 1, sum(part_value), avg(part_value)), most) AS value,
    least(if(rule.8 = 1, sum(part_low), avg(part_low)), most) AS low,
    if(countIf(isNull(part_high)) > 0, NULL, least(if(rule.8 = 1, sum(part_high), avg(part_high)), most)) AS high,
    max(part_coverage) AS coverage,
    any(slack) AS clock_uncertainty_us,
    count() AS series
FROM
(
    -- A series in a stretch.
    SELECT
        stretch, node, place_device, slack, code, number,
        registry[code] AS rule, rule.6 = 1 AS is_total,
        toFloat64(stretch.2) AS a, toFloat64(stretch.3) AS b,
        sum(inside) AS seen_us,
        sum(span.3 * inside / (span.2 - span.1)) AS amount,
        if(is_total, amount, amount / seen_us) AS part_value,
        if(is_total, sum(span.3 * within), least(part_value, min(span.3 / (span.2 - span.1)))) AS part_low,
        multiIf(
            NOT is_total, greatest(part_value, max(span.3 / (span.2 - span.1))),
            any(first) > a - slack OR any(last) < b + slack, NULL,
            sum(span.3)) AS part_high,
        sum(inside * inside / (span.2 - span.1)) / (b - a) AS part_coverage
    FROM
    (
        -- A span lies between two readings (totals), or is what one stands for (gauges).
        SELECT
            node, place_device, slack, number, code, span, spans[1].1 AS first, spans[-1].2 AS last,
            arrayJoin(arrayFilter(
                one -> span.2 > one.2 - slack AND span.1 < one.3 + slack AND one.3 - one.2 >= 4 * slack,
                stretches)) AS stretch,
            greatest(0, least(span.2, toFloat64(stretch.3)) - greatest(span.1, toFloat64(stretch.2))) AS inside,
            span.1 >= stretch.2 + slack AND span.2 <= stretch.3 - slack AS within
        FROM
        (
            SELECT
                rowNumberInAllBlocks() AS number,
                registry[code] AS rule, code, node, place_device, slack,
                arrayMap(reading -> toFloat64(reading.1), readings) AS times,
                arrayMap(reading -> reading.2, readings) AS numbers,
                arrayPopFront(arrayDifference(times)) AS gaps,
                if(empty(gaps), 60000000.,
                    least(60000000., 1.5 * arraySort(gaps)[intDiv(length(gaps), 2) + 1])) AS hold,
                arrayMap(gap -> least(gap, hold), gaps) AS reach,
                arrayMap((now, before) -> multiIf(
                    now >= before, now - before,
                    rule.10 = 1 AND before >= 4026531840 AND before < 4294967296 AND now < 268435456,
                    now - before + 4294967296,
                    now), arrayPopFront(numbers), arrayPopBack(numbers)) AS grown,
                multiIf(
                    rule.6 = 1, arrayZip(arrayPopBack(times), arrayPopFront(times), grown),
                    rule.9 = 1, arrayMap((time, long, number) -> (time - long, time, number * long),
                        times, arrayReverse(arrayResize(arrayReverse(reach), length(times), hold)), numbers),
                    arrayMap((time, long, number) -> (time, time + long, number * long),
                        times, arrayResize(reach, length(times), hold), numbers)) AS spans
            FROM
            (
                -- One source of each counter and place: the one with the most readings.
                SELECT
                    code, node, device, place_device, source,
                    -- What is no measurement does not count; of two readings of one time the greater does.
                    arraySort(arrayFilter(reading -> isFinite(reading.2) AND reading.2 >= 0
                        AND (rule.6 = 1 OR reading.2 <= rule.11), all_readings)) AS sorted,
                    arrayFilter((reading, next) -> reading.1 != next, sorted,
                        arrayShiftLeft(arrayMap(reading -> reading.1, sorted), 1, -1)) AS readings,
                    first_value(source) OVER (
                        PARTITION BY code, node, device ORDER BY of_source DESC, source) AS best
                FROM
                (
                    SELECT
                        *, registry[code] AS rule, if(rule.7 = 1, device, '') AS place_device,
                        sum(length(all_readings)) OVER (PARTITION BY code, node, device, source) AS of_source
                    FROM
                    (
                        SELECT
                            node, device,
                            mapSort(mapFilter((name, word) -> name != 'slatag.clock_uncertainty_us', said)) AS tags,
                            arrayFirstIndex(
                                one -> one.2 = metric AND (one.3 = '' OR tags[one.3] = one.4), registry) AS code,
                            tags['slatag.source'] AS source,
                            groupArrayArray(some_readings) AS all_readings
                        FROM
                        (
                            SELECT
                                metric, node, device, service, any(attributes) AS said,
                                groupArray((toUnixTimestamp64Micro(time), value)) AS some_readings
                            FROM samples
                            WHERE time >= fromUnixTimestamp64Micro(stretches[1].2 - 60000000, 'UTC')
                                AND time < fromUnixTimestamp64Micro(stretches[1].3 + 60000000, 'UTC')
                                AND metric IN (SELECT arrayJoin(arrayMap(one -> one.2, registry)))
                                AND (empty(nodes) OR node IN nodes)
                            GROUP BY metric, node, device, service, toString(attributes)
                        )
                        GROUP BY metric, node, device, service, tags
                        HAVING code > 0
                    )
                )
            ) AS series_read
            INNER JOIN
            (
                SELECT (arrayJoin(places) AS place).1 AS node, place.2 AS place_device, place.3 AS slack
            ) AS wanted USING (node, place_device)
            WHERE source = best AND notEmpty(readings)
        )
        ARRAY JOIN spans AS span
    )
    GROUP BY stretch, node, place_device, slack, code, number
)
WHERE seen_us > 0
GROUP BY stretch, rule, node, place_device
