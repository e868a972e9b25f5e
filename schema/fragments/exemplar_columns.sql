    arrayMap(attributes -> flat_map_of(attributes), point.exemplars.filtered_attributes) AS `Exemplars.FilteredAttributes`,
    arrayMap(at -> fromUnixTimestamp64Nano(toInt64(at)), point.exemplars.time_unix_nano) AS `Exemplars.TimeUnix`,
    arrayMap((real, whole) -> coalesce(real, toFloat64(whole), 0),
        point.exemplars.as_double, point.exemplars.as_int) AS `Exemplars.Value`,
    arrayMap(id -> lower(hex(id)), point.exemplars.span_id) AS `Exemplars.SpanId`,
    arrayMap(id -> lower(hex(id)), point.exemplars.trace_id) AS `Exemplars.TraceId`
