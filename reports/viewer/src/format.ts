// SPDX-License-Identifier: Apache-2.0
// Numbers for people, as reports/text/text.cc writes them: its units and digits come with the page, and
// tests/data/number_texts.json holds both to the same texts.

import { kDrawing, type Scale } from "./drawing";

export function significant(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return "not a number";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4) return "~0";
  const exponent = Number(size.toExponential(digits - 1).split("e")[1]);
  if (exponent >= 15) return `${(value / 10 ** exponent).toFixed(digits - 1)} x 10^${exponent}`;
  return value.toFixed(Math.max(0, digits - exponent - 1)).replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ",");
}

// The largest unit that leaves a number of at least one; the last when all are too large.
function scaled(value: number, { digits, units }: Scale): string {
  const [factor, name] = units.find(([least]) => Math.abs(value) >= least) ?? units[units.length - 1];
  return `${significant(value / factor, digits)} ${name}`;
}

export function seconds_text(time: number): string {
  return time === 0 ? "0 s" : scaled(time, kDrawing.scales.seconds);
}

export function memory_text(bytes: number): string {
  return bytes === 0 ? "0 B" : scaled(bytes, kDrawing.scales.memory);
}

export function traffic_text(bytes: number): string {
  return bytes === 0 ? "0 B" : scaled(bytes, kDrawing.scales.traffic);
}

// For an axis: no more digits than there are.
export function seconds_tick(time: number): string {
  const { units } = kDrawing.scales.seconds;
  const [factor, name] = units.find(([least]) => Math.abs(time) >= least) ?? units[units.length - 1];
  return time === 0 ? "0 s" : `${Number((time / factor).toPrecision(3))} ${name}`;
}

// The planner writes "us".
export function unit_text(unit: string): string {
  return unit === "us" ? "\u00b5s" : unit;
}

export const kGibibyte = 1073741824;

export function spoken(name: string): string {
  return name.split("_").join(" ");
}

// A name may hold markup; a tooltip is HTML.
export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

// Characters that turn a line around, or end it, as what they are.
export function visible(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (c) => {
    return `[U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;
  });
}
