SELECT toUnixTimestamp64Micro(max(time)) AS newest_us, count() AS requests FROM requests WHERE $where
