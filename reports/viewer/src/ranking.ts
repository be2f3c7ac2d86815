// SPDX-License-Identifier: Apache-2.0
// The ranking table over all layouts of the record: filter by words, sort, and show what a brush in
// the scatter chart took. The texts of its rows are the page's (reports/sections/ranking.cc).

import { copy_button } from "./copy";
import { kGibibyte, visible } from "./format";
import type { PageLayout, RankedLayout, Report } from "./report";
import { csv_text, download } from "./download";
import { add_sort_buttons, show_sort } from "./tables";
import { set_in_url, url_value } from "./url";

export interface Area {
  memory_gib: [number, number];
  seconds: [number, number];
}

const kRowsAtOnce = 100; // a browser lays out more of them too slowly for a key press

// What each column sorts by, in the table's order.
const kSortKeys: ((layout: RankedLayout) => number | string)[] = [
  (l) => l.rank,
  (l) => l.brief_name,
  (l) => l.step_time_seconds,
  (l) => l.step_time_low_seconds,
  (l) => l.relative_to_best,
  (l) => -l.tokens_per_second_per_gpu,
  (l) => -l.model_flops_utilization,
  (l) => l.peak_memory_bytes,
  (l) => l.provenance_share,
  (l) => (l.pareto ? 0 : 1),
  (l) => l.compared_with_next?.sentence ?? "",
];

const kNameColumn = 1;
const kSourceColumn = 8;

// Rows of the layouts: those that the page has, and others after the pattern of one of them.
class Rows {
  private readonly known = new Map<number, HTMLTableRowElement>();
  private readonly pattern: HTMLTableRowElement;

  constructor(section: HTMLElement, table: HTMLTableElement) {
    for (const row of section.querySelectorAll<HTMLTableRowElement>("tr[id^=layout-]")) this.known.set(Number(row.id.slice("layout-".length)), row);
    this.pattern = table.tBodies[0].rows[0];
  }

  of(layout: PageLayout): HTMLElement {
    const known = this.known.get(layout.rank);
    if (known !== undefined) return known;
    const row = this.pattern.cloneNode(true) as HTMLTableRowElement;
    row.id = `layout-${layout.rank}`;
    (layout.texts ?? []).forEach((text, column) => fill(row.cells[column], column, visible(text), layout));
    return row;
  }
}

function fill(cell: HTMLTableCellElement, column: number, text: string, layout: PageLayout): void {
  const code = cell.querySelector("code");
  const badge = cell.querySelector(".badge");
  if (column === kNameColumn && code !== null) {
    code.title = visible(layout.short_name);
    code.textContent = text;
  } else if (column === kSourceColumn && badge !== null) {
    badge.className = `badge ${layout.provenance}`;
    badge.textContent = layout.provenance;
    cell.replaceChildren(badge, ` ${text}`);
    cell.dataset.value = `${layout.provenance_share}`;
  } else {
    cell.textContent = text;
  }
}

const kComparisons: Record<string, (a: number, b: number) => boolean> = {
  "=": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
};

// "pp=8", "tp<32": a size that a name leaves out is 1.
function compares(parts: string[], word: string): boolean | null {
  const found = /^([a-z]+)(!=|<=|>=|=|<|>)(\d+)$/.exec(word);
  if (found === null) return null;
  const [, name, sign, number] = found;
  const part = parts.find((one) => one.startsWith(name) && /^\d+$/.test(one.slice(name.length)));
  return kComparisons[sign](part === undefined ? 1 : Number(part.slice(name.length)), Number(number));
}

// A word with a digit names one size ("tp2" is not tp20); one without is the beginning of a word.
export function matches(layout: RankedLayout, words: string[]): boolean {
  const parts = layout.short_name.toLowerCase().split(/[\s,]+/);
  return words.every((word) => compares(parts, word) ?? parts.some((part) => (/\d/.test(word) ? part === word : part.startsWith(word))));
}

function inside(layout: RankedLayout, area: Area): boolean {
  const memory = layout.peak_memory_bytes / kGibibyte;
  const time = layout.step_time_seconds;
  return memory >= area.memory_gib[0] && memory <= area.memory_gib[1] && time >= area.seconds[0] && time <= area.seconds[1];
}

const kCsvColumns = ["rank", "short_name", "step_time_seconds", "step_time_low_seconds", "step_time_high_seconds", "tokens_per_second_per_gpu", "model_flops_utilization", "peak_memory_bytes", "provenance", "pareto"] as const;

function csv_of(layouts: RankedLayout[]): string {
  return csv_text([kCsvColumns.map((column) => (column === "short_name" ? "layout" : column)), ...layouts.map((l) => kCsvColumns.map((column) => l[column]))]);
}

