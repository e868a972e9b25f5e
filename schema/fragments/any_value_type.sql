Tuple(string_value String, bool_value Nullable(Bool), int_value Nullable(Int64), double_value Nullable(Float64), array_value String, kvlist_value String, bytes_value String)
