// SPDX-License-Identifier: Apache-2.0
// Days, cost, energy and goodput of a row: the twins of planner/capacity (failures.cc,
// checkpoint.cc, goodput.cc, training_run.cc) and planner/search/normal.cc, which have sources and
// units. A test compares both for every row of ten records to 1e-9.

export interface Ranged {
  value: number;
  low: number;
  high: number;
}

export interface Quantiles {
  p10: number;
  p50: number;
  p90: number;
}

// "run_inputs" of the record.
export interface RunInputs {
  failure_rate: Ranged;
  detection_s: Ranged;
  restart_s: Ranged;
  pause_s: Ranged;
  storage_gb_per_s_per_node: Ranged;
  pue: Ranged;
  asynchronous: boolean;
  persist_s: number | null;
  load_s: number | null;
  interval_s: number | null;
  replicas: number;
  catch_up_s: number;
  repair_days: number;
  spares_target: number;
  spare_nodes: number | null;
  waiting_over_busy: number;
}

// Of a row of the record, what the closed forms read.
export interface RowInputs {
  gpus: number;
  phases: { steps: number; step_s: { low: number; mid: number; high: number } }[];
  checkpoint: { bytes: number };
  load: number;
  added_share: number;
  price_per_gpu_hour: Ranged | null;
  kilowatts_per_gpu: Ranged | null;
}

export interface Run {
  days: Quantiles;
  gpu_hours: Quantiles;
  cost: Quantiles | null;
  energy_mwh: Quantiles | null;
  power_mw: number | null;
  power_mw_high: number | null;
  goodput: number;
  failures: number;
  mean_time_between_h: number;
  interval_s: number;
  spare_nodes: number;
}

const kDay = 86400;
const kGpusOfANode = 8;
const kZ90 = 1.6448536269514722;

// P(Z <= z) = p, by Wichura's algorithm AS 241 (Applied Statistics 37, 1988): 16 digits.
function ratio(r: number, above: number[], below: number[]): number {
  const at = (all: number[]): number => all.reduceRight((sum, each) => sum * r + each, 0);
  return at(above) / at(below);
}

export function normal_quantile(p: number): number {
  const q = p - 0.5;
  if (Math.abs(q) <= 0.425) {
    return q * ratio(0.180625 - q * q,
      [3.387132872796366608, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125, 45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727],
      [1, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077, 21213.794301586595867, 39307.89580009271061, 28729.085735721942674, 5226.495278852545925]);
  }
  const r = Math.sqrt(-Math.log(q < 0 ? p : 1 - p));
  const z = r <= 5
    ? ratio(r - 1.6,
      [1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504, 1.27045825245236838258, 0.24178072517745061177, 0.0227238449892691845833, 7.7454501427834140764e-4],
      [1, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455, 0.14810397642748007459, 0.0151986665636164571966, 5.475938084995344946e-4, 1.05075007164441684324e-9])
    : ratio(r - 5,
      [6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 0.29656057182850489123, 0.026532189526576123093, 0.0012426609473880784386, 2.71155556874348757815e-5, 2.01033439929228813265e-7],
      [1, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525, 7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7, 2.04426310338993978564e-15]);
  return q < 0 ? -z : z;
}

// What is varied, each a dimension of the lattice, in the order of training_run.cc.
const kAxes = { step: 0, rate: 1, arrival: 2, price: 3, power: 4, recovery: 5, storage: 6, pue: 7 };
type AxisName = keyof typeof kAxes;
const kDimensions = 8;
const kPoints = 4096;
let points: Float64Array | null = null; // of those that are not mirrored

function lattice(): Float64Array {
  if (points !== null) return points;
  let golden = 2;
  for (let i = 0; i < 64; i++) golden = Math.pow(1 + golden, 1 / (kDimensions + 1));
  points = new Float64Array((kPoints / 2) * kDimensions);
  for (let point = 0, at = 0; point < kPoints / 2; point++) {
    let step = 1;
    for (let d = 0; d < kDimensions; d++) {
      step /= golden;
      const place = 0.5 + step * (point + 1);
      points[at++] = normal_quantile(Math.min(Math.max(place - Math.floor(place), 1e-6), 1 - 1e-6));
    }
  }
  return points;
}

const coordinate = (point: number, axis: AxisName): number => (point % 2 === 0 ? 1 : -1) * lattice()[(point >> 1) * kDimensions + kAxes[axis]];

function over_lattice(value: (point: number) => number): Float64Array {
  const values = new Float64Array(kPoints);
  for (let point = 0; point < kPoints; point++) values[point] = value(point);
  return values;
}

function quantiles_of(values: Float64Array): Quantiles {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))];
  return { p10: at(0.1), p50: at(0.5), p90: at(0.9) };
}

