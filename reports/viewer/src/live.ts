// SPDX-License-Identifier: Apache-2.0
// Price, failures, restart, save time, PUE, step, start, deadline and worth of a day, moved live over
// the rows of the record: the closed forms answer without a network. The result is marked, lies in
// the address and comes with the command that gives the same numbers in a terminal.

import { meets_limits, recommended_of, run_of, times, with_step_factor, type Limits, type RowInputs, type Run, type RunInputs } from "./closed_forms";
import { copy_button } from "./copy";
import { significant } from "./format";
import { button_of } from "./legend";
import { set_in_url, url_value } from "./url";

export interface LiveCapacity {
  command: string;
  grid_options: string;
  tokens_stated: boolean;
  device_kind: string;
  start: string | null;
  limits: { deadline_days: number | null; deadline: string | null; budget: number | null; max_megawatts: number | null; max_gpus: number | null };
  run_inputs: RunInputs & { step_factor: number; day_worth: number | null };
  rows: (RowInputs & { id: string; fits: boolean; cluster: string; global_batch: number; layout: string; cost: { currency: string } | null })[];
}

interface Control {
  key: string;
  label: string;
  unit: string;
  type: "range" | "date" | "number";
  value: string; // of the record
  range?: [from: number, to: number, step: number];
  option: (value: string) => string;
}

type Row = LiveCapacity["rows"][number];

const kDayMs = 86400e3;
const day_number = (date: string): number => Date.parse(date) / kDayMs;
const date_of = (start: string, days: number): string => new Date((day_number(start) + Math.max(1, Math.ceil(days)) - 1) * kDayMs).toISOString().slice(0, 10);
const signed = (value: number, text: string): string => (value < 0 ? "−" : "+") + text;

class Live {
  private readonly controls: Control[];
  private readonly inputs = new Map<string, HTMLInputElement>();
  private readonly shown = new Map<string, HTMLElement>();
  private readonly label = document.createElement("b");
  private readonly code = document.createElement("code");
  private readonly record: Run[];
  private readonly rows: Row[];

  constructor(
    private readonly capacity: LiveCapacity,
    private readonly box: HTMLElement,
    place: HTMLElement,
    private readonly result: HTMLElement,
  ) {
    this.rows = capacity.rows.filter((row) => row.fits);
    this.record = this.rows.map((row) => run_of(row, capacity.run_inputs));
    this.controls = this.make_controls();
    this.code.id = "live-command";
    this.label.id = "live-label";
    this.label.setAttribute("role", "status");
    place.className = "controls";
    place.append(this.label, ...this.controls.map((control) => this.widget(control)));
    place.append(button_of("Back to the record", () => this.reset()), copy_button("Copy command", () => this.command()));
    for (const { key } of this.controls) {
      const value = url_value(`live-${key}`);
      const input = this.inputs.get(key);
      if (value !== null && input !== undefined) input.value = value;
    }
    this.show();
  }

  private make_controls(): Control[] {
    const { run_inputs: inputs, limits } = this.capacity;
    const prices = this.rows.map((row) => row.price_per_gpu_hour?.value ?? 0);
    const currency = this.rows[0].cost?.currency ?? "";
    const controls: Control[] = [];
    const range = (key: string, label: string, unit: string, value: number, limits_of: [number, number, number], option: (value: string) => string): void => {
      controls.push({ key, label, unit, type: "range", value: `${value}`, range: limits_of, option });
    };
    if (prices.every((price) => price > 0)) {
      range("price", "price ×", currency === "" ? "" : `of the price in ${currency}`, 1, [0.4, 2.4, 0.01], (v) => `--what-if price_per_gpu_hour=${v}x`);
    }
    const restart = (inputs.detection_s.value + inputs.restart_s.value) / 60;
    range("failures", "failures", "per 1,000 node-days", inputs.failure_rate.value, [0.5, 12, 0.01], (v) => `--failure-rate ${v}`);
    range("restart", "restart", "min", restart, [1, 40, 0.1], (v) => `--restart-time ${Number(v) * 60}`);
    range("save", "save stops training", "s", inputs.pause_s.value, [1, 120, 0.5], (v) => `--save-time ${v}`);
    if (this.rows[0].kilowatts_per_gpu !== null) range("pue", "PUE", "", inputs.pue.value, [1, 2, 0.01], (v) => `--pue ${v}`);
    range("step", "step", "of the prediction", inputs.step_factor, [0.7, 1.7, 0.01], (v) => `--step-factor ${v}`);
    controls.push({ key: "start", label: "start", unit: "", type: "date", value: this.capacity.start ?? "", option: (v) => `--start ${v}` });
    const dated = limits.deadline !== null || (this.capacity.start !== null && limits.deadline_days === null);
    controls.push({ key: "deadline", label: "deadline", unit: dated ? "" : "days", type: dated ? "date" : "number", value: limits.deadline ?? `${limits.deadline_days ?? ""}`, option: (v) => `--deadline ${v}` });
    if (currency !== "") controls.push({ key: "worth", label: "a day is worth", unit: currency, type: "number", value: `${inputs.day_worth ?? ""}`, option: (v) => `--day-worth ${v}` });
    return controls;
  }

