$metric_columns,
    flat_map_of(point.attributes) AS Attributes,
    fromUnixTimestamp64Nano(toInt64(point.start_time_unix_nano)) AS StartTimeUnix,
    fromUnixTimestamp64Nano(toInt64(point.time_unix_nano)) AS TimeUnix,
    point.flags AS Flags
