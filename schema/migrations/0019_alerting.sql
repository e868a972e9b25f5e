-- How many requests took up to how long, ever: what /metrics shows as Prometheus' histograms, counted once when
-- rows arrive, so that a scrape reads a few rows however many requests there are.
-- Each map: the bound in µs that a time does not exceed (4294967295 where it exceeds all) → how many.
-- The bounds are those of OpenTelemetry's GenAI server metrics and, between them, the usual limits of objectives;
-- analytics/exposition/bounds.py has them too. roundDown finds the place in a sorted list; a bound is inclusive
-- above, so both sides change their sign.
-- What is counted is what OpenTelemetry counts: first tokens and tokens of requests that succeeded, the duration of
-- every request. `requests` counts those without any time as well.
-- No time and no time to live: counters only grow.
-- ORDER BY: AggregatingMergeTree adds up rows with equal keys, and nothing else is asked of the table.
CREATE TABLE IF NOT EXISTS latency_histogram$local $on_cluster
(
    service LowCardinality(String),
    model LowCardinality(String),
    operation LowCardinality(String),
    engine LowCardinality(String),
    tenant LowCardinality(String),
    sla_class LowCardinality(String),
    status LowCardinality(String),
    error_type LowCardinality(String),
    requests SimpleAggregateFunction(sum, UInt64),
    ttft SimpleAggregateFunction(sumMap, Map(UInt32, UInt64)),
    tpot SimpleAggregateFunction(sumMap, Map(UInt32, UInt64)),
    tbt SimpleAggregateFunction(sumMap, Map(UInt32, UInt64)),
    e2e SimpleAggregateFunction(sumMap, Map(UInt32, UInt64)),
    ttft_us SimpleAggregateFunction(sum, Float64),
    tpot_us SimpleAggregateFunction(sum, Float64),
    tbt_us SimpleAggregateFunction(sum, Float64),
    e2e_us SimpleAggregateFunction(sum, Float64)
)
ENGINE = ${replicated}AggregatingMergeTree
ORDER BY (service, model, operation, engine, tenant, sla_class, status, error_type)
SETTINGS non_replicated_deduplication_window = $window;

-- only with a cluster
CREATE TABLE IF NOT EXISTS latency_histogram $on_cluster AS latency_histogram_local
ENGINE = Distributed('$cluster', currentDatabase(), 'latency_histogram_local', cityHash64(service));

-- least, in this order, makes 1e15 of what is no number: a nan would refuse the block. It is not counted.
-- Gaps are many: a slot for each bound takes a fifth of the time of a map. A bound's slot is its remainder of 43,
-- the least number that has a slot of its own for each; a slot that no bound has is 0 and stays empty.
CREATE MATERIALIZED VIEW IF NOT EXISTS latency_histogram_mv $on_cluster
TO latency_histogram$local AS
SELECT
    service, model, operation, engine, tenant, sla_class, status, error_type,
    sum(weight) AS requests,
    sumMapIf(
        map(toUInt32(-roundDown(-least(assumeNotNull(one.ttft_us), 1e15), [-4294967295., -60e6, -30e6, -20e6, -15e6, -10e6, -7.5e6, -6e6, -5e6, -4.5e6, -4e6, -3e6, -2.5e6, -2e6,
            -1.5e6, -1e6, -920e3, -800e3, -750e3, -600e3, -500e3, -450e3, -400e3, -340e3, -300e3,
            -250e3, -200e3, -150e3, -135e3, -120e3, -100e3, -80e3, -60e3, -40e3, -20e3, -10e3, -5e3,
            -1e3])), toUInt64(weight)),
        one.status = 'ok' AND ifNull(abs(one.ttft_us) < 1e200, 0)) AS ttft,
    sumMapIf(
        map(toUInt32(-roundDown(-least(assumeNotNull(one.tpot_us), 1e15), [-4294967295., -2.5e6, -1e6, -750e3, -500e3, -400e3, -300e3, -250e3, -200e3, -175e3, -150e3, -120e3,
            -100e3, -80e3, -75e3, -60e3, -50e3, -40e3, -30e3, -25e3, -20e3, -15e3, -10e3, -5e3])), toUInt64(weight)),
        one.status = 'ok' AND ifNull(abs(one.tpot_us) < 1e200, 0)) AS tpot,
    mapFilter((bound, found) -> found > 0, mapFromArrays(
        CAST([
            0, 0, 0, 0, 0, 20000, 2500, 200000, 75000, 0, 40000, 1000, 5000, 0, 400000, 4294967295, 150000,
            25000, 0, 0, 80000, 0, 0, 2500000, 10000, 100000, 0, 0, 0, 30000, 0, 0, 300000, 175000, 50000,
            1000000, 15000, 750000, 0, 500000, 0, 0, 0
        ], 'Array(UInt32)'),
        sumResampleArrayIf(0, 43, 1)(
            arrayWithConstant(length(gaps_us), toUInt64(weight)),
            arrayMap(gap -> toUInt32(-roundDown(-least(toFloat64(gap), 1e15), [-4294967295., -2.5e6, -1e6, -750e3, -500e3, -400e3, -300e3, -200e3, -175e3, -150e3, -100e3, -80e3,
            -75e3, -50e3, -40e3, -30e3, -25e3, -20e3, -15e3, -10e3, -5e3, -2.5e3, -1e3])) % 43, gaps_us),
            one.status = 'ok' AND isFinite(arraySum(gaps_us))))) AS tbt,
    sumMapIf(
        map(toUInt32(-roundDown(-least(assumeNotNull(one.e2e_us), 1e15), [-4294967295., -600e6, -300e6, -120e6, -81.92e6, -60e6, -40.96e6, -30e6, -20.48e6, -20e6, -15e6,
            -10.24e6, -10e6, -8e6, -5.12e6, -5e6, -3e6, -2.56e6, -2e6, -1.28e6, -1e6, -920e3, -800e3,
            -640e3, -500e3, -340e3, -320e3, -300e3, -200e3, -160e3, -135e3, -120e3, -100e3, -80e3,
            -40e3, -20e3, -10e3])), toUInt64(weight)),
        ifNull(abs(one.e2e_us) < 1e200, 0)) AS e2e,
    sumIf(weight * ifNull(one.ttft_us, 0), one.status = 'ok' AND ifNull(abs(one.ttft_us) < 1e200, 0)) AS ttft_us,
    sumIf(weight * ifNull(one.tpot_us, 0), one.status = 'ok' AND ifNull(abs(one.tpot_us) < 1e200, 0)) AS tpot_us,
    sumIf(weight * arraySum(gaps_us), one.status = 'ok' AND isFinite(arraySum(gaps_us))) AS tbt_us,
    sumIf(weight * ifNull(one.e2e_us, 0), ifNull(abs(one.e2e_us) < 1e200, 0)) AS e2e_us