  private widget(control: Control): HTMLElement {
    const label = document.createElement("label");
    const input = document.createElement("input");
    const shown = document.createElement("b");
    input.type = control.type;
    if (control.range !== undefined) {
      const [from, to, step] = control.range;
      const value = Number(control.value);
      Object.assign(input, { min: `${Math.min(from, value)}`, max: `${Math.max(to, value)}`, step: "any" });
      input.dataset.step = `${step}`;
    } else if (control.type === "number") {
      Object.assign(input, { min: "0", step: "any" });
    }
    input.value = control.value;
    control.value = input.value; // as the browser writes it
    input.addEventListener("input", () => {
      if (control.range !== undefined) input.value = `${Number((Math.round(Number(input.value) / control.range[2]) * control.range[2]).toFixed(4))}`;
      this.show();
    });
    this.inputs.set(control.key, input);
    this.shown.set(control.key, shown);
    label.append(`${control.label} `, shown, control.unit === "" ? "" : ` ${control.unit}`, input);
    return label;
  }

  private value(key: string): string {
    return this.inputs.get(key)?.value ?? "";
  }

  private moved(): Control[] {
    return this.controls.filter(({ key, value }) => this.value(key) !== value && this.value(key) !== "");
  }

  private reset(): void {
    for (const { key, value } of this.controls) (this.inputs.get(key) as HTMLInputElement).value = value;
    this.show();
  }

  private command(): string {
    const options = this.moved().map(({ key, option }) => option(this.value(key)));
    return [this.capacity.command, this.capacity.grid_options, "--rows-only", ...options].join(" ");
  }

  // The inputs with what was moved; what was not keeps every digit of the record.
  private run_inputs(): RunInputs {
    const all = { ...this.capacity.run_inputs };
    for (const { key } of this.moved()) {
      const value = Number(this.value(key));
      if (key === "failures") all.failure_rate = times(all.failure_rate, value / all.failure_rate.value);
      if (key === "pue") all.pue = times(all.pue, value / all.pue.value);
      if (key === "save") Object.assign(all, { asynchronous: true, pause_s: times(all.pause_s, value / all.pause_s.value) });
      if (key !== "restart") continue;
      const factor = (value * 60) / (all.detection_s.value + all.restart_s.value);
      Object.assign(all, { detection_s: times(all.detection_s, factor), restart_s: times(all.restart_s, factor) });
    }
    return all;
  }

  private row_inputs(row: Row): RowInputs {
    const moved = new Map(this.moved().map(({ key }) => [key, Number(this.value(key))]));
    const price = row.price_per_gpu_hour;
    const priced = { ...row, price_per_gpu_hour: price === null ? null : times(price, moved.get("price") ?? 1) };
    const factor = moved.get("step");
    return factor === undefined ? priced : with_step_factor(priced, factor / this.capacity.run_inputs.step_factor);
  }

  private limits(): Limits {
    const { limits } = this.capacity;
    const deadline = this.value("deadline");
    const start = this.value("start");
    const dated = deadline.includes("-");
    const days = deadline === "" ? null : dated ? (start === "" ? null : day_number(deadline) - day_number(start) + 1) : Number(deadline);
    const worth = this.value("worth");
    return { days, budget: limits.budget, megawatts: limits.max_megawatts, gpus: limits.max_gpus, day_worth: worth === "" ? null : Number(worth) };
  }

