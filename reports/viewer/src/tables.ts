// SPDX-License-Identifier: Apache-2.0
// Tables that sort by a click on a heading. A column has one unit, so its numbers compare.

// "1,234", "+2.1", "± 12", "2.78 – 3.33" (by its first number); null for text.
export function number_in(text: string): number | null {
  const found = /^[^\w+\-−.]*([+\-−]?[\d,]*\.?\d+(?:e[+-]?\d+)?)/i.exec(text.trim());
  if (found === null) return null;
  const number = Number(found[1].replace(/,/g, "").replace("−", "-"));
  return Number.isFinite(number) ? number : null;
}

function compare(a: string, b: string): number {
  const x = number_in(a);
  const y = number_in(b);
  if (x !== null && y !== null) return x - y;
  if (x !== null || y !== null) return x !== null ? -1 : 1; // text after numbers
  return a < b ? -1 : a > b ? 1 : 0;
}

// Turns each heading into a button. `sorted` is told the column and direction.
export function add_sort_buttons(table: HTMLTableElement, sorted: (column: number, falling: boolean) => void): void {
  const heads = [...table.querySelectorAll<HTMLElement>("thead th")];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      sorted(column, falling);
    });
  });
}

export function make_sortable(table: HTMLTableElement): void {
  const body = table.tBodies[0];
  add_sort_buttons(table, (column, falling) => {
    const rows = [...body.rows].map((row) => ({ row, text: row.cells[column]?.textContent ?? "" }));
    rows.sort((a, b) => (falling ? compare(b.text, a.text) : compare(a.text, b.text)));
    body.append(...rows.map((entry) => entry.row));
  });
}
