Tuple(filtered_attributes $attributes_type, time_unix_nano UInt64, as_double Nullable(Float64), as_int Nullable(Int64), span_id String, trace_id String)
