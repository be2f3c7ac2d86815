// SPDX-License-Identifier: Apache-2.0
// Tables that sort by a click on a heading, by the numbers behind their texts, and that can be had
// as CSV.

import { download_csv } from "./download";
import { button_of } from "./legend";

// "1,234", "+2.1", "± 12", "2.78 – 3.33" (by its first number); null for text.
export function number_in(text: string): number | null {
  const found = /^[^\w+\-−.]*([+\-−]?[\d,]*\.?\d+(?:e[+-]?\d+)?)/i.exec(text.trim());
  if (found === null) return null;
  const number = Number(found[1].replace(/,/g, "").replace("−", "-"));
  return Number.isFinite(number) ? number : null;
}

// The number behind a cell: the page says it where the text has a unit or a prefix.
function value_of(cell: HTMLElement | undefined): number | null {
  if (cell === undefined) return null;
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  return number_in(cell.textContent ?? "");
}

function compare(a: HTMLElement | undefined, b: HTMLElement | undefined): number {
  const x = value_of(a);
  const y = value_of(b);
  if (x !== null && y !== null) return x - y;
  if (x !== null || y !== null) return x !== null ? -1 : 1; // text after numbers
  const s = a?.textContent ?? "";
  const t = b?.textContent ?? "";
  return s < t ? -1 : s > t ? 1 : 0;
}

// Turns each heading with a text into a button. `sorted` is told the column and direction.
export function add_sort_buttons(table: HTMLTableElement, sorted: (column: number, falling: boolean) => void): void {
  const heads = [...table.querySelectorAll<HTMLElement>("thead th")];
  heads.forEach((head, column) => {
    if (head.textContent === "") return; // a column of marks
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
      show_sort(table, column, falling);
      sorted(column, falling);
    });
  });
}

export function show_sort(table: HTMLTableElement, column: number, falling: boolean): void {
  table.querySelectorAll("thead th").forEach((head, index) => {
    if (index === column) head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
}

export function make_sortable(table: HTMLTableElement): void {
  const body = table.tBodies[0];
  add_sort_buttons(table, (column, falling) => {
    const rows = [...body.rows];
    rows.sort((a, b) => (falling ? compare(b.cells[column], a.cells[column]) : compare(a.cells[column], b.cells[column])));
    body.append(...rows);
  });
}

function row_of(row: HTMLTableRowElement): (string | number)[] {
  return [...row.cells].map((cell) => (cell.dataset.value === undefined ? (cell.textContent ?? "").trim() : Number(cell.dataset.value)));
}

// A button below the table; its numbers in full, as far as the page has them.
export function add_csv_button(table: HTMLTableElement): void {
  const caption = table.caption?.textContent ?? "table";
  const name = caption.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60);
  const button = button_of("CSV", () => download_csv(name, [...table.rows].map(row_of)), `Download as CSV: ${caption}`);
  button.classList.add("csv");
  table.parentElement?.after(button);
}
