// SPDX-License-Identifier: Apache-2.0
// Steps through the grid of batch, GPUs, network and failures that the record holds: the verdict and
// the decision table show the cell that is chosen, marked as no record, with the command that makes
// it again. Nothing is computed here.

import { significant } from "./format";
import { button_of } from "./legend";
import type { Capacity, CapacityRun, Report } from "./report";
import { set_in_url, url_value } from "./url";

type Key = "batch_factor" | "gpus" | "network_factor" | "failure_rate";

interface Axis {
  key: Key;
  label: string;
  values: number[];
  base: number; // place of the row in front
  text: (value: number) => string;
}

const kMark = "What-if, not the record: ";

function count_text(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

// "118 M", as reports/text.cc writes amounts.
function si_text(value: number): string {
  for (const [factor, name] of [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]] as const) {
    if (Math.abs(value) >= factor) return `${significant(value / factor, 3)}${name}`;
  }
  return significant(value, 3);
}

function days_text(days: number): string {
  return days >= 1000 ? count_text(days) : significant(days, 3);
}

// The row that the grid stands around: the plan's, else the recommended one.
function front_of(capacity: Capacity): CapacityRun | undefined {
  for (const id of [capacity.planned, capacity.recommended, capacity.closest]) {
    const row = capacity.rows.find((one) => one.id === id);
    if (row !== undefined) return row;
  }
  return undefined;
}

function axes_of(grid: NonNullable<Capacity["what_if"]>, front: CapacityRun): Axis[] {
  const { batch_factor, gpus, network_factor, failure_rate } = grid.axes;
  const middle = (failure_rate.length - 1) >> 1; // low, as stated, high
  const times = (value: number) => `\u00d7 ${value}`;
  return [
    { key: "batch_factor", label: "Batch", values: batch_factor, base: batch_factor.indexOf(1), text: times },
    { key: "gpus", label: "GPUs", values: gpus, base: gpus.indexOf(front.gpus), text: count_text },
    { key: "network_factor", label: "Network", values: network_factor, base: network_factor.indexOf(1), text: times },
    { key: "failure_rate", label: "Failures per 1,000 node-days", values: failure_rate, base: middle, text: (value) => significant(value, 2) },
  ];
}

export class WhatIf {
  private chosen: number[]; // a place on each axis
  private readonly said: string; // the record's verdict, with what must be said of its trials
  private readonly result = document.createElement("output");
  private readonly command = document.createElement("code");
  private readonly selects: HTMLSelectElement[] = [];
  private readonly row = document.createElement("tr");

  constructor(
    private readonly capacity: Capacity,
    private readonly cells: CapacityRun[],
    private readonly axes: Axis[],
    private readonly verdict: HTMLElement,
    private readonly table: HTMLElement,
    place: HTMLElement,
  ) {
    this.chosen = axes.map((axis) => axis.base);
    this.said = verdict.textContent ?? "";
    this.row.className = "what-if";
    place.append(this.controls(), this.result, this.command);
    this.axes.forEach((axis, index) => {
      const found = axis.values.indexOf(Number(url_value(axis.key) ?? NaN));
      if (found >= 0) this.chosen[index] = found;
    });
    this.show();
  }

  private controls(): HTMLElement {
    const bar = document.createElement("div");
    bar.className = "controls";
    this.axes.forEach((axis, index) => {
      const label = document.createElement("label");
      const select = document.createElement("select");
      axis.values.forEach((value, at) => select.add(new Option(axis.text(value), `${at}`)));
      select.addEventListener("change", () => this.choose(index, Number(select.value)));
      this.selects.push(select);
      label.append(`${axis.label} `, select);
      if (axis.values.length > 1) bar.append(label);
    });
    bar.append(button_of("Back to the record", () => this.reset()));
    return bar;
  }

  private choose(index: number, at: number): void {
    const axis = this.axes[index];
    this.chosen[index] = at;
    set_in_url(axis.key, at === axis.base ? null : `${axis.values[at]}`);
    this.show();
  }

  private reset(): void {
    for (const axis of this.axes) set_in_url(axis.key, null);
    this.chosen = this.axes.map((axis) => axis.base);
    this.show();
  }

  private cell(): CapacityRun | undefined {
    const place = this.axes.reduce((at, axis, index) => at * axis.values.length + this.chosen[index], 0);
    return this.cells[place];
  }

  private where(): string {
    return this.axes
      .map((axis, index) => ({ axis, value: axis.values[this.chosen[index]], moved: this.chosen[index] !== axis.base }))
      .filter(({ moved }) => moved)
      .map(({ axis, value }) => `${axis.label.toLowerCase().replace("gpus", "GPUs")} ${axis.text(value)}`)
      .join(", ");
  }

  private sentence(cell: CapacityRun | undefined): string {
    if (cell === undefined || cell.days === undefined) return `with ${this.where()} no layout fits: ${cell?.limits.join("; ") ?? ""}.`;
    const { p10, p50, p90 } = cell.days;
    const cost = cell.cost ? ` for ${si_text(cell.cost.p50)} ${cell.cost.currency} (${si_text(cell.cost.p10)} to ${si_text(cell.cost.p90)})` : "";
    return `with ${this.where()}, ${count_text(cell.gpus)} GPUs take ${days_text(p50)} days (${days_text(p10)} to ${days_text(p90)})${cost}.`;
  }

  private fill_row(cell: CapacityRun): void {
    const days = cell.days;
    const texts = [
      `what if: ${count_text(cell.gpus)}`,
      days === undefined ? "" : `${days_text(days.p50)} days`,
      cell.cost ? si_text(cell.cost.p50) : "",
      cell.energy_mwh ? `${si_text(cell.energy_mwh * 1e6)}Wh` : "",
      cell.goodput === undefined ? "" : `${(cell.goodput * 100).toFixed(1)} %`,
      cell.layout ?? "",
      cell.step_s === undefined ? "" : `${significant(cell.step_s.mid)} s`,
      "",
      "",
    ];
    this.row.replaceChildren(
      ...texts.map((text, index) => {
        const element = document.createElement(index === 0 ? "th" : "td");
        if (index === 0) element.setAttribute("scope", "row");
        if (index !== 5) element.className = "number";
        element.textContent = text;
        return element;
      }),
    );
  }

  private show(): void {
    const cell = this.cell();
    this.selects.forEach((select, index) => (select.value = `${this.chosen[index]}`));
    const is_record = this.axes.every((axis, index) => this.chosen[index] === axis.base);
    this.verdict.textContent = is_record ? this.said : `${kMark}${this.sentence(cell)}`;
    this.verdict.classList.toggle("what-if", !is_record);
    this.result.textContent = is_record ? "The page shows the record." : "The verdict and the table show a what-if, not the record. It is made again by:";
    this.command.textContent = is_record ? "" : `${this.capacity.command} ${cell?.options ?? ""}`;
    this.row.remove();
    if (is_record || cell === undefined || !cell.fits) return;
    this.fill_row(cell);
    this.table.querySelector("tbody")?.append(this.row);
  }
}

export function add_what_if(report: Report): void {
  const place = document.getElementById("what-if-controls");
  const verdict = document.getElementById("verdict");
  const table = document.getElementById("decision-table");
  const { capacity } = report;
  const front = capacity == null ? undefined : front_of(capacity); // a comparison has none
  if (capacity?.what_if == null || front === undefined || place === null || verdict === null || table === null) return;
  new WhatIf(capacity, capacity.what_if.cells, axes_of(capacity.what_if, front), verdict, table, place);
}
