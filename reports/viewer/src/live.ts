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
  value: string; // of the record
  input: HTMLInputElement;
  option: (value: string) => string;
  show: () => void;
}

const kDayMs = 86400e3;
const day_number = (date: string): number => Date.parse(date) / kDayMs;
const last_day = (start: string, days: number): string => new Date((day_number(start) + Math.max(1, Math.ceil(days)) - 1) * kDayMs).toISOString().slice(0, 10);
const with_change = (now: number, was: number): string => `${significant(now, 3)} (${now < was ? "−" : "+"}${significant(Math.abs(now - was), 2)})`;

// An input with its label; a range shows its value as words.
function control(key: string, names: [label: string, unit: string], value: string, option: Control["option"], range?: [from: number, to: number, step: number], words = (at: number) => `${Number(at.toPrecision(4))}`): Control & { label: HTMLElement } {
  const label = document.createElement("label");
  const input = document.createElement("input");
  const shown = document.createElement("b");
  input.type = range !== undefined ? "range" : value.includes("-") || names[1] === "date" ? "date" : "number";
  input.step = "any";
  input.min = `${range === undefined ? 0 : Math.min(range[0], Number(value))}`;
  if (range !== undefined) input.max = `${Math.max(range[1], Number(value))}`;
  input.value = value;
  if (range !== undefined) input.addEventListener("input", () => (input.value = `${Number((Math.round(Number(input.value) / range[2]) * range[2]).toFixed(4))}`));
  label.append(`${names[0]} `, shown, names[1] === "date" ? "" : ` ${names[1]}`, input);
  const show = (): void => {
    if (range !== undefined) shown.textContent = words(Number(input.value));
  };
  return { key, value: input.value, input, option, show, label };
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function controls_of({ run_inputs: inputs, limits, start }: LiveCapacity, rows: LiveCapacity["rows"], currency: string): ReturnType<typeof control>[] {
  const prices = new Set(rows.map((row) => row.price_per_gpu_hour?.value ?? 0));
  const [price] = prices;
  const dated = limits.deadline !== null || (start !== null && limits.deadline_days === null);
  return [
    ...(prices.has(0) ? [] : [control("price", ["price", prices.size > 1 ? "of each price" : `${currency} an hour`], "1", (v) => `--what-if price_per_gpu_hour=${v}x`, [0.4, 2.4, 0.01], prices.size > 1 ? percent : (at) => (at * price).toFixed(2))]),
    control("failures", ["failures", "per 1,000 node-days"], `${inputs.failure_rate.value}`, (v) => `--failure-rate ${v}`, [0.5, 12, 0.01]),
    control("restart", ["restart", "min"], `${(inputs.detection_s.value + inputs.restart_s.value) / 60}`, (v) => `--restart-time ${Number(v) * 60}`, [1, 40, 0.1]),
    control("save", ["save stops training", "s"], `${inputs.pause_s.value}`, (v) => `--save-time ${v}`, [1, 120, 0.5]),
    ...(rows.some((row) => row.kilowatts_per_gpu === null) ? [] : [control("pue", ["PUE", ""], `${inputs.pue.value}`, (v) => `--pue ${v}`, [1, 2, 0.01])]),
    control("step", ["step", "of the prediction"], `${inputs.step_factor}`, (v) => `--step-factor ${v}`, [0.7, 1.7, 0.01], percent),
    control("start", ["start", "date"], start ?? "", (v) => `--start ${v}`),
    control("deadline", ["deadline", dated ? "date" : "days"], limits.deadline ?? `${limits.deadline_days ?? ""}`, (v) => `--deadline ${v}`),
    ...(currency === "" ? [] : [control("worth", ["a day is worth", currency], `${inputs.day_worth ?? ""}`, (v) => `--day-worth ${v}`)]),
  ];
}

function fill_row(row: HTMLTableRowElement, texts: string[], tag: "td" | "th"): void {
  texts.forEach((textContent, at) => row.append(Object.assign(document.createElement(tag), { textContent, scope: "col", className: at < texts.length - 1 ? "number" : "" })));
}

export function add_live(capacity: LiveCapacity | undefined): void {
  const [box, place, result] = ["live", "live-controls", "live-result"].map((id) => document.getElementById(id));
  const rows = capacity?.rows.filter((row) => row.fits) ?? [];
  if (!capacity?.tokens_stated || !box || !place || !result || rows.length === 0) return;
  const { run_inputs: inputs, limits } = capacity;
  const on_cores = capacity.device_kind === "cpu";
  const currency = rows[0].cost?.currency ?? "";
  const record = rows.map((row) => run_of(row, inputs));
  const controls = controls_of(capacity, rows, currency);
  const label = Object.assign(document.createElement("b"), { id: "live-label", role: "status" });
  const code = Object.assign(document.createElement("code"), { id: "live-command" });
  const value_of = (key: string): string => controls.find((each) => each.key === key)?.input.value ?? "";
  const moved = (): Control[] => controls.filter(({ value, input }) => input.value !== value && input.value !== "");
  const command = (): string => [capacity.command, capacity.grid_options, "--rows-only", ...moved().map(({ option, input }) => option(input.value))].join(" ");
  // A value that was moved over the record's; what was not moved keeps every digit.
  const factor = (key: string, now: number): number => (moved().some((each) => each.key === key) ? Number(value_of(key)) / now : 1);

  const moved_inputs = (): RunInputs => {
    const restart = factor("restart", (inputs.detection_s.value + inputs.restart_s.value) / 60);
    const save = factor("save", inputs.pause_s.value);
    return {
      ...inputs,
      failure_rate: times(inputs.failure_rate, factor("failures", inputs.failure_rate.value)),
      detection_s: times(inputs.detection_s, restart),
      restart_s: times(inputs.restart_s, restart),
      pause_s: times(inputs.pause_s, save),
      asynchronous: inputs.asynchronous || save !== 1,
      pue: times(inputs.pue, factor("pue", inputs.pue.value)),
    };
  };

  const moved_row = (row: RowInputs): RowInputs => {
    const price = row.price_per_gpu_hour;
    return with_step_factor({ ...row, price_per_gpu_hour: price && times(price, factor("price", 1)) }, factor("step", inputs.step_factor));
  };

  const moved_limits = (): Limits => {
    const [deadline, start, worth] = ["deadline", "start", "worth"].map(value_of);
    const dated = day_number(deadline) - day_number(start) + 1; // no number without a start
    const days = deadline.includes("-") ? (start === "" ? null : dated) : Number(deadline) || null;
    return { days, budget: limits.budget, megawatts: limits.max_megawatts, gpus: limits.max_gpus, day_worth: worth === "" ? null : Number(worth) };
  };

  const show_rows = (): void => {
    const now = moved_inputs();
    const bounds = moved_limits();
    const start = value_of("start");
    const runs = rows.map((row) => ({ gpus: row.gpus, run: run_of(moved_row(row), now) }));
    const best = recommended_of(runs, bounds);
    const powered = runs.every(({ run }) => run.energy_mwh !== null);
    const several = new Set(rows.map((row) => row.cluster + row.global_batch)).size > 1;
    const cost = (run: Run): { p50: number; p90: number } => run.cost ?? run.gpu_hours;
    const unit = currency === "" ? `${on_cores ? "core" : "GPU"}-hours` : currency;
    const table = document.createElement("table");
    table.createCaption().textContent = "Live what-if, not the record. In parentheses: change relative to the record";
    fill_row(table.createTHead().insertRow(), [on_cores ? "cores" : "GPUs", "days (P50)", "end (P90)", `M ${unit} (P50)`, `M ${unit} (P90)`, ...(powered ? ["GWh (P50)", "MW"] : []), "goodput", "mean time between failures", "limits"], "th");
    const body = table.createTBody();
    runs.forEach(({ gpus, run }, index) => {
      const row = body.insertRow();
      const name = gpus.toLocaleString("en") + (several ? ` ${rows[index].cluster}, batch ${rows[index].global_batch}` : "");
      fill_row(
        row,
        [
          name + (index === best ? " ★" : ""),
          with_change(run.days.p50, record[index].days.p50),
          start === "" ? `${significant(run.days.p90, 3)} days` : last_day(start, run.days.p90),
          with_change(cost(run).p50 / 1e6, cost(record[index]).p50 / 1e6),
          significant(cost(run).p90 / 1e6, 3),
          ...(powered ? [with_change((run.energy_mwh?.p50 ?? 0) / 1e3, (record[index].energy_mwh?.p50 ?? 0) / 1e3), with_change(run.power_mw ?? 0, record[index].power_mw ?? 0)] : []),
          `${(run.goodput * 100).toFixed(1)} %`,
          `${significant(run.mean_time_between_h, 3)} h`,
          meets_limits(gpus, run, bounds) ? "all met" : "missed",
        ],
        "td",
      );
      Object.assign(row.dataset, { days: run.days.p50, cost: cost(run).p90, energy: run.energy_mwh?.p50 ?? "" });
      if (index === best) row.className = "pick";
    });
    const scroll = Object.assign(document.createElement("div"), { className: "scroll", tabIndex: 0 });
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Rows with these inputs");
    scroll.append(table);
    code.textContent = command();
    result.append(scroll, code);
  };

  const show = (): void => {
    const all = moved();
    for (const each of controls) {
      each.show();
      set_in_url(`live-${each.key}`, all.includes(each) ? each.input.value : null);
    }
    box.classList.toggle("on", all.length > 0);
    label.textContent = all.length > 0 ? "Live what-if, not the record." : "The record. Move an input for a live what-if.";
    result.replaceChildren();
    if (all.length > 0) show_rows();
  };

  const back = (): void => {
    for (const { input, value } of controls) input.value = value;
    show();
  };

  place.className = "controls";
  place.append(label, ...controls.map((each) => each.label), button_of("Back to the record", back), copy_button("Copy command", command));
  for (const { key, input } of controls) {
    input.addEventListener("input", show);
    input.value = url_value(`live-${key}`) ?? input.value;
  }
  show();
}
