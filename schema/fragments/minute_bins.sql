    toStartOfMinute(toDateTime(time, 'UTC')) AS minute,
    service, node, gpu_set, engine, model, version, replica, tenant, sla_class, partition_id, operator_id,
    sumMapIf(
        [toUInt8(least(239., 20 * log10(greatest(1., assumeNotNull(ttft_us)))))], [toUInt64(weight)],
        isNotNull(ttft_us)) AS ttft_bins,
    sumMapIf(
        [toUInt8(least(239., 20 * log10(greatest(1., assumeNotNull(tpot_us)))))], [toUInt64(weight)],
        isNotNull(tpot_us)) AS tpot_bins,
    -- Gaps are many: a slot for each bin takes a tenth of the time of a map, and what is empty is left out after.
    (arrayFilter(
        (bin, found) -> found > 0,
        CAST(range(240), 'Array(UInt8)'),
        sumResampleArray(0, 240, 1)(
            arrayWithConstant(length(gaps_us), toUInt64(weight)),
            arrayMap(gap -> toUInt8(least(239., 20 * log10(greatest(1., toFloat64(gap))))), gaps_us)) AS slots),
        arrayFilter(found -> found > 0, slots)) AS tbt_bins,
    sumMapIf(
        [toUInt8(least(239., 20 * log10(greatest(1., assumeNotNull(e2e_us)))))], [toUInt64(weight)],
        isNotNull(e2e_us)) AS e2e_bins
