// Texts whose contrast with what lies behind them is too low (WCAG 2: the ratio of relative luminances).
() => {
  const numbers = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const over = (top, under) => {
    const alpha = top[3] ?? 1;
    return [0, 1, 2].map((i) => top[i] * alpha + under[i] * (1 - alpha));
  };
  const linear = (part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  const light = (rgb) => {
    const [r, g, b] = rgb.map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.unshift(numbers(getComputedStyle(at).backgroundColor));
    return layers.reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const faults = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walk.nextNode(); text; text = walk.nextNode()) {
    const node = text.parentElement;
    const shown = node.checkVisibility({ visibilityProperty: true });
    if (!text.data.trim() || !shown || node.closest(".unseen, option, svg, noscript")) continue;
    const style = getComputedStyle(node);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (style.fontWeight >= 600 && size >= 18.66);
    const back = behind(node);
    const [high, low] = [light(over(numbers(style.color), back)), light(back)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < (large ? 3 : 4.5)) faults.push(`${ratio.toFixed(2)} ${text.data.trim().slice(0, 40)}`);
  }
  return faults;
};
