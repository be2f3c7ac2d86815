// SPDX-License-Identifier: Apache-2.0
// How long a report of 10,000 layouts takes to answer: from the event to the next painted frame,
// median of nine. Not a test: times depend on the machine.
// Run by: cmake --build BUILD --target report_page_benchmark
import { launch, make_report, open, remove_folder } from "./page.mjs";

const kRepetitions = 9;
const report = make_report("many", ["--model", "llama-3-70b", "--cluster", "h100-512", "--cp", "1,2,4,8", "--top", "10000"]);
const browser = await launch();
const { page, close } = await open(browser, report.page, { bypassCSP: true });

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
console.log(`layouts ${report.record.ranked.length}`);
console.log(`load_ms ${load.toFixed(0)}`);
console.log(`filter_ms ${(await milliseconds(filter)).toFixed(0)}`);
console.log(`sort_ms ${(await milliseconds(sort)).toFixed(0)}`);
console.log(`next_page_ms ${(await milliseconds(more)).toFixed(0)}`);
await close();
await browser.close();
remove_folder();
