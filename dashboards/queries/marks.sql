-- Deploys and changes; a mark without a service concerns all.
SELECT marks.time AS time, concat(kind, ': ', name) AS title, service AS tags, toString(attributes) AS text
FROM marks
WHERE $__timeFilter(marks.time)
  AND (service = '' OR <<service_filter>>)
ORDER BY time
