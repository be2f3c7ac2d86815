// SPDX-License-Identifier: Apache-2.0
// Makes reports with the built program and opens them from file:// in Chromium.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const kProgram = process.env.MESHWRIGHT_PROGRAM;
const kConfigs = process.env.MESHWRIGHT_CONFIGS;

export const folder = mkdtempSync(join(tmpdir(), "meshwright-browser-"));
export const file = (name) => join(folder, name);
export const remove_folder = () => rmSync(folder, { recursive: true, force: true });
export const read_json = (path) => JSON.parse(readFileSync(path, "utf8"));

export function meshwright(...args) {
  return execFileSync(kProgram, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], cwd: folder, maxBuffer: 1 << 28 });
}

export const config = (name) => join(kConfigs, name);

// A plan's report, {page, record}; trials: what a run of the first layouts might have measured;
// profile: what calibrate might have written.
export function make_report(name, plan_arguments, trials = 0, profile = null) {
  const plan = file(`${name}-plan.json`);
  meshwright("plan", ...plan_arguments, "--out", plan);
  const page = file(`${name}.html`);
  const more = [];
  if (trials > 0) {
    const ranked = read_json(plan).ranked.slice(0, trials);
    const observations = ranked.map((estimate, index) => ({
      layout: estimate.layout,
      run_layers: 0,
      ranks: 8,
      steps: 5,
      step_time_seconds: estimate.step_time_seconds * (1.03 - 0.02 * index),
      terms: [{ name: "optimizer", seconds: 0.01 }],
    }));
    writeFileSync(file(`${name}-trials.json`), JSON.stringify({ observations }));
    more.push("--trials", file(`${name}-trials.json`));
  }
  if (profile !== null) {
    writeFileSync(file(`${name}-profile.json`), JSON.stringify(profile));
    more.push("--profile", file(`${name}-profile.json`));
  }
  meshwright("report", plan, "--out", page, ...more);
  return { page, plan, record: read_json(file(`${name}.report.json`)) };
}

// Milliseconds that a busy machine may take for anything.
const kPatience = 300_000;

export const launch = () =>
  chromium.launch({ timeout: kPatience, executablePath: process.env.MESHWRIGHT_CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });

// An open page, and what it complained of or asked the network for.
export async function open(browser, path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(kPatience);
  const page = await context.newPage();
  const address = pathToFileURL(path).href;
  const errors = [];
  const requests = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    if (request.url() !== address) requests.push(request.url());
  });
  await page.goto(address);
  return { page, context, errors, requests, close: () => context.close() };
}

// Until it is so: what follows an event is seen some frames later.
export async function in_the_end(is_so) {
  for (const end = Date.now() + kPatience; !(await is_so()) && Date.now() < end; ) await sleep(50);
  assert.ok(await is_so(), String(is_so));
}
