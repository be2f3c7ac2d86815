// SPDX-License-Identifier: Apache-2.0
// The baseline of a comparison's changes is the reader's choice: the columns "B against A" of all
// tables are computed again from the record's values.

import { compared_of, type ComparedRow } from "./compared";
import { significant } from "./format";
import type { Report } from "./report";
import { set_in_url, url_value } from "./url";

interface Rows {
  rows: HTMLTableRowElement[];
  heads: HTMLElement[]; // of the changes
  values: ComparedRow[];
}

function write(head: HTMLElement, text: string): void {
  (head.querySelector("button") ?? head).textContent = text;
}

function show(tables: Rows[], names: string[], base: number): void {
  const others = names.map((_, index) => index).filter((index) => index !== base);
  for (const { rows, heads, values } of tables) {
    heads.forEach((head, at) => write(head, `${names[others[at]]} against ${names[base]}, %`));
    rows.forEach((row, index) => {
      const { values: each } = values[index];
      others.forEach((other, at) => {
        const cell = row.cells[1 + names.length + at];
        const [value, first] = [each[other], each[base]];
        const change = value === null || first === null || first === 0 ? null : (value / first - 1) * 100;
        cell.textContent = change === null ? "" : significant(change, 3);
        if (change === null) delete cell.dataset.value;
        else cell.dataset.value = `${change}`;
      });
    });
  }
}

export function add_baseline(report: Report): void {
  const compared = compared_of(report);
  const place = document.querySelector("#changes h2");
  if (compared === null || place === null) return;
  const names = compared.reports.map((one) => one.name);
  const lists = Object.values(compared).filter((list): list is ComparedRow[] => Array.isArray(list) && Array.isArray(list[0]?.values) && list[0].name !== undefined);
  const tables: Rows[] = [];
  for (const table of document.querySelectorAll<HTMLTableElement>("#changes table")) {
    const heads = [...table.querySelectorAll<HTMLElement>("thead th")].slice(1 + names.length);
    const rows = [...table.tBodies[0].rows];
    const label = rows[0].cells[0].textContent ?? "";
    const values = lists.find((list) => list.length === rows.length && label.startsWith((list[0] as { label?: string }).label ?? list[0].name.split("_").join(" ")));
    if (values !== undefined && heads.length === names.length - 1) tables.push({ rows, heads, values });
  }
  const choice = document.createElement("select");
  names.forEach((name, index) => choice.add(new Option(name, `${index}`)));
  choice.addEventListener("change", () => {
    set_in_url("baseline", choice.value === "0" ? null : choice.value);
    show(tables, names, Number(choice.value));
  });
  const label = document.createElement("label");
  label.append("Changes are relative to ", choice);
  const bar = document.createElement("div");
  bar.className = "controls";
  bar.append(label);
  place.after(bar);
  const asked = Number(url_value("baseline") ?? 0);
  if (asked <= 0 || asked >= names.length) return;
  choice.value = `${asked}`;
  show(tables, names, asked);
}
