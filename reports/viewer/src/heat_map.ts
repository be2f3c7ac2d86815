// SPDX-License-Identifier: Apache-2.0
// Best step time of each tensor x pipeline size. Cells without a layout say why.

import type { Chart } from "./charts";
import { escape, seconds_text, significant, spoken, visible } from "./format";
import type { Cell, Report } from "./report";
import { base_option, category_axis, is_narrow, type Theme } from "./theme";

export function heat_map_chart(report: Report, theme: Theme, width: number): Chart | null {
  const narrow = is_narrow(width);
  const map = report.heat_map;
  if (map === null || map.cells.length === 0) return null;
  const tensor = map.tensor_parallel_sizes;
  const pipeline = map.pipeline_parallel_sizes;
  const place = (cell: Cell) => [
    pipeline.indexOf(cell.pipeline_parallel_size),
    tensor.indexOf(cell.tensor_parallel_size),
  ];
  const possible = map.cells.filter((cell) => cell.step_time_seconds !== null);
  const impossible = map.cells.filter((cell) => cell.step_time_seconds === null);
  const times = possible.map((cell) => cell.step_time_seconds as number);
  const fastest = Math.min(...times);
  // A few hopeless cells must not wash out the differences between the good ones.
  const slowest = Math.min(Math.max(...times), 3 * fastest);
  return {
    height: 44 * tensor.length + 80,
    option: {
      ...base_option(theme),
      grid: { left: 50, right: 16, top: 8, bottom: 48 },
      xAxis: { ...category_axis(theme, pipeline.map(String), "pipeline size"), splitArea: { show: false } },
      yAxis: { ...category_axis(theme, tensor.map(String), "tensor size"), nameGap: 32 },
      visualMap: {
        show: false,
        seriesIndex: 0,
        min: fastest,
        max: slowest > fastest ? slowest : fastest * 1.01,
        inRange: { color: theme.heat },
      },
      tooltip: {
        ...base_option(theme).tooltip,
        formatter: (item: { data: { cell: Cell } }) => tooltip(item.data.cell),
      },
      series: [
        {
          type: "heatmap",
          label: { show: true, fontSize: narrow ? 10 : 12, formatter: (item: { data: { cell: Cell } }) => label(item.data.cell, fastest, narrow) },
          itemStyle: { borderColor: theme.page, borderWidth: 2 },
          data: possible.map((cell) => ({
            value: [...place(cell), cell.step_time_seconds],
            cell,
            label: { color: label_colour(cell, fastest, slowest, theme), fontWeight: is_best(cell, fastest) ? "bold" : "normal" },
          })),
        },
        {
          type: "custom",
          data: impossible.map((cell) => ({ value: place(cell), cell })),
          renderItem: (params: { dataIndex: number }, api: CellApi) => blank(params, api, impossible, theme),
        },
      ],
    },
  };
}

interface CellApi {
  value(index: number): number;
  coord(point: number[]): number[];
  size(extent: number[]): number[];
}

function blank(params: { dataIndex: number }, api: CellApi, cells: Cell[], theme: Theme): object {
  const [x, y] = api.coord([api.value(0), api.value(1)]);
  const [width, height] = api.size([1, 1]);
  const shape = { x: x - width / 2 + 1, y: y - height / 2 + 1, width: width - 2, height: height - 2 };
  const text = width < 62 ? "\u2715" : reason(cells[params.dataIndex]);
  return {
    type: "group",
    children: [
      { type: "rect", shape, style: { fill: theme.panel, stroke: theme.line, lineDash: [3, 3] } },
      {
        type: "text",
        style: { text, x, y, fill: theme.soft, fontSize: 11, align: "center", verticalAlign: "middle", width: width - 8, overflow: "break" },
      },
    ],
  };
}

function reason(cell: Cell): string {
  return cell.rule === "memory_capacity" ? "too large" : "not legal";
}

function is_best(cell: Cell, fastest: number): boolean {
  return cell.step_time_seconds === fastest;
}

function label(cell: Cell, fastest: number, narrow: boolean): string {
  if (narrow) return significant(cell.step_time_seconds as number, 3);
  const text = significant(cell.step_time_seconds as number);
  return is_best(cell, fastest) ? `\u2605 ${text} s` : `${text} s`;
}

// Dark cells need light text; in the dark theme all cells are dark enough.
function label_colour(cell: Cell, fastest: number, slowest: number, theme: Theme): string {
  const share = ((cell.step_time_seconds as number) - fastest) / (slowest - fastest || 1);
  return share < 0.45 ? "#ffffff" : theme.text;
}

function tooltip(cell: Cell): string {
  const sizes = `tp ${cell.tensor_parallel_size}, pp ${cell.pipeline_parallel_size}`;
  if (cell.step_time_seconds === null) {
    return `${sizes}<br>${escape(spoken(cell.rule ?? ""))}<br>${escape(visible(cell.reason ?? ""))}`;
  }
  return `${sizes}: ${seconds_text(cell.step_time_seconds)}<br>${escape(visible(cell.short_name ?? ""))}`;
}
