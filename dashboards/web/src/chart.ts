// ECharts with only what the page draws, and a chart that follows its box, the theme and the view's end.
import { CustomChart, LineChart } from "echarts/charts";
import { GridSimpleComponent, MarkAreaComponent, MarkLineComponent } from "echarts/components";
import { init, use, type EChartsCoreOption, type EChartsType } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { color, onChange } from "./theme";

use([CustomChart, LineChart, GridSimpleComponent, MarkAreaComponent, MarkLineComponent, CanvasRenderer]);

export type Option = EChartsCoreOption;

// Draws what `option` returns, again whenever the box, the theme or the data (`again`) change.
export function chart(box: HTMLElement, option: () => Option, signal: AbortSignal): { again: () => void } {
  const drawn: EChartsType = init(box, null, { renderer: "canvas" });
  const again = (): void => drawn.setOption({ ...option(), animation: false, useUTC: true }, { notMerge: true });
  const size = new ResizeObserver(() => {
    if (drawn.getWidth() === box.clientWidth && drawn.getHeight() === box.clientHeight) return;
    drawn.resize();
    again();
  });
  size.observe(box);
  onChange(again, signal);
  signal.addEventListener("abort", () => {
    size.disconnect();
    drawn.dispose();
  });
  again();
  return { again };
}

// A grid exactly where it is put, so that charts above each other share their axis.
export function place(box: Option): Option {
  return { ...box, outerBoundsMode: "none" };
}

export function axisLook(label: object = {}, tick: object = {}): Option {
  return {
    axisLine: { show: false },
    axisTick: { show: true, lineStyle: { color: color("line") }, ...tick },
    axisLabel: { color: color("dim"), fontFamily: "system-ui, sans-serif", fontSize: 11, hideOverlap: true, ...label },
    splitLine: { show: false },
  };
}

// The time axis of a chart that stands under the waterfall, where the times are written.
export function bareAxis(min: number, max: number): Option {
  const line = { show: true, onZero: false, lineStyle: { color: color("line") } };
  return { type: "value", min, max, axisLabel: { show: false }, axisTick: { show: false }, axisLine: line, splitLine: { show: false } };
}