  private show(): void {
    const moved = this.moved();
    for (const { key, type } of this.controls) {
      const value = this.value(key);
      const shown = this.shown.get(key);
      if (shown !== undefined && type === "range") shown.textContent = key === "step" || key === "price" ? `${Math.round(Number(value) * 100)} %` : `${Number(Number(value).toPrecision(4))}`;
      set_in_url(`live-${key}`, moved.some((each) => each.key === key) ? value : null);
    }
    this.box.classList.toggle("on", moved.length > 0);
    this.label.textContent = moved.length > 0 ? "Live what-if, not the record." : "The record. Move an input for a live what-if.";
    this.result.replaceChildren();
    if (moved.length > 0) this.show_rows();
  }

  private show_rows(): void {
    const inputs = this.run_inputs();
    const runs = this.rows.map((row) => ({ gpus: row.gpus, run: run_of(this.row_inputs(row), inputs) }));
    const limits = this.limits();
    const best = recommended_of(runs, limits);
    const start = this.value("start");
    const several = new Set(this.rows.map((row) => `${row.cluster}/${row.global_batch}`)).size > 1;
    const cost = (run: Run): number => (run.cost ?? run.gpu_hours).p50 / 1e6;
    const unit = runs[0].run.cost === null ? `M ${this.capacity.device_kind === "cpu" ? "core" : "GPU"}-hours` : `M ${this.rows[0].cost?.currency ?? ""}`;
    const table = document.createElement("table");
    table.createCaption().textContent = "Live what-if, not the record. In parentheses: change relative to the record";
    const heads = [this.capacity.device_kind === "cpu" ? "cores" : "GPUs", "days (P50)", "end (P90)", `${unit} (P50)`, `${unit} (P90)`, "goodput", "mean time between failures", "limits"];
    const head = table.createTHead().insertRow();
    for (const text of heads) head.append(Object.assign(document.createElement("th"), { textContent: text, scope: "col", className: text === "limits" ? "" : "number" }));
    const body = table.createTBody();
    runs.forEach(({ gpus, run }, index) => {
      const was = this.record[index];
      const row = body.insertRow();
      const days = run.days.p50 - was.days.p50;
      const more = cost(run) - cost(was);
      const name = gpus.toLocaleString("en") + (several ? ` ${this.rows[index].cluster}, batch ${this.rows[index].global_batch}` : "");
      const texts = [
        name + (index === best ? " ★" : ""),
        `${significant(run.days.p50, 3)} (${signed(days, significant(Math.abs(days), 2))})`,
        start === "" ? `${significant(run.days.p90, 3)} days` : date_of(start, run.days.p90),
        `${significant(cost(run), 3)} (${signed(more, significant(Math.abs(more), 2))})`,
        significant((run.cost ?? run.gpu_hours).p90 / 1e6, 3),
        `${(run.goodput * 100).toFixed(1)} %`,
        `${significant(run.mean_time_between_h, 3)} h`,
        meets_limits(gpus, run, limits) ? "all met" : "missed",
      ];
      texts.forEach((text, at) => Object.assign(row.insertCell(), { textContent: text, className: at < 7 ? "number" : "" }));
      row.dataset.days = `${run.days.p50}`;
      row.dataset.cost = `${(run.cost ?? run.gpu_hours).p90}`;
      if (index === best) row.className = "pick";
    });
    const scroll = Object.assign(document.createElement("div"), { className: "scroll" });
    scroll.append(table);
    this.code.textContent = this.command();
    this.result.append(scroll, this.code);
  }
}

export function add_live(capacity: LiveCapacity | undefined): void {
  const box = document.getElementById("live");
  const place = document.getElementById("live-controls");
  const result = document.getElementById("live-result");
  if (capacity === undefined || box === null || place === null || result === null) return;
  if (!capacity.tokens_stated || !capacity.rows.some((row) => row.fits)) return;
  new Live(capacity, box, place, result);
}
