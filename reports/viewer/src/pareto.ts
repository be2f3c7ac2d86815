// SPDX-License-Identifier: Apache-2.0
// Step time against peak memory: colour says the tensor size, shape the recompute, a dark rim that
// nothing is faster and smaller; whiskers are the interval. Layouts that are too large can be shown
// too, with the reason. A brush takes a rectangle of layouts for the table.

import type { Chart, Instance } from "./charts";
import { kDrawing } from "./drawing";
import { escape, kGibibyte, memory_text, seconds_text, visible } from "./format";
import { bar_of } from "./legend";
import type { Area } from "./ranking";
import type { RankedLayout, Report, TooLarge } from "./report";
import { kSeriesColours } from "./series";
import { base_option, kLegend, value_axis, type Theme } from "./theme";
import { whiskers } from "./whiskers";

const kUsable = 0.95; // of the memory: plans leave 5 % free by default
const kCrowd = 1000; // more points are drawn on a canvas, without labels
const kSlowest = 2; // times the fastest; slower layouts are in the table
const kTooLarge = "too large for the memory";
const kShapes: Record<string, string> = { none: "circle", selective: "triangle", full: "rect" };

interface Item {
  data: { layout?: RankedLayout; too_large?: TooLarge };
}

function series_of(report: Report, near: RankedLayout[], size: number, colour: string, theme: Theme): object {
  const crowded = near.length > kCrowd;
  const label = (item: Item) => {
    const layout = item.data.layout;
    return layout !== undefined && layout.rank <= report.top ? `#${layout.rank}` : "";
  };
  return {
    name: `tp ${size}`,
    type: "scatter",
    symbolSize: crowded ? 7 : 13,
    itemStyle: { color: colour },
    label: { show: !crowded, position: "right", color: theme.soft, formatter: label },
    labelLayout: { hideOverlap: true },
    data: near
      .filter((layout) => layout.layout.tensor_parallel_size === size)
      .map((layout) => ({
        value: [layout.peak_memory_bytes / kGibibyte, layout.step_time_seconds],
        symbol: kShapes[layout.layout.recompute_granularity] ?? "circle",
        itemStyle: { borderColor: layout.pareto ? theme.text : theme.page, borderWidth: layout.pareto ? 2 : 1 },
        layout,
      })),
  };
}

function too_large_series(points: TooLarge[], theme: Theme): object {
  return {
    name: kTooLarge,
    type: "scatter",
    symbol: "path://M0 0L2 0L5 3L8 0L10 0L10 2L7 5L10 8L10 10L8 10L5 7L2 10L0 10L0 8L3 5L0 2Z",
    symbolSize: 11,
    emphasis: { disabled: true },
    itemStyle: { color: theme.soft },
    data: points.map((too_large) => ({
      value: [too_large.peak_memory_bytes / kGibibyte, too_large.step_time_seconds],
      too_large,
    })),
  };
}

export function pareto_chart(report: Report, theme: Theme): Chart | null {
  const ranked = report.ranked;
  if (ranked.length + report.too_large.length < 2) return null;
  // The smallest layouts may be many times slower and would press the others together.
  const fastest = Math.min(...ranked.slice(0, kCrowd).map((layout) => layout.step_time_seconds));
  const near = ranked.filter((layout) => layout.step_time_seconds <= kSlowest * fastest);
  const too_large = report.too_large.filter((layout) => ranked.length === 0 || layout.step_time_seconds <= kSlowest * fastest);
  const sizes = [...new Set(near.map((layout) => layout.layout.tensor_parallel_size))].sort((a, b) => a - b);
  const slower = ranked.length - near.length;
  const unseen = slower > 0 ? ` (${slower} of ${ranked.length} are slower than ${kSlowest} times the fastest)` : "";
  const intervals = near.slice(0, 100).map((layout) => ({
    at: layout.peak_memory_bytes / kGibibyte,
    low: layout.step_time_low_seconds,
    high: layout.step_time_high_seconds,
  }));
  return {
    height: 320,
    crowded: near.length > kCrowd,
    option: {
      ...base_option(theme),
      legend: { ...kLegend, selected: { [kTooLarge]: false } },
      grid: { left: 56, right: 56, top: 24, bottom: 48 },
      brush: { xAxisIndex: 0, yAxisIndex: 0, brushStyle: { color: "rgba(31,111,180,.15)", borderColor: kDrawing.accent, borderWidth: 1 } },
      // Capacity and headroom are always in the picture.
      xAxis: { ...value_axis(theme, `peak memory, GiB${unseen}`), scale: true, max: (extent: { max: number }) => Math.max(extent.max, capacity_of(report) * 1.02), axisLabel: { color: theme.soft, hideOverlap: true, showMaxLabel: false } },
      yAxis: { ...value_axis(theme, "step time, s"), scale: true, nameGap: 44 },
      tooltip: { ...base_option(theme).tooltip, formatter: (item: Item) => tooltip(item) },
      series: [
        ...sizes.map((size, index) => series_of(report, near, size, kSeriesColours[index % kSeriesColours.length], theme)),
        ...(too_large.length > 0 ? [too_large_series(too_large, theme)] : []),
        whiskers(intervals, theme.soft),
        memory_lines(report, theme),
      ],
    },
  };
}

