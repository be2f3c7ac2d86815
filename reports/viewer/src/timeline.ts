// SPDX-License-Identifier: Apache-2.0
// What each pipeline stage does when: compute in the upper lane of its row, communication in the
// lower one, to the end of the step.

import type { Chart } from "./charts";
import { escape, seconds_text, spoken } from "./format";
import { paint_of } from "./paint";
import type { Event, Report, Timeline } from "./report";
import { base_option, category_axis, kLegend, value_axis, type Theme } from "./theme";

interface Api {
  value(index: number): number;
  coord(point: number[]): number[];
  size(extent: number[]): number[];
}
interface Params {
  dataIndex: number;
  coordSys: { x: number; y: number; width: number; height: number };
}

const kCrowd = 3000; // more pieces of work are drawn on a canvas
const kCommunication = /communication|message|parameter|reduction|bucket/;

// Places on an axis that is broken where the middle of the step is left out.
interface BrokenAxis {
  shown: (time: number) => number;
  time_at: (place: number) => number;
}

const kBreakShare = 0.04; // of what is shown

function broken_axis(timeline: Timeline): BrokenAxis {
  const [from, to] = timeline.left_out_seconds;
  const left_out = to - from;
  if (left_out <= 0) return { shown: (time) => time, time_at: (place) => place };
  const width = kBreakShare * (timeline.step_seconds - left_out);
  const within = (time: number) => from + ((time - from) / left_out) * width;
  return {
    shown: (time) => (time <= from ? time : time >= to ? time - left_out + width : within(time)),
    time_at: (place) => (place <= from ? place : place >= from + width ? place + left_out - width : from + ((place - from) / width) * left_out),
  };
}

export function timeline_chart(report: Report, theme: Theme): Chart | null {
  const timeline = report.timeline;
  if (timeline === null || timeline.events.length === 0) return null;
  const stages = Array.from({ length: timeline.stages }, (_, stage) => `stage ${stage}`);
  const axis = broken_axis(timeline);
  const row = Math.max(14, Math.min(40, 640 / timeline.stages));
  return {
    crowded: timeline.events.length > kCrowd,
    height: row * timeline.stages + 60,
    option: {
      ...base_option(theme),
      legend: kLegend,
      grid: { left: 8, right: 16, top: 6, bottom: 44, containLabel: true },
      xAxis: { ...value_axis(theme, "time, s"), max: axis.shown(timeline.step_seconds), axisLabel: { color: theme.soft, hideOverlap: true, showMaxLabel: false, formatter: (place: number) => `${Number(axis.time_at(place).toPrecision(3))}` } },
      yAxis: { ...category_axis(theme, stages), inverse: true },
      dataZoom: [{ type: "inside", filterMode: "weakFilter", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true }],
      tooltip: {
        ...base_option(theme).tooltip,
        formatter: (item: { data: { event: Event } }) => tooltip(item.data.event, timeline),
      },
      series: [...timeline.works.map((work, index) => lane(timeline, work, index, theme, axis)), ...gap(timeline, theme, axis)],
    },
  };
}

function lane(timeline: Timeline, work: string, index: number, theme: Theme, axis: BrokenAxis): object {
  const events = timeline.events.filter((event) => event[3] === index);
  const { color, decal, pattern } = paint_of(work);
  return {
    name: spoken(work),
    type: "custom",
    clip: true,
    itemStyle: { color, decal, pattern },
    encode: { x: [1, 2], y: 0 },
    data: events.map((event) => ({ value: [event[0], axis.shown(event[1]), axis.shown(event[2])], event })),
    renderItem: (params: Params, api: Api) => block(params, api, events[params.dataIndex], work, theme),
  };
}

// The axis is broken where the middle is left out; the section says from when to when.
function gap(timeline: Timeline, theme: Theme, axis: BrokenAxis): object[] {
  const [from, to] = timeline.left_out_seconds;
  if (to <= from) return [];
  const renderItem = (params: Params, api: Api) => {
    const { x, y, width, height } = params.coordSys;
    const left = Math.max(x, api.coord([axis.shown(from), 0])[0]);
    const right = Math.min(x + width, api.coord([axis.shown(to), 0])[0]);
    if (right <= left) return null;
    return {
      type: "rect",
      shape: { x: left, y, width: right - left, height },
      style: { fill: theme.panel, stroke: theme.line, lineDash: [4, 4] },
      textContent: { style: { text: "//", fill: theme.text, fontSize: 16 } },
      textConfig: { position: "inside" },
    };
  };
  return [{ type: "custom", silent: true, tooltip: { show: false }, data: [[axis.shown(from), 0]], encode: { x: 0, y: 1 }, renderItem }];
}

function block(params: Params, api: Api, event: Event, work: string, theme: Theme): object | null {
  const [begin, y] = api.coord([api.value(1), api.value(0)]);
  const end = api.coord([api.value(2), api.value(0)])[0];
  const band = api.size([0, 1])[1];
  const below = kCommunication.test(work);
  const height = band * (below ? 0.34 : 0.52);
  const top = y + band * (below ? 0.1 : -0.46);
  const left = Math.max(begin, params.coordSys.x);
  const right = Math.min(end, params.coordSys.x + params.coordSys.width);
  if (right <= left) return null;
  const label = event[4] < 0 ? "" : `${event[4]}`;
  const fits = label !== "" && right - left > 7 * label.length + 4 && height >= 11;
  return {
    type: "rect",
    shape: { x: left, y: top, width: Math.max(0.5, right - left), height },
    style: { fill: paint_of(work).color, stroke: theme.page, lineWidth: right - left > 6 ? 0.7 : 0 },
    textContent: fits ? { style: { text: label, fill: "#fff", fontSize: Math.min(11, height - 1) } } : undefined,
    textConfig: { position: "inside" },
  };
}

function tooltip(event: Event, timeline: Timeline): string {
  const [stage, begin, end, work, micro_batch, chunk] = event;
  const of = micro_batch < 0 ? "" : ` of micro-batch ${micro_batch}, chunk ${chunk}`;
  return (
    `stage ${stage}: ${escape(spoken(timeline.works[work]))}${of}<br>` +
    `${seconds_text(begin)} to ${seconds_text(end)} (${seconds_text(end - begin)})`
  );
}
