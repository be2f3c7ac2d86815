// SPDX-License-Identifier: Apache-2.0
// What charts of several reports side by side share: the comparison's record, and stacked bars with
// a line for an interval.

import type { Chart } from "./charts";
import { escape, spoken, visible } from "./format";
import type { Report } from "./report";
import { bar_part, stacked_bars } from "./stacked_bars";
import { is_narrow, type Theme } from "./theme";

export interface ComparedRow {
  name: string;
  values: (number | null)[];
}
export interface Quantity extends ComparedRow {
  label: string;
  unit: string;
  unit_size: number;
  low: (number | null)[];
  high: (number | null)[];
}
export interface Compared {
  reports: { name: string; layout: string; fits: boolean; device_kind?: string }[];
  quantities: Quantity[];
  terms_seconds: ComparedRow[];
  fullest_stage_bytes: ComparedRow[];
}

// The page of a comparison holds its record where a report's page holds the report.
export function compared_of(report: Report): Compared | null {
  const compared = report as unknown as Partial<Compared>;
  return compared.reports === undefined || compared.quantities === undefined ? null : (compared as Compared);
}

export function quantity_of(compared: Compared, name: string): Quantity | undefined {
  return compared.quantities.find((quantity) => quantity.name === name);
}

export interface Stack {
  axis: string;
  unit: number; // what one of the axis is worth
  text: (value: number) => string;
  ends?: Quantity; // drawn as a line over the bar's end
}

interface Api {
  value(index: number): number;
  coord(point: number[]): number[];
}

function interval_line(ends: Quantity, unit: number, theme: Theme): object {
  const data = ends.values.flatMap((_value, index) => {
    const [low, high] = [ends.low[index], ends.high[index]];
    return low === null || high === null ? [] : [[low / unit, high / unit, index]];
  });
  return {
    type: "custom",
    silent: true,
    tooltip: { show: false },
    encode: { x: [0, 1], y: 2 },
    z: 5,
    data,
    renderItem: (_params: object, api: Api) => {
      const [x1, y] = api.coord([api.value(0), api.value(2)]);
      const x2 = api.coord([api.value(1), api.value(2)])[0];
      const line = (a: number, b: number, c: number, d: number) => ({ type: "line", shape: { x1: a, y1: b, x2: c, y2: d }, style: { stroke: theme.text, lineWidth: 1.5 } });
      return { type: "group", children: [line(x1, y, x2, y), line(x1, y - 5, x1, y + 5), line(x2, y - 5, x2, y + 5)] };
    },
  };
}

// One bar a report.
export function stacked(compared: Compared, rows: ComparedRow[], theme: Theme, width: number, stack: Stack): Chart | null {
  if (rows.length === 0) return null;
  const { reports } = compared;
  const sum = (index: number) => rows.reduce((total, row) => total + (row.values[index] ?? 0), 0);
  const tooltip = (index: number) => {
    const lines = rows.filter((row) => (row.values[index] ?? 0) > 0).map((row) => `${escape(spoken(row.name))}: ${stack.text(row.values[index] ?? 0)}`);
    return `<b>${escape(visible(reports[index].name))}</b>: ${stack.text(sum(index))}, ${escape(visible(reports[index].layout))}<br>${lines.join("<br>")}`;
  };
  return {
    height: 38 * reports.length + 74,
    option: {
      ...stacked_bars(theme, {
        names: reports.map(({ name }) => visible(name)),
        name_label: { width: is_narrow(width) ? 110 : 260 },
        axis: stack.axis,
        tooltip,
      }),
      series: [
        ...rows.map((row) => bar_part(row.name, "all", row.values.map((value) => (value ?? 0) / stack.unit))),
        ...(stack.ends === undefined ? [] : [interval_line(stack.ends, stack.unit, theme)]),
      ],
    },
  };
}
