-- Width and generation that each card's PCIe link has and could have, and its NVLinks, at their lowest of the range.
SELECT
  node,
  device,
  minIf(value, metric = 'slatag.gpu.pcie.link_width') AS lanes,
  maxIf(value, metric = 'slatag.gpu.pcie.link_width.max') AS lanes_possible,
  minIf(value, metric = 'slatag.gpu.pcie.link_generation') AS generation,
  maxIf(value, metric = 'slatag.gpu.pcie.link_generation.max') AS generation_possible,
  if(countIf(metric = 'slatag.gpu.nvlink.active_links') = 0, NULL,
    minIf(value, metric = 'slatag.gpu.nvlink.active_links')) AS nvlinks
FROM samples
WHERE $__timeFilter(samples.time) AND <<node_filter>>
  AND metric IN ('slatag.gpu.pcie.link_width', 'slatag.gpu.pcie.link_width.max', 'slatag.gpu.pcie.link_generation',
    'slatag.gpu.pcie.link_generation.max', 'slatag.gpu.nvlink.active_links')
GROUP BY node, device
HAVING countIf(metric = 'slatag.gpu.pcie.link_width') > 0
ORDER BY node, device
LIMIT 500