// Of the device, in GiB; 0: no layout fits.
function capacity_of(report: Report): number {
  return (report.summary?.memory_capacity_bytes ?? 0) / kGibibyte;
}

// The device's memory, and what a plan leaves of it by default.
function memory_lines(report: Report, theme: Theme): object {
  const capacity = capacity_of(report);
  const line = (at: number, name: string, align: string) => ({ xAxis: at, label: { formatter: name, color: theme.soft, position: "end", align }, lineStyle: { color: kDrawing.limit, type: "dashed" } });
  return {
    type: "line",
    silent: true,
    data: [],
    markLine: { silent: true, symbol: "none", data: capacity > 0 ? [line(capacity, "capacity", "left"), line(capacity * kUsable, "5 % free", "right")] : [] },
  };
}

interface BrushEnd {
  areas: { coordRange: [[number, number], [number, number]] }[];
}

// Buttons above the chart: one takes the mouse for the brush, one lets go of what it took.
export function add_brush(figure: HTMLElement, instance: Instance, select: (area: Area | null) => void): void {
  const take = document.createElement("button");
  const clear = document.createElement("button");
  take.type = clear.type = "button";
  take.textContent = "Select layouts in the chart";
  take.setAttribute("aria-pressed", "false");
  clear.textContent = "Clear selection";
  clear.disabled = true;
  const arm = (on: boolean) => {
    take.setAttribute("aria-pressed", `${on}`);
    const brushOption = { brushType: on ? "rect" : false, brushMode: "single" };
    instance.dispatchAction({ type: "takeGlobalCursor", key: "brush", brushOption });
  };
  take.addEventListener("click", () => arm(take.getAttribute("aria-pressed") === "false"));
  clear.addEventListener("click", () => {
    instance.dispatchAction({ type: "brush", areas: [] });
    clear.disabled = true;
    select(null);
  });
  instance.on("brushEnd", (event: unknown) => {
    const range = (event as BrushEnd).areas[0]?.coordRange;
    if (range === undefined) return;
    clear.disabled = false;
    arm(false);
    select({ memory_gib: range[0], seconds: range[1] });
  });
  bar_of(figure, "brush", [take, clear]);
  select(null);
}

function tooltip(item: Item): string {
  const { layout, too_large } = item.data;
  if (too_large !== undefined) {
    return (
      `<b>${escape(visible(too_large.short_name))}</b><br>${seconds_text(too_large.step_time_seconds)} if it fitted` +
      `<br>${memory_text(too_large.peak_memory_bytes)}: ${escape(visible(too_large.reason))}`
    );
  }
  if (layout === undefined) return "";
  const interval = `${seconds_text(layout.step_time_low_seconds)} to ${seconds_text(layout.step_time_high_seconds)}`;
  return (
    `<b>#${layout.rank} ${escape(visible(layout.short_name))}</b><br>` +
    `${seconds_text(layout.step_time_seconds)} (${interval})<br>${memory_text(layout.peak_memory_bytes)}`
  );
}
