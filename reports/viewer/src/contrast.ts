// SPDX-License-Identifier: Apache-2.0
// Colours between two, and text that reads on them.

type Rgb = [red: number, green: number, blue: number];

function rgb_of(hex: string): Rgb {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as Rgb;
}

export function mixed(from: string, to: string, share: number): Rgb {
  const end = rgb_of(to);
  return rgb_of(from).map((value, i) => Math.round(value + (end[i] - value) * share)) as Rgb;
}

export function hex_of(colour: Rgb): string {
  return `#${colour.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

// WCAG 2.2, relative luminance.
export function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Black or white, whichever differs more: at least sqrt(1.05 x 0.05) / 0.05 = 4.58 : 1 on any colour.
export function text_on(colour: Rgb): string {
  const light = luminance(colour);
  return 1.05 / (light + 0.05) >= (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}
