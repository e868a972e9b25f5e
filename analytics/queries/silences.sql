-- Every silence as it stands now, over or not, the youngest first.
SELECT id, updated, starts, ends, created_by, comment, matchers
FROM silences FINAL
WHERE ends > {since:DateTime64(3, 'UTC')}
ORDER BY starts DESC, id
LIMIT 1000
