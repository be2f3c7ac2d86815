// SPDX-License-Identifier: Apache-2.0
// Vertical interval bars beneath the points of a scatter chart.

export interface Whisker {
  at: number;
  low: number;
  high: number;
}

interface Api {
  value(index: number): number;
  coord(point: number[]): number[];
}

export function whiskers(all: Whisker[], color: string): object {
  return {
    type: "custom",
    silent: true,
    tooltip: { show: false },
    encode: { x: 0, y: [1, 2] },
    z: 1,
    data: all.map((w) => [w.at, w.low, w.high]),
    renderItem: (_params: object, api: Api) => {
      const [x, low] = api.coord([api.value(0), api.value(1)]);
      const high = api.coord([api.value(0), api.value(2)])[1];
      const line = (x1: number, y1: number, x2: number, y2: number) => ({
        type: "line",
        shape: { x1, y1, x2, y2 },
        style: { stroke: color, lineWidth: 1 },
      });
      return {
        type: "group",
        children: [line(x, low, x, high), line(x - 4, low, x + 4, low), line(x - 4, high, x + 4, high)],
      };
    },
  };
}