FROM requests$local AS one
GROUP BY service, model, operation, engine, tenant, sla_class, status, error_type;

-- Who does not want to hear of which alerts until when: the newest row of an id counts, and one that has ended is over.
-- `matchers`: label, operator (=, !=, =~, !~), value; all must hold.
-- ORDER BY: silences are few, and are asked for by their id or all.
CREATE TABLE IF NOT EXISTS silences$local $on_cluster
(
    id String,
    updated DateTime64(6, 'UTC'),
    starts DateTime64(3, 'UTC'),
    ends DateTime64(3, 'UTC'),
    created_by String,
    comment String,
    matchers Array(Tuple(label String, operator String, value String))
)
ENGINE = ${replicated}ReplacingMergeTree(updated)
ORDER BY id
SETTINGS non_replicated_deduplication_window = $window;

-- only with a cluster
CREATE TABLE IF NOT EXISTS silences $on_cluster AS silences_local
ENGINE = Distributed('$cluster', currentDatabase(), 'silences_local', cityHash64(id));

-- What was told about an incident with this answer: the alert as otel-attrib/alert/1 has it; empty where nobody was.
ALTER TABLE reports$local $on_cluster ADD COLUMN IF NOT EXISTS alert String CODEC(ZSTD(3));

-- only with a cluster
ALTER TABLE reports $on_cluster ADD COLUMN IF NOT EXISTS alert String;

ALTER TABLE reports_from_logs_mv $on_cluster MODIFY QUERY
SELECT
    toDateTime64(Timestamp, 6, 'UTC') AS time,
    LogAttributes['incident'] AS incident,
    LogAttributes['state'] AS state,
    fromUnixTimestamp64Micro(toInt64OrZero(LogAttributes['onset_us']), 'UTC') AS onset,
    LogAttributes['service'] AS service,
    LogAttributes['model'] AS model,
    LogAttributes['metric'] AS metric,
    toFloat64OrZero(LogAttributes['quantile']) AS quantile,
    CAST(JSONExtract(LogAttributes['where'], 'Map(String, String)'),
        'Map(LowCardinality(String), String)') AS where,
    LogAttributes['verdict'] AS verdict,
    LogAttributes['layer'] AS layer,
    toFloat64OrNull(LogAttributes['delta_ms']) AS delta_ms,
    Body AS report,
    LogAttributes['hash'] AS hash,
    LogAttributes['alert'] AS alert
FROM otel_logs$local
WHERE ScopeName = 'otel_attrib.watch' AND EventName = 'otel_attrib.report';
