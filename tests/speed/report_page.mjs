// SPDX-License-Identifier: Apache-2.0
// Measures the response time of a report with 10,000 layouts: from the event to the next painted frame,
// median of nine. Not a test: times depend on the machine.
// Run by: cmake --build BUILD --target report_page_benchmark
import { writeFileSync } from "node:fs";
import { file, launch, meshwright, open, read_json, remove_folder } from "./page.mjs";

const kRepetitions = 9;
const kLayouts = 10_000;

// Near twins fall out of a plan, so that no search keeps ten thousand: each layout stands several times.
const plan = file("many.json");
meshwright("plan", "--model", "llama-3-70b", "--cluster", "h100-512", "--cp", "1,2,4,8", "--top", `${kLayouts}`, "--out", plan);
const record = read_json(plan);
const distinct = record.ranked;
record.ranked = Array.from({ length: kLayouts }, (_, i) => distinct[Math.floor((i * distinct.length) / kLayouts)]);
writeFileSync(plan, JSON.stringify(record));
const path = file("page.html");
meshwright("report", plan, "--out", path);
const browser = await launch();
const { page, close } = await open(browser, path, { bypassCSP: true });

// Runs `act` in the page and waits until its result is painted.
async function milliseconds(act, argument) {
  const times = [];
  for (let i = 0; i < kRepetitions; i++) {
    times.push(
      await page.evaluate(
        async ([source, value]) => {
          const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
          await painted();
          const begin = performance.now();
          new Function("value", source)(value);
          await painted();
          return performance.now() - begin;
        },
        [act, argument === undefined ? i : argument],
      ),
    );
  }
  return times.sort((a, b) => a - b)[Math.floor(kRepetitions / 2)];
}

const filter = `const input = document.querySelector("#ranking input");
  input.value = ["tp2", "tp4 zero1", ""][value % 3]; input.dispatchEvent(new Event("input"));`;
const sort = `document.querySelectorAll("#ranking th button")[2 + value % 6].click()`;
const more = `document.querySelector("#ranking .pages button:last-child").click()`;
const load = await page.evaluate(() => performance.getEntriesByType("navigation")[0].domComplete);
console.log(`layouts ${kLayouts}, ${distinct.length} of them distinct`);
console.log(`load_ms ${load.toFixed(0)}`);
console.log(`filter_ms ${(await milliseconds(filter)).toFixed(0)}`);
console.log(`sort_ms ${(await milliseconds(sort)).toFixed(0)}`);
console.log(`next_page_ms ${(await milliseconds(more)).toFixed(0)}`);
await close();
await browser.close();
remove_folder();
