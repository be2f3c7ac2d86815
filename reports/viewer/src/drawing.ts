// SPDX-License-Identifier: Apache-2.0
// How things look that the page itself draws, too: from the page (reports/html/drawing.cc), where
// it stands once.

export interface Paint {
  name: string;
  colour: string;
  pattern: number;
}

// Largest unit first: [what it is worth, its name].
export interface Scale {
  digits: number;
  units: [number, string][];
}

interface Drawing {
  paints: Paint[];
  tints: string[];
  accent: string;
  contrast: string;
  limit: string;
  scales: { seconds: Scale; memory: Scale; traffic: Scale };
  seen_share: number;
  most_bars: number;
  end_of_heat: number;
}

export const kDrawing = JSON.parse(document.getElementById("drawing")?.textContent ?? "{}") as Drawing;
