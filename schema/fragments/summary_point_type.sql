Tuple(attributes $attributes_type, start_time_unix_nano UInt64, time_unix_nano UInt64, count UInt64, sum Float64, quantile_values Array(Tuple(quantile Float64, value Float64)), flags UInt32)
