    toStartOfMinute(toDateTime(time, 'UTC')) AS minute,
    service, node, gpu_set, engine, model, version, replica, tenant, sla_class, partition_id, operator_id,
    sumMapIf(
        [toUInt8(least(239., 20 * log10(greatest(1., assumeNotNull(ttft_us)))))], [toUInt64(weight)],
        isNotNull(ttft_us)) AS ttft_bins,
    sumMapIf(
        [toUInt8(least(239., 20 * log10(greatest(1., assumeNotNull(tpot_us)))))], [toUInt64(weight)],
        isNotNull(tpot_us)) AS tpot_bins,
    sumMap(
        arrayMap(gap -> toUInt8(least(239., 20 * log10(greatest(1., toFloat64(gap))))), gaps_us),
        arrayWithConstant(length(gaps_us), toUInt64(weight))) AS tbt_bins,
    sumMapIf(
        [toUInt8(least(239., 20 * log10(greatest(1., assumeNotNull(e2e_us)))))], [toUInt64(weight)],
        isNotNull(e2e_us)) AS e2e_bins
