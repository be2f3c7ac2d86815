// SPDX-License-Identifier: Apache-2.0
// Stacked bars: the terms of each ranked layout's step.

import type { Chart } from "./charts";
import { kDrawing } from "./drawing";
import { escape, seconds_text, spoken, visible } from "./format";
import type { RankedLayout, Report } from "./report";
import { bar_part, stacked_bars } from "./stacked_bars";
import { is_narrow, type Theme } from "./theme";

const kOneLine = 58; // characters beside a bar
const kLineHeight = 14; // pixels

// Broken at blanks into lines of so many characters, where no word is longer.
function in_lines(text: string): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines[lines.length - 1];
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= kOneLine) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function used_terms(ranked: RankedLayout[]): string[] {
  const names = ranked[0].terms.map((term) => term.name);
  return names.filter((name) => ranked.some((layout) => layout.terms.some((t) => t.name === name && t.seconds > kDrawing.seen_share * layout.step_time_seconds)));
}

export function step_time_chart(report: Report, theme: Theme, width: number): Chart | null {
  const narrow = is_narrow(width);
  const ranked = report.ranked.slice(0, Math.min(report.top, kDrawing.most_bars));
  if (ranked.length === 0) return null;
  const terms = used_terms(ranked);
  const names = ranked.map((layout) => in_lines(narrow ? `#${layout.rank} ${seconds_text(layout.step_time_seconds)}` : `#${layout.rank} ${visible(layout.brief_name)}: ${seconds_text(layout.step_time_seconds)}`));
  const most_lines = Math.max(...names.map((lines) => lines.length));
  const seconds_of = (name: string) => ranked.map((layout) => layout.terms.find((term) => term.name === name)?.seconds ?? 0);
  return {
    height: (12 + kLineHeight * most_lines) * ranked.length + 70,
    option: {
      ...stacked_bars(theme, {
        names: names.map((lines) => lines.join("\n")),
        name_label: { width: narrow ? 84 : 420, lineHeight: kLineHeight },
        axis: "step time, s",
        tooltip: (index) => tooltip(ranked[index]),
      }),
      series: terms.map((name) => bar_part(name, "step", seconds_of(name))),
    },
  };
}

function tooltip(layout: RankedLayout): string {
  const lines = layout.terms
    .filter((term) => term.seconds > 0)
    .map((term) => `${escape(spoken(term.name))}: ${seconds_text(term.seconds)} (${escape(term.provenance)})`);
  return `<b>${escape(visible(layout.short_name))}</b>: ${seconds_text(layout.step_time_seconds)}<br>${lines.join("<br>")}`;
}
