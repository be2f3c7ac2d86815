// SPDX-License-Identifier: Apache-2.0
// Steps through the grid of batch, GPUs, network and failures that the record holds: the verdict and
// the decision table show the cell that is chosen, marked as no record, with the command that makes
// it again. Texts and rows are the page's (reports/sections/decision_table.cc); nothing is computed here.

import { button_of } from "./legend";
import type { Report } from "./report";
import { set_in_url, url_value } from "./url";

interface Axis {
  key: string;
  label: string;
  values: number[];
  texts: string[];
  base: number; // place of the row in front
}

interface Cell {
  sentence: string;
  row: string; // <tr>, as the table around it has them
  options: string;
}

interface Grid {
  axes: Axis[];
  cells: Cell[]; // the first axis outermost
}

const kMark = "What-if, not the record: ";

function element_of(row: string): Element | null {
  const template = document.createElement("template");
  template.innerHTML = row;
  return template.content.firstElementChild;
}

export class WhatIf {
  private chosen: number[]; // a place on each axis
  private readonly said: string; // the record's verdict, with what must be said of its trials
  private readonly result = document.createElement("output");
  private readonly command = document.createElement("code");
  private readonly selects: HTMLSelectElement[] = [];
  private row: Element | null = null;

  constructor(
    private readonly grid: Grid,
    private readonly base_command: string,
    private readonly verdict: HTMLElement,
    private readonly table: HTMLElement,
    place: HTMLElement,
  ) {
    this.chosen = grid.axes.map((axis) => axis.base);
    this.said = verdict.textContent ?? "";
    place.append(this.controls(), this.result, this.command);
    grid.axes.forEach((axis, index) => {
      const found = axis.values.indexOf(Number(url_value(axis.key) ?? NaN));
      if (found >= 0) this.chosen[index] = found;
    });
    this.show();
  }

  private controls(): HTMLElement {
    const bar = document.createElement("div");
    bar.className = "controls";
    this.grid.axes.forEach((axis, index) => {
      const label = document.createElement("label");
      const select = document.createElement("select");
      axis.texts.forEach((text, at) => select.add(new Option(text, `${at}`)));
      select.addEventListener("change", () => this.choose(index, Number(select.value)));
      this.selects.push(select);
      label.append(`${axis.label} `, select);
      if (axis.values.length > 1) bar.append(label);
    });
    bar.append(button_of("Back to the record", () => this.reset()));
    return bar;
  }

  private choose(index: number, at: number): void {
    const axis = this.grid.axes[index];
    this.chosen[index] = at;
    set_in_url(axis.key, at === axis.base ? null : `${axis.values[at]}`);
    this.show();
  }

  private reset(): void {
    for (const axis of this.grid.axes) set_in_url(axis.key, null);
    this.chosen = this.grid.axes.map((axis) => axis.base);
    this.show();
  }

  private cell(): Cell | undefined {
    const place = this.grid.axes.reduce((at, axis, index) => at * axis.values.length + this.chosen[index], 0);
    return this.grid.cells[place];
  }

  // "batch × 0.5, GPUs 8,192"
  private where(): string {
    return this.grid.axes
      .map((axis, index) => ({ axis, at: this.chosen[index] }))
      .filter(({ axis, at }) => at !== axis.base)
      .map(({ axis, at }) => `${axis.key === "gpus" ? axis.label : axis.label.toLowerCase()} ${axis.texts[at]}`)
      .join(", ");
  }

  private show(): void {
    const cell = this.cell();
    this.selects.forEach((select, index) => (select.value = `${this.chosen[index]}`));
    const is_record = this.grid.axes.every((axis, index) => this.chosen[index] === axis.base);
    this.verdict.textContent = is_record ? this.said : `${kMark}with ${this.where()}, ${cell?.sentence ?? ""}`;
    this.verdict.classList.toggle("what-if", !is_record);
    this.result.textContent = is_record ? "The page shows the record." : "The verdict and the table show a what-if, not the record. It is made again by:";
    this.command.textContent = is_record ? "" : `${this.base_command} ${cell?.options ?? ""}`;
    this.row?.remove();
    if (is_record || cell === undefined) return;
    this.row = element_of(cell.row);
    if (this.row !== null) this.table.querySelector("tbody")?.append(this.row);
  }
}

export function add_what_if(report: Report): void {
  const place = document.getElementById("what-if-controls");
  const verdict = document.getElementById("verdict");
  const table = document.getElementById("decision-table");
  const grid = JSON.parse(document.getElementById("what-ifs")?.textContent ?? "null") as Grid | null;
  if (grid === null || place === null || verdict === null || table === null) return;
  new WhatIf(grid, report.capacity.command, verdict, table, place);
}
