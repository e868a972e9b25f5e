Tuple(attributes $attributes_type, start_time_unix_nano UInt64, time_unix_nano UInt64, as_double Nullable(Float64), as_int Nullable(Int64), exemplars Array($exemplar_type), flags UInt32)
