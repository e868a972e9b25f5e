-- The alerts of incidents whose newest report says that they go on.
SELECT last.2 AS alert
FROM
(
    SELECT argMax((toString(state), alert), time) AS last
    FROM reports
    WHERE time >= {since:DateTime64(6, 'UTC')} AND alert != ''
    GROUP BY incident
)
WHERE last.1 = {open:String}
