Array(Tuple(key String, value $any_value_type))