// One standard deviation of its logarithm.
export const log_deviation = (r: Ranged): number => (r.low <= 0 || r.high <= r.low ? 0 : Math.log(r.high / r.low) / (2 * kZ90));
const perturbed = (r: Ranged, point: number, axis: AxisName): number => r.value * Math.exp(log_deviation(r) * coordinate(point, axis));
export const times = (r: Ranged, factor: number): Ranged => ({ value: r.value * factor, low: r.low * factor, high: r.high * factor });

const failures_a_day = (gpus: number, rate: number): number => ((gpus / kGpusOfANode) * rate) / 1000;
export const mean_time_between = (gpus: number, rate: number): number => kDay / failures_a_day(gpus, rate);

export function spare_nodes(gpus: number, rate: number, repair_days: number, target: number): number {
  const mean = failures_a_day(gpus, rate) * repair_days;
  if (mean <= 0) return 0;
  const enough = Math.min(target, 1 - 1e-9);
  let spares = 0;
  let term = -mean; // the logarithm of the Poisson probability
  let sum = Math.exp(term);
  while (sum < enough) {
    spares += 1;
    term += Math.log(mean) - Math.log(spares);
    sum += Math.exp(term);
  }
  return spares;
}

// The time between saves that is best for the renewal form.
export function renewal_interval(pause: number, between: number): number {
  const w = pause / between;
  if (w <= 0) return 0;
  let y = Math.sqrt(2 * w);
  for (let i = 0; i < 50; i++) y -= (y - 1 + Math.exp(-(y + w))) / (1 - Math.exp(-(y + w)));
  return between * y;
}

interface Disruption {
  between: number; // seconds, like all below
  pause: number;
  persist: number;
  detection: number;
  restart: number;
  load: number;
}

const recovery = (d: Disruption): number => d.detection + d.restart + d.load;
const replica_loss = (d: Disruption, replicas: number): number => recovery(d) / (d.between * replicas + recovery(d));

function ettr(d: Disruption, interval: number, inputs: RunInputs): number {
  if (inputs.replicas === 1) {
    return interval / ((d.between + recovery(d) + d.persist) * Math.expm1((interval + d.pause) / d.between));
  }
  return (1 - replica_loss(d, inputs.replicas)) / ((1 + d.pause / interval) * (1 + inputs.catch_up_s / d.between));
}

// Elapsed seconds, expected failures, and the deviation of the elapsed time by when they come.
function time_parts(productive: number, added: number, d: Disruption, interval: number, inputs: RunInputs): { elapsed: number; failures: number; deviation: number } {
  const trained = productive * (1 + added);
  if (inputs.replicas === 1) {
    const failures = (trained / interval) * Math.expm1((interval + d.pause) / d.between);
    const whole = interval + d.pause;
    const mean = recovery(d) + d.persist + whole / 2;
    const elapsed = d.between * failures + (recovery(d) + d.persist) * failures + d.restart;
    return { elapsed, failures, deviation: Math.sqrt(failures * (mean * mean + (whole * whole) / 12)) };
  }
  const save = d.pause * (trained / interval);
  const failures = (trained + save) / d.between;
  const catch_up = inputs.catch_up_s * failures;
  const away = replica_loss(d, inputs.replicas);
  const elapsed = (trained + save + catch_up) / (1 - away) + d.restart;
  return { elapsed, failures, deviation: (recovery(d) / inputs.replicas + inputs.catch_up_s) * Math.sqrt(failures) };
}

// `interval`: of the run as expected; it does not move with what is uncertain.
function plan_of(row: RowInputs, inputs: RunInputs): { d: Disruption; interval: number } {
  const transfer = row.checkpoint.bytes / (inputs.storage_gb_per_s_per_node.value * 1e9 * (row.gpus / kGpusOfANode));
  const written = inputs.persist_s ?? transfer;
  const between = mean_time_between(row.gpus, inputs.failure_rate.value);
  const pause = inputs.asynchronous ? inputs.pause_s.value : written;
  const persist = inputs.asynchronous ? written : 0;
  const longest = Math.max(...row.phases.map((phase) => phase.step_s.mid));
  const d = { between, pause, persist, detection: inputs.detection_s.value, restart: inputs.restart_s.value, load: inputs.load_s ?? transfer };
  return { d, interval: Math.max(inputs.interval_s ?? renewal_interval(pause, between), persist, longest) };
}

// Of the side on which z lies.
function step_deviation({ low, mid, high }: { low: number; mid: number; high: number }, z: number): number {
  const end = z < 0 ? low : high;
  return end <= 0 || mid <= 0 ? 0 : Math.max(0, Math.log(end / mid) * (z < 0 ? -1 : 1)) / kZ90;
}

function productive_time(row: RowInputs, z: number): number {
  return row.phases.reduce((sum, { steps, step_s }) => sum + step_s.mid * steps * Math.exp(step_deviation(step_s, z) * z), 0);
}