function words_of(text: string): string[] {
  return text.toLowerCase().split(/\s+/).filter((word) => word !== "");
}

export class Ranking {
  private words: string[] = [];
  private area: Area | null = null;
  private sort_by = 0;
  private falling = false;
  private expanded = false;
  private page = 0;
  private readonly count = document.createElement("output");
  private readonly previous = document.createElement("button");
  private readonly more = document.createElement("button");
  private readonly rows: Rows;

  constructor(
    private readonly report: Report,
    section: HTMLElement,
    private readonly table: HTMLTableElement,
  ) {
    this.rows = new Rows(section, table);
    this.expanded = report.top >= kRowsAtOnce;
    section.querySelector("details")?.remove(); // its rows are in the table now
    table.parentElement?.before(this.controls());
    table.parentElement?.after(this.pages());
    add_sort_buttons(table, (column, falling) => {
      this.sort_by = column;
      this.falling = falling;
      set_in_url("sort", `${column}${falling ? "down" : "up"}`);
      this.restart();
    });
    this.sort_as_in_url();
    this.show();
  }

  private sort_as_in_url(): void {
    const found = /^(\d+)(up|down)$/.exec(url_value("sort") ?? "");
    if (found === null || Number(found[1]) >= kSortKeys.length) return;
    this.sort_by = Number(found[1]);
    this.falling = found[2] === "down";
    show_sort(this.table, this.sort_by, this.falling);
  }

  select(area: Area | null): void {
    this.area = area;
    this.restart();
  }

  private restart(): void {
    this.page = 0;
    this.show();
  }

  private pages(): HTMLElement {
    this.previous.type = this.more.type = "button";
    this.previous.textContent = `Previous ${kRowsAtOnce}`;
    this.previous.addEventListener("click", () => {
      this.page -= 1;
      this.show();
    });
    this.more.addEventListener("click", () => {
      if (this.expanded || this.narrowed()) this.page += 1;
      this.expanded = true;
      this.show();
    });
    const bar = document.createElement("div");
    bar.className = "controls pages";
    bar.append(this.previous, this.more);
    return bar;
  }

  private narrowed(): boolean {
    return this.words.length > 0 || this.area !== null;
  }

  private controls(): HTMLElement {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "tp<32 pp=8 zero1";
    input.value = url_value("filter") ?? "";
    this.words = words_of(input.value);
    input.addEventListener("input", () => {
      this.words = words_of(input.value);
      set_in_url("filter", input.value === "" ? null : input.value);
      this.restart();
    });
    label.append("Filter by size or switch ", input);
    const bar = document.createElement("div");
    bar.className = "controls";
    bar.append(label, this.count, copy_button("Copy as CSV", () => csv_of(this.chosen())), this.csv_button());
    return bar;
  }

  private csv_button(): HTMLButtonElement {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Download CSV";
    button.addEventListener("click", () => download("ranking.csv", new Blob([csv_of(this.chosen())], { type: "text/csv" })));
    return button;
  }

  private chosen(): PageLayout[] {
    const area = this.area;
    const chosen = this.report.ranked.filter((l) => matches(l, this.words) && (area === null || inside(l, area)));
    const key = kSortKeys[this.sort_by];
    const sign = this.falling ? -1 : 1;
    const keyed = chosen.map((layout) => ({ layout, key: key(layout) }));
    keyed.sort((a, b) => (a.key < b.key ? -sign : a.key > b.key ? sign : a.layout.rank - b.layout.rank));
    return keyed.map((entry) => entry.layout);
  }

  private show(): void {
    const chosen = this.chosen();
    const narrowed = this.narrowed();
    const size = narrowed || this.expanded ? kRowsAtOnce : Math.min(kRowsAtOnce, this.report.top);
    const begin = this.page * kRowsAtOnce;
    const shown = chosen.slice(begin, begin + size);
    this.table.tBodies[0].replaceChildren(...shown.map((layout) => this.rows.of(layout)));
    this.table.toggleAttribute("data-narrowed", narrowed || this.sort_by !== 0 || this.falling || this.page > 0);
    const all = this.report.ranked.length;
    const range = begin > 0 ? `${begin + 1} to ${begin + shown.length}` : `${shown.length}`;
    this.count.textContent = narrowed ? `${chosen.length} of ${all} layouts match` : `${range} of ${all} layouts shown`;
    const left = chosen.length - begin - shown.length;
    this.previous.hidden = this.page === 0;
    this.more.hidden = left === 0;
    const next = Math.min(size < kRowsAtOnce ? kRowsAtOnce - size : kRowsAtOnce, left);
    this.more.textContent = narrowed || this.expanded ? `Next ${next}` : `Show ${next} more`;
  }
}
