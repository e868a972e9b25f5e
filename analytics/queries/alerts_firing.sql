-- Incidents whose newest report says that they go on, and the alert that was told with it.
SELECT incident, last.1 AS state, last.2 AS alert, last.3 AS report, toUnixTimestamp64Micro(at) AS at_us
FROM
(
    SELECT incident, argMax((toString(state), alert, report), time) AS last, max(time) AS at
    FROM reports
    WHERE time >= {since:DateTime64(6, 'UTC')} AND alert != ''
    GROUP BY incident
)
WHERE state = {open:String}
ORDER BY at, incident