// The disruption at a point of the lattice.
function disruption_at(row: RowInputs, inputs: RunInputs, expected: Disruption, point: number): Disruption {
  const storage = inputs.storage_gb_per_s_per_node;
  const slower = storage.value / perturbed(storage, point, "storage");
  const moves = inputs.persist_s === null;
  return {
    between: mean_time_between(row.gpus, perturbed(inputs.failure_rate, point, "rate")),
    pause: moves && !inputs.asynchronous ? expected.pause * slower : expected.pause,
    persist: moves && inputs.asynchronous ? expected.persist * slower : expected.persist,
    detection: perturbed(inputs.detection_s, point, "recovery"),
    restart: perturbed(inputs.restart_s, point, "recovery"),
    load: inputs.load_s === null ? expected.load * slower : expected.load,
  };
}

// Steps that take `factor` times as long.
export function with_step_factor(row: RowInputs, factor: number): RowInputs {
  const scaled = ({ low, mid, high }: { low: number; mid: number; high: number }) => ({ low: low * factor, mid: mid * factor, high: high * factor });
  return { ...row, phases: row.phases.map(({ steps, step_s }) => ({ steps, step_s: scaled(step_s) })) };
}

export function run_of(row: RowInputs, inputs: RunInputs): Run {
  const { d, interval } = plan_of(row, inputs);
  const productive = productive_time(row, 0);
  const time = time_parts(productive, row.added_share, d, interval, inputs);
  const days = over_lattice((point) => {
    const there = disruption_at(row, inputs, d, point);
    const trained = productive_time(row, coordinate(point, "step")) * (1 + row.added_share);
    const expected = trained / ettr(there, interval, inputs) + there.restart;
    return Math.max(expected + time.deviation * coordinate(point, "arrival"), trained) / kDay;
  });
  const gpu_hours = days.map((day) => day * 24 * row.gpus);
  const spares = inputs.spare_nodes ?? spare_nodes(row.gpus, inputs.failure_rate.value, inputs.repair_days, inputs.spares_target);
  const goodput = productive / time.elapsed;
  const price = row.price_per_gpu_hour;
  const power = row.kilowatts_per_gpu;
  const waiting = inputs.waiting_over_busy;
  const training = waiting + (1 - waiting) * row.load;
  const mean = training * goodput + waiting * (1 - goodput);
  const paid = 1 + (spares * kGpusOfANode) / row.gpus;
  return {
    days: quantiles_of(days),
    gpu_hours: quantiles_of(gpu_hours),
    cost: price === null ? null : quantiles_of(over_lattice((i) => gpu_hours[i] * perturbed(price, i, "price") * paid)),
    energy_mwh: power === null ? null : quantiles_of(over_lattice((i) => (gpu_hours[i] * mean * perturbed(power, i, "power") * perturbed(inputs.pue, i, "pue")) / 1000)),
    power_mw: power === null ? null : (training * power.value * row.gpus * inputs.pue.value) / 1000,
    power_mw_high: power === null ? null : (power.high * row.gpus * inputs.pue.high) / 1000,
    goodput,
    failures: time.failures,
    mean_time_between_h: d.between / 3600,
    interval_s: interval,
    spare_nodes: spares,
  };
}

// Which of the rows to take, as planner/capacity/recommendation.cc chooses: with the worth of a day
// the least cost plus worth x days, with a deadline the fewest GPUs within 1 % of the cheapest, with a budget the
// fastest. -1: none.
export interface Limits {
  days: number | null;
  budget: number | null;
  megawatts: number | null;
  gpus: number | null;
  day_worth: number | null;
}

export function meets_limits(gpus: number, run: Run, limits: Limits): boolean {
  return (
    (limits.gpus === null || gpus <= limits.gpus) &&
    (limits.days === null || run.days.p90 <= limits.days) &&
    (limits.budget === null || run.cost === null || run.cost.p90 <= limits.budget) &&
    (limits.megawatts === null || run.power_mw_high === null || run.power_mw_high <= limits.megawatts)
  );
}

export function recommended_of(rows: { gpus: number; run: Run }[], limits: Limits): number {
  const priced = rows.every(({ run }) => run.cost !== null);
  const cost = (run: Run): number => (priced && run.cost !== null ? run.cost.p50 : run.gpu_hours.p50);
  const worth = limits.day_worth;
  let value: ((run: Run) => number) | null = null;
  if (priced && worth !== null) value = (run) => cost(run) + worth * run.days.p50;
  else if (limits.days !== null) value = cost;
  else if (limits.budget !== null) value = (run) => run.days.p50;
  if (value === null) return -1;
  let best = -1;
  rows.forEach(({ gpus, run }, index) => {
    if (!meets_limits(gpus, run, limits)) return;
    if (best < 0 || value(run) < value(rows[best].run)) best = index;
  });
  if (best < 0 || value !== cost) return best;
  const most = 1.01 * cost(rows[best].run);
  rows.forEach(({ gpus, run }, index) => {
    if (meets_limits(gpus, run, limits) && cost(run) <= most && gpus < rows[best].gpus) best = index;
  });
  return best;
}
