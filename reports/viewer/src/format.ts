// SPDX-License-Identifier: Apache-2.0
// Numbers for people: four significant digits and a unit, as in the page's tables.

export function significant(value: number, digits = 4): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e6) return value.toExponential(digits - 1);
  const whole = Number(size.toExponential(digits - 1).split("e")[1]) + 1;
  return value.toFixed(Math.max(0, digits - whole));
}

export function seconds_text(time: number): string {
  const size = Math.abs(time);
  if (size >= 1 || size === 0) return `${significant(time)} s`;
  if (size >= 1e-3) return `${significant(time * 1e3)} ms`;
  return `${significant(time * 1e6)} µs`;
}

// For an axis: no more digits than there are.
export function seconds_tick(time: number): string {
  const [value, unit] = time >= 1 ? [time, "s"] : time >= 1e-3 ? [time * 1e3, "ms"] : [time * 1e6, "\u00b5s"];
  return `${Number(value.toPrecision(3))} ${unit}`;
}

// The planner writes "us".
export function unit_text(unit: string): string {
  return unit === "us" ? "\u00b5s" : unit;
}

export const kGibibyte = 1073741824;

export function memory_text(bytes: number): string {
  return bytes >= kGibibyte ? `${significant(bytes / kGibibyte, 3)} GiB` : `${significant(bytes / 1048576, 3)} MiB`;
}

export function traffic_text(bytes: number): string {
  if (bytes >= 1e9) return `${significant(bytes / 1e9)} GB`;
  if (bytes >= 1e6) return `${significant(bytes / 1e6)} MB`;
  return bytes >= 1e3 ? `${significant(bytes / 1e3)} kB` : `${significant(bytes)} B`;
}

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
