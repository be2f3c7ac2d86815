// SPDX-License-Identifier: Apache-2.0
// Best step time of each tensor x pipeline size. Cells without a layout say why.

import type { Chart } from "./charts";
import { kDrawing } from "./drawing";
import { escape, seconds_text, significant, spoken, visible } from "./format";
import { hex_of, mixed, text_on } from "./contrast";
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
  // A few hopeless cells must not wash out the differences between the good ones; they are marked.
  const slowest = Math.min(Math.max(...times), kDrawing.end_of_heat * fastest);
  return {
    height: 44 * tensor.length + 80,
    option: {
      ...base_option(theme),
      grid: { left: 50, right: 16, top: 8, bottom: 48 },
      xAxis: { ...category_axis(theme, pipeline.map(String), "pipeline size"), splitArea: { show: false } },
      yAxis: { ...category_axis(theme, tensor.map(String), "tensor size"), nameGap: 32 },
      tooltip: {
        ...base_option(theme).tooltip,
        formatter: (item: { data: { cell: Cell } }) => tooltip(item.data.cell),
      },
      series: [
        {
          type: "heatmap",
          label: { show: true, fontSize: narrow ? 10 : 12, formatter: (item: { data: { cell: Cell } }) => label(item.data.cell, fastest, narrow) },
          data: possible.map((cell) => {
            const share = ((cell.step_time_seconds as number) - fastest) / (slowest - fastest || 1);
            const colour = mixed(theme.heat[0], theme.heat[1], Math.min(1, share));
            return {
              value: [...place(cell), cell.step_time_seconds],
              cell,
              itemStyle: { color: hex_of(colour), borderColor: theme.page, borderWidth: 2 },
              label: { color: text_on(colour), fontWeight: is_best(cell, fastest) ? "bold" : "normal" },
            };
          }),
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
  const beyond = (cell.step_time_seconds as number) > kDrawing.end_of_heat * fastest ? "*" : "";
  if (narrow) return significant(cell.step_time_seconds as number, 3) + beyond;
  const text = significant(cell.step_time_seconds as number) + beyond;
  return is_best(cell, fastest) ? `\u2605 ${text} s` : `${text} s`;
}

function tooltip(cell: Cell): string {
  const sizes = `tp ${cell.tensor_parallel_size}, pp ${cell.pipeline_parallel_size}`;
  if (cell.step_time_seconds === null) {
    return `${sizes}<br>${escape(spoken(cell.rule ?? ""))}<br>${escape(visible(cell.reason ?? ""))}`;
  }
  return `${sizes}: ${seconds_text(cell.step_time_seconds)}<br>${escape(visible(cell.short_name ?? ""))}`;
}
