// SPDX-License-Identifier: Apache-2.0
// Colour and pattern of each name, as the page itself has them (reports/html/drawing.cc), so that
// a chart and the bars that it replaces look alike.

import { kDrawing } from "./drawing";

const kPlain = undefined;
const kStripes = { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [1.5, 5], rotation: -Math.PI / 4, color: "rgba(255,255,255,.55)" };
const kDots = { symbol: "circle", dashArrayX: [[6, 0]], dashArrayY: [6, 0], symbolSize: 0.4, color: "rgba(0,0,0,.35)" };
const kCounter = { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [1.5, 5], rotation: Math.PI / 4, color: "rgba(0,0,0,.35)" };
const kDecals = [kPlain, kStripes, kDots, kCounter];

const kPaints = new Map((kDrawing.paints ?? []).map((paint) => [paint.name, paint]));

export function paint_of(name: string): { color: string; decal: object | undefined; pattern: number } {
  const { colour, pattern } = kPaints.get(name) ?? { colour: "#777777", pattern: 0 };
  return { color: colour, decal: kDecals[pattern], pattern };
}
