    toStartOfMinute(toDateTime(time, 'UTC')) AS minute,
    service, node, gpu_set, engine, model, version, replica, tenant, sla_class, partition_id, operator_id,
    -- greatest, in this order, makes 1 of what is no number: a nan would refuse the block.
    sumMapIf(
        [toUInt8(least(239., 20 * log10(greatest(assumeNotNull(ttft_us), 1.))))], [toUInt64(weight)],
        ifNull(abs(ttft_us) < 1e200, 0)) AS ttft_bins,
    sumMapIf(
        [toUInt8(least(239., 20 * log10(greatest(assumeNotNull(tpot_us), 1.))))], [toUInt64(weight)],
        ifNull(abs(tpot_us) < 1e200, 0)) AS tpot_bins,
    -- Gaps are many: a slot for each bin takes a tenth of the time of a map, and what is empty is left out after.
    (arrayFilter(
        (bin, found) -> found > 0,
        CAST(range(240), 'Array(UInt8)'),
        sumResampleArrayIf(0, 240, 1)(
            arrayWithConstant(length(gaps_us), toUInt64(weight)),
            arrayMap(gap -> toUInt8(least(239., 20 * log10(greatest(toFloat64(gap), 1.)))), gaps_us),
            isFinite(arraySum(gaps_us))) AS slots),
        arrayFilter(found -> found > 0, slots)) AS tbt_bins,
    sumMapIf(
        [toUInt8(least(239., 20 * log10(greatest(assumeNotNull(e2e_us), 1.))))], [toUInt64(weight)],
        ifNull(abs(e2e_us) < 1e200, 0)) AS e2e_bins
