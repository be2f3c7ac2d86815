// SPDX-License-Identifier: Apache-2.0
// What each pipeline stage does when; drag or use the slider to zoom.

import type { Chart } from "./charts";
import { seconds_text, spoken } from "./format";
import { paint_of } from "./paint";
import type { Event, Report } from "./report";
import { base_option, category_axis, value_axis, type Theme } from "./theme";

interface Api {
  value(index: number): number;
  coord(point: number[]): number[];
  size(extent: number[]): number[];
}
interface Params {
  dataIndex: number;
  coordSys: { x: number; width: number };
}

const kCrowd = 3000; // more pieces of work are drawn on a canvas

export function timeline_chart(report: Report, theme: Theme): Chart | null {
  const timeline = report.timeline;
  if (timeline === null || timeline.events.length === 0) return null;
  const stages = Array.from({ length: timeline.stages }, (_, stage) => `stage ${stage}`);
  const works = [...new Set(timeline.events.map((event) => event[3]))];
  const row = Math.max(9, Math.min(26, 560 / timeline.stages));
  return {
    crowded: timeline.events.length > kCrowd,
    height: row * timeline.stages + 130,
    option: {
      ...base_option(theme),
      legend: {
        top: 0,
        left: 0,
        selectedMode: false,
        textStyle: { color: theme.soft },
        data: works.map((work) => ({ name: spoken(work), itemStyle: { color: paint_of(work).color } })),
      },
      grid: { left: 8, right: 16, top: 30, bottom: 84, containLabel: true },
      xAxis: { ...value_axis(theme, "time, s"), max: timeline.total_seconds, axisLabel: { color: theme.soft, hideOverlap: true, showMaxLabel: false } },
      yAxis: { ...category_axis(theme, stages), inverse: true },
      dataZoom: [
        { type: "inside", filterMode: "weakFilter", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true },
        {
          type: "slider",
          filterMode: "weakFilter",
          bottom: 8,
          height: 22,
          textStyle: { color: theme.soft },
          labelFormatter: (value: number) => seconds_text(value),
        },
      ],
      tooltip: {
        ...base_option(theme).tooltip,
        formatter: (item: { data: { event: Event } }) => tooltip(item.data.event),
      },
      series: works.map((work) => {
        const events = timeline.events.filter((event) => event[3] === work);
        return {
          name: spoken(work),
          type: "custom",
          clip: true,
          itemStyle: { color: paint_of(work).color },
          encode: { x: [1, 2], y: 0 },
          data: events.map((event) => ({ value: [event[0], event[1], event[2]], event })),
          renderItem: (params: Params, api: Api) => block(params, api, events[params.dataIndex], theme),
        };
      }),
    },
  };
}

function block(params: Params, api: Api, event: Event, theme: Theme): object | null {
  const [begin, y] = api.coord([api.value(1), api.value(0)]);
  const end = api.coord([api.value(2), api.value(0)])[0];
  const height = api.size([0, 1])[1] * 0.86;
  const left = Math.max(begin, params.coordSys.x);
  const right = Math.min(end, params.coordSys.x + params.coordSys.width);
  if (right <= left) return null;
  const label = `${event[4]}`;
  const fits = right - left > 7 * label.length + 4 && height >= 11;
  return {
    type: "rect",
    shape: { x: left, y: y - height / 2, width: Math.max(0.5, right - left), height },
    style: { fill: paint_of(event[3]).color, stroke: theme.page, lineWidth: right - left > 6 ? 0.7 : 0 },
    textContent: fits ? { style: { text: label, fill: "#fff", fontSize: Math.min(11, height - 1) } } : undefined,
    textConfig: { position: "inside" },
  };
}

function tooltip(event: Event): string {
  const [stage, begin, end, work, micro_batch, chunk] = event;
  return (
    `stage ${stage}: ${spoken(work)} of micro-batch ${micro_batch}, chunk ${chunk}<br>` +
    `${seconds_text(begin)} to ${seconds_text(end)} (${seconds_text(end - begin)})`
  );
}
