// SPDX-License-Identifier: Apache-2.0
// What a reader does with a report, in a real browser, from file://.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test as smoke } from "node:test";
import { config, file, in_the_end, launch, make_report, meshwright, open, read_json, remove_folder } from "./page.mjs";

const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const kPlan = ["--model", "llama-3-70b", "--cluster", "h100-512", "--train-tokens", "15e12"];
let browser;
let report;
// A change that leaves reports/ alone is told from the smoke tests.
const test = process.env.MESHWRIGHT_SMOKE ? () => {} : smoke;

// Points of two kinds, and a rank that is slower than the others.
const kProfile = {
  schema: "meshwright.profile/1",
  created: "2026-01-01T00:00:00Z",
  command: "meshwright calibrate",
  notes: ["gemm fp32 8 x 8 x 8 is noisy"],
  measurements: [1, 2, 3, 4].map((n) => ({
    kind: n % 2 ? "gemm" : "collective",
    median_seconds: n * 1e-3,
    relative_spread: n * 0.05,
    noisy: n === 4,
  })),
  ranks: [0, 1, 2].map((rank) => ({ rank, local_rank: rank, host: "a", gemm: rank === 2 ? 1.3 : 1, memory: 1, network: 1 })),
  stragglers: [{ what: "gemm", rank: 2, relative_time: 1.3, score: 9, sentence: "rank 2 takes 1.30 times as long for products" }],
};

before(async () => {
  report = make_report("seventy", [...kPlan, "--what-if", "inter_node_bandwidth=0.5x"], 3, kProfile);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  remove_folder();
});

// A page for one test, closed when the test ends.
async function opened(t, path = report.page, options = {}) {
  const view = await open(browser, path, options);
  t.after(view.close);
  return view;
}

const rows_of = (page) => page.$$eval("#ranking tbody tr", (rows) => rows.map((row) => row.cells[1].textContent));
const chart = (page, name) => page.locator(`figure[data-chart="${name}"] .canvas`);
// Charts are drawn when they come near the screen.
async function see(page, name) {
  await page.locator(`figure[data-chart="${name}"]`).scrollIntoViewIfNeeded();
  await page.waitForSelector(`figure[data-chart="${name}"] .canvas.drawn`);
}
async function see_all(page) {
  for (const name of await page.$$eval("figure.chart", (figures) => figures.map((f) => f.dataset.chart))) await see(page, name);
}
// What a review reads first: on one screen and on one sheet.
const kAlways = ["verdict", "decision-table", "recommended", "live", "signatures"];
const kFirstScreen = [...kAlways, "why", "tiles", "frontier", "tornado-decision", "risks"];

async function serious_faults(page) {
  await page.evaluate(kAxe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  return violations
    .filter((fault) => fault.impact === "serious" || fault.impact === "critical")
    .map((fault) => `${fault.id}: ${fault.nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
}

smoke("opens offline with no complaint and no request, below 1.5 MB", async (t) => {
  const { page, errors, requests } = await opened(t, report.page, { offline: true });
  await see_all(page);
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, []);
  assert.ok(statSync(report.page).size < 1_500_000, `${statSync(report.page).size} bytes`);
});

// Every box that a reader is to see at once.
async function inside_the_screen(page, ids = kFirstScreen) {
  for (const id of ids) {
    const box = await page.locator(`#${id}`).boundingBox();
    assert.ok(box !== null && box.height > 0, id);
    assert.ok(box.y >= 0 && box.y + box.height <= 900 && box.x >= 0 && box.x + box.width <= 1440, `${id}: ${JSON.stringify(box)}`);
  }
}

test("answers without a training length, in tokens a second and steps", async (t) => {
  const untimed = make_report("untimed", ["--model", "llama-3-70b", "--cluster", "h100-512"]);
  const { page, errors } = await opened(t, untimed.page, { viewport: { width: 1440, height: 900 } });
  await inside_the_screen(page, kAlways);
  assert.match(await page.textContent("#verdict"), /train [\d.]+ [kMG] tokens\/s/);
  assert.match(await page.textContent("#decision-table thead"), /tokens\/s/);
  assert.doesNotMatch(await page.textContent("#levers"), /days/);
  assert.match(await page.textContent("#levers"), /%, step/);
  await page.selectOption('#what-if label:has-text("Network") select', "0");
  assert.match(await page.textContent("#verdict"), /tokens\/s, [\d.]+ m?s per step/);
  assert.deepEqual(errors, []);
});

smoke("answers on the first screen: how many GPUs, when, for how much, how sure, what could go wrong", async (t) => {
  const { page } = await opened(t, report.page, { viewport: { width: 1440, height: 900 } });
  assert.equal(await page.textContent("#verdict"), report.record.verdict);
  await inside_the_screen(page);
  const rows = await page.$$eval("#decision-table tbody tr:not(.failed)", (all) => all.map((row) => row.cells[0].textContent.replace(/\D/g, "")));
  const shown = report.record.capacity.rows.filter((row) => row.fits);
  assert.deepEqual(rows.map(Number), shown.map((row) => row.gpus));
});

// The places that Chromium writes for links inside the file: "/name [page 0 R /XYZ x y z]".
function page_of_each(pdf) {
  const text = pdf.toString("latin1");
  const pages = /\/Kids \[([^\]]*)\]/.exec(text)[1].match(/\d+(?= 0 R)/g);
  const places = {};
  for (const [, name, page] of text.matchAll(/\/([\w-]+) \[(\d+) 0 R\s*\/XYZ/g)) places[name] = pages.indexOf(page) + 1;
  return places;
}

smoke("the first sheet of the printed file holds all of it", async (t) => {
  const { page } = await opened(t);
  await page.evaluate((ids) => {
    for (const id of ids) document.body.insertAdjacentHTML("beforeend", `<a href="#${id}">.</a>`);
  }, [...kFirstScreen, "ranking"]);
  const pages = page_of_each(await page.pdf({ format: "A4" }));
  for (const id of kFirstScreen) assert.equal(pages[id], 1, `${id} on page ${pages[id]}`);
  assert.ok(pages.ranking > 1);
});

test("draws a chart in every figure, when it is seen", async (t) => {
  const { page } = await opened(t);
  const drawn = () => page.$$eval("figure.chart", (figures) => figures.filter((f) => f.querySelector(".canvas.drawn") !== null).length);
  const all = await page.locator("figure.chart").count();
  assert.ok((await drawn()) < all, "nothing that nobody sees");
  await see_all(page);
  const empty = await page.$$eval("figure.chart", (figures) =>
    figures.filter((f) => f.querySelector(".canvas svg, .canvas canvas") === null).map((f) => f.dataset.chart));
  assert.deepEqual(empty, []);
});

test("a chart says what it is in one sentence, and links to its numbers", async (t) => {
  const { page } = await opened(t);
  await see_all(page);
  const labels = await page.$$eval(".canvas.drawn", (all) => all.map((canvas) => canvas.getAttribute("aria-label")));
  for (const label of labels) assert.ok(label !== null && label.length < 300 && !label.includes("NaN"), label);
  const link = page.locator('figure[data-chart="tornado"] .tools a');
  await link.click();
  assert.ok(await page.locator("#tornado-table table").isVisible());
});

// The cell of the grid at these places of its axes.
function cell_at(grid, places) {
  const place = grid.order.reduce((at, axis, index) => at * grid.axes[axis].length + places[index], 0);
  return grid.cells[place];
}

test("what-if steps through the record's grid, is marked, and lives in the address", async (t) => {
  const grid = report.record.capacity.what_if;
  assert.ok(JSON.stringify(grid).length <= 200_000);
  const { page } = await opened(t);
  const gpus = grid.axes.gpus.indexOf(report.record.summary.gpus / 2);
  await page.selectOption('#what-if label:has-text("GPUs") select', `${gpus}`);
  const verdict = await page.textContent("#verdict");
  assert.match(verdict, /^What-if, not the record: /);
  const cell = cell_at(grid, [grid.axes.batch_factor.indexOf(1), gpus, grid.axes.network_factor.indexOf(1), (grid.axes.failure_rate.length - 1) >> 1]);
  assert.ok(verdict.includes(`${Number(cell.days.p50.toPrecision(3))}`), verdict);
  assert.equal(await page.locator("#decision-table tr.what-if").count(), 1);
  assert.equal(await page.textContent("#what-if-controls code"), `${report.record.capacity.command} ${cell.options}`);
  const again = await opened(t);
  await again.page.goto(page.url());
  await again.page.reload();
  assert.equal(await again.page.textContent("#verdict"), verdict);
  await page.click('#what-if button:has-text("Back to the record")');
  assert.equal(await page.textContent("#verdict"), report.record.verdict);
  assert.equal(await page.locator("#decision-table tr.what-if").count(), 0);
});

test("the static rows of the ranking are the rows that the viewer writes", async (t) => {
  const plain = await opened(t, report.page, { javaScriptEnabled: false });
  const live = await opened(t);
  const text = (page) => page.$$eval("#ranking .scroll", (tables) => [...tables[0].querySelectorAll("tbody tr")].map((row) => row.innerText.trim()));
  assert.deepEqual(await text(live.page), await text(plain.page));
});

test("filters the ranking by sizes and switches", async (t) => {
  const { page } = await opened(t);
  await page.fill("#ranking input[type=search]", "tp4 zero");
  const expected = report.record.ranked.filter((l) => / ?\btp4\b/.test(l.short_name) && l.short_name.includes("zero"));
  assert.ok(expected.length > 0 && expected.length < report.record.ranked.length);
  assert.deepEqual(await rows_of(page), expected.map((l) => l.brief_name));
  assert.match(await page.textContent("#ranking output"), new RegExp(`^${expected.length} of ${report.record.ranked.length} `));
  await page.fill("#ranking input[type=search]", "tp3");
  assert.deepEqual(await rows_of(page), []);
  await page.fill("#ranking input[type=search]", "tp<8 pp=2");
  const size = (l, name) => Number(new RegExp(`(?:^| )${name}(\\d+)`).exec(l.short_name)?.[1] ?? 1);
  const some = report.record.ranked.filter((l) => size(l, "tp") < 8 && size(l, "pp") === 2);
  assert.ok(some.length > 0);
  assert.deepEqual(await rows_of(page), some.slice(0, 100).map((l) => l.brief_name));
});

test("filter, order and place are in the address", async (t) => {
  const { page } = await opened(t);
  await page.fill("#ranking input[type=search]", "tp4");
  await page.click('#ranking th button:has-text("peak memory")');
  const rows = await rows_of(page);
  assert.ok(rows.length > 0);
  const again = await opened(t);
  await again.page.goto(page.url());
  await again.page.reload();
  assert.deepEqual(await rows_of(again.page), rows);
  assert.equal(await again.page.getAttribute('#ranking th:has(button:has-text("peak memory"))', "aria-sort"), "ascending");
  await again.page.goto(page.url().replace("#", "#memory&"));
  await again.page.reload();
  await in_the_end(async () => Math.abs((await again.page.locator("#memory").boundingBox()).y) < 900);
});

test("other tables can be had as CSV, with the numbers behind their texts and no formula", async (t) => {
  const { page } = await opened(t);
  const button = page.locator("#scaling button.csv");
  const [taken] = await Promise.all([page.waitForEvent("download"), button.evaluate((button) => button.click())]);
  const lines = readFileSync(await taken.path(), "utf8").trim().split("\r\n");
  assert.equal(lines.length, 1 + report.record.scaling.points.length);
  assert.doesNotMatch(lines.join("\n"), /(^|,)[=@]/m);
});

test("a chart can be had as SVG and as PNG", async (t) => {
  const { page } = await opened(t);
  await see(page, "memory");
  for (const [kind, begin] of [["SVG", "<svg"], ["PNG", "\x89PNG"]]) {
    const button = page.locator(`figure[data-chart="memory"] .tools button:has-text("${kind}")`);
    const [taken] = await Promise.all([page.waitForEvent("download"), button.evaluate((button) => button.click())]);
    assert.ok(readFileSync(await taken.path(), "latin1").startsWith(begin), kind);
  }
});

test("Escape takes a tooltip away, and no tooltip widens a phone's page", async (t) => {
  const { page } = await opened(t, report.page, { viewport: { width: 390, height: 800 }, hasTouch: true });
  for (const name of ["step_time", "pareto", "tornado"]) {
    await see(page, name);
    const box = await chart(page, name).boundingBox();
    await page.touchscreen.tap(box.x + box.width * 0.6, box.y + box.height * 0.4);
    await page.waitForTimeout(100);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390, name);
  }
  await page.keyboard.press("Escape");
  await in_the_end(() => page.$$eval(".canvas.drawn > div:nth-child(2)", (tips) => tips.every((tip) => tip.style.visibility === "hidden" || Number(tip.style.opacity || 1) === 0 || tip.textContent === "")));
});

test("shows every layout of the record when asked for more", async (t) => {
  const { page } = await opened(t);
  assert.equal((await rows_of(page)).length, report.record.top);
  await page.click('#ranking button:text-matches("^Show \\\\d+ more")');
  assert.deepEqual(await rows_of(page), report.record.ranked.map((l) => l.brief_name));
});

test("sorts the ranking by the record's numbers, up and down", async (t) => {
  const { page } = await opened(t);
  await see_all(page); // a chart that is drawn between press and release moves the button away
  await page.fill("#ranking input[type=search]", "tp"); // all that say a tensor size
  const all = report.record.ranked.filter((l) => / ?tp\d/.test(l.short_name));
  const by_memory = [...all].sort((a, b) => a.peak_memory_bytes - b.peak_memory_bytes || a.rank - b.rank).map((l) => l.brief_name);
  await page.click('#ranking th button:has-text("peak memory")');
  assert.deepEqual(await rows_of(page), by_memory);
  assert.equal(await page.getAttribute('#ranking th:has(button:has-text("peak memory"))', "aria-sort"), "ascending");
  await page.click('#ranking th button:has-text("peak memory")');
  assert.equal(await page.getAttribute('#ranking th:has(button:has-text("peak memory"))', "aria-sort"), "descending");
  assert.equal((await rows_of(page))[0], [...all].sort((a, b) => b.peak_memory_bytes - a.peak_memory_bytes)[0].brief_name);
});

test("sorts other tables by number, not by letter", async (t) => {
  const { page } = await opened(t);
  await see_all(page);
  await page.click('#rejections th button:has-text("layouts")');
  const counts = await page.$$eval("#rejections tbody tr", (rows) => rows.map((row) => Number(row.cells[1].textContent.replaceAll(",", ""))));
  assert.ok(counts.length > 2);
  assert.deepEqual(counts, [...counts].sort((a, b) => a - b));
});

test("a brush in the scatter chart filters the table, and lets go again", async (t) => {
  const { page } = await opened(t);
  const figure = page.locator('figure[data-chart="pareto"]');
  await see(page, "pareto");
  await figure.locator('button:has-text("Select layouts")').click();
  await see(page, "pareto");
  const box = await chart(page, "pareto").boundingBox();
  // The left half of the chart: the layouts that need less memory.
  await page.mouse.move(box.x + 68, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height - 60, { steps: 5 });
  await page.mouse.up();
  const taken = new Set(await page.$$eval("#ranking tbody tr", (rows) => rows.map((row) => Number(row.cells[0].textContent))));
  // The chart holds layouts up to twice the fastest step.
  const drawn = report.record.ranked.filter((l) => l.step_time_seconds <= 2 * report.record.ranked[0].step_time_seconds);
  const memories = (inside) => drawn.filter((l) => taken.has(l.rank) === inside).map((l) => l.peak_memory_bytes);
  assert.ok(taken.size > 0 && taken.size < drawn.length, `${taken.size} taken`);
  assert.ok(Math.max(...memories(true)) < Math.min(...memories(false)));
  await figure.locator('button:has-text("Clear")').click();
  assert.equal((await rows_of(page)).length, report.record.top);
});

test("the legend is buttons: by mouse and keyboard they take a series out and bring it back", async (t) => {
  const { page } = await opened(t);
  const button = (name, text) => page.locator(`figure[data-chart="${name}"] .legend button:has-text("${text}")`);
  const svg = (name) => chart(page, name).locator("svg").innerHTML();
  await see(page, "step_time");
  const before = await svg("step_time");
  await button("step_time", "optimizer").click();
  assert.equal(await button("step_time", "optimizer").getAttribute("aria-pressed"), "false");
  assert.notEqual(await svg("step_time"), before);
  assert.ok(report.record.too_large.length > 0);
  await see(page, "pareto");
  const without = await svg("pareto");
  await button("pareto", "too large").focus();
  await page.keyboard.press("Enter");
  assert.equal(await button("pareto", "too large").getAttribute("aria-pressed"), "true");
  assert.notEqual(await svg("pareto"), without);
});

test("the timeline ends with the step, has communication, and zooms by wheel and keyboard", async (t) => {
  const { page } = await opened(t);
  const { timeline } = report.record;
  assert.ok(Math.abs(timeline.step_seconds / report.record.summary.step_time_seconds - 1) < 0.02);
  assert.ok(timeline.works.some((work) => work.includes("communication") || work.includes("reduction")), `${timeline.works}`);
  assert.ok(timeline.works.includes("pipeline_bubble"), `${timeline.works}`);
  await see(page, "timeline");
  const bar = page.locator('figure[data-chart="timeline"] .zoom');
  assert.match(await bar.textContent(), /Ctrl/);
  const picture = async () => (await chart(page, "timeline").screenshot()).toString("base64");
  const whole = await picture();
  await bar.locator('button[aria-label="Zoom in"]').focus();
  await page.keyboard.press("Enter");
  const near = await picture();
  assert.notEqual(near, whole);
  const box = await chart(page, "timeline").boundingBox();
  await page.mouse.move(box.x + box.width / 3, box.y + 60);
  await page.keyboard.down("Control");
  for (let i = 0; i < 3; i++) await page.mouse.wheel(0, -240);
  await page.keyboard.up("Control");
  await in_the_end(async () => (await picture()) !== near);
});

test("text on the heat map reads on every cell", async (t) => {
  const { page } = await opened(t);
  await see(page, "heat_map");
  const fills = await chart(page, "heat_map").locator("svg").evaluate((svg) => {
    const cells = [...svg.querySelectorAll("path")].filter((path) => /^#|^rgb/.test(path.getAttribute("fill") ?? "") && path.getBBox().height > 30);
    return [...svg.querySelectorAll("text")].flatMap((text) => {
      const at = text.getBoundingClientRect();
      const cell = cells.find((path) => {
        const box = path.getBoundingClientRect();
        return box.left <= at.left && box.right >= at.right && box.top <= at.top && box.bottom >= at.bottom;
      });
      return cell === undefined ? [] : [[text.getAttribute("fill"), cell.getAttribute("fill")]];
    });
  });
  const rgb = (colour) => (colour.startsWith("#") ? [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)) : colour.match(/\d+/g).map(Number));
  const light = (colour) => {
    const [red, green, blue] = rgb(colour.length === 4 ? `#${[...colour.slice(1)].map((c) => c + c).join("")}` : colour).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  assert.ok(fills.length > 3);
  for (const [text, cell] of fills) {
    const [low, high] = [light(text), light(cell)].sort((a, b) => a - b);
    assert.ok((high + 0.05) / (low + 0.05) >= 4.5, `${text} on ${cell}`);
  }
});

test("tells about a point under the mouse, as text", async (t) => {
  const { page } = await opened(t);
  await see(page, "step_time");
  const box = await chart(page, "step_time").boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 80);
  await in_the_end(async () => /forward compute: [\d.]+ m?s/.test(await chart(page, "step_time").innerText()));
});

test("changes its theme, and paper stays light", async (t) => {
  const { page } = await opened(t, report.page, { colorScheme: "light" });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await background(), "rgb(255, 255, 255)");
  await page.click("#theme");
  assert.equal(await background(), "rgb(18, 23, 30)");
  assert.equal(await page.textContent("#theme"), "Light");
  await see(page, "memory");
  assert.match(await chart(page, "memory").locator("svg").innerHTML(), /#9aa7b6|rgb\(154,\s*167,\s*182\)/i);
  await page.emulateMedia({ media: "print" });
  assert.equal(await background(), "rgb(255, 255, 255)");
});

test("follows the system's dark theme", async (t) => {
  const { page } = await opened(t, report.page, { colorScheme: "dark" });
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(18, 23, 30)");
});

test("prints every chart and every table whole, and no control", async (t) => {
  const { page } = await opened(t, report.page, { viewport: { width: 703, height: 1016 } }); // A4 within its margins
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 50_000);
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await in_the_end(() => page.$$eval("figure.chart .canvas", (all) => all.every((canvas) => canvas.classList.contains("drawn"))));
  assert.equal(await page.locator(".controls:not(.legend):visible, nav:visible, select:visible, input:visible").count(), 0);
  assert.equal(await page.locator("details:not([open])").count(), 0);
  const cut = await page.$$eval("table, .canvas svg, pre", (all) => all.filter((part) => part.getBoundingClientRect().right > document.body.clientWidth + 1).map((part) => part.outerHTML.slice(0, 90)));
  assert.deepEqual(cut, []);
});

test("copies the table as CSV", async (t) => {
  const { page, context } = await opened(t);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.click('#ranking button:has-text("Copy as CSV")');
  await page.waitForSelector('#ranking button:has-text("Copied")');
  const text = await page.evaluate(() => navigator.clipboard.readText());
  const lines = text.trim().split("\n");
  assert.equal(lines.length, 1 + report.record.ranked.length);
  assert.equal(lines[1].split(",")[1], report.record.ranked[0].short_name);
});

test("launch files are tabs, by mouse and arrow keys, and can be copied", async (t) => {
  const { page, context } = await opened(t);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const shown = () => page.$$eval("#launch .tab", (tabs) => tabs.flatMap((tab, i) => (tab.checkVisibility() ? [i] : [])));
  assert.deepEqual(await shown(), [0]);
  await page.click('#launch [role=tab]:has-text("torchtitan")');
  assert.deepEqual(await shown(), [1]);
  await page.keyboard.press("ArrowLeft");
  assert.deepEqual(await shown(), [0]);
  await page.click('#launch button:has-text("Copy")');
  await page.waitForSelector('#launch button:has-text("Copied")');
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), report.record.launch[0].text);
});

smoke("is usable from the keyboard", async (t) => {
  const { page } = await opened(t);
  await page.focus("#ranking th button");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  const last = report.record.ranked.at(-1).brief_name;
  assert.equal((await rows_of(page))[0], last);
});

test("the numbers behind a chart are folded away with script, and open without", async (t) => {
  const live = await opened(t);
  const plain = await opened(t, report.page, { javaScriptEnabled: false });
  const open_ones = (page) => page.$$eval("details.numbers", (all) => all.filter((details) => details.open).length);
  assert.equal(await open_ones(live.page), 0);
  assert.ok((await open_ones(plain.page)) > 3);
});

test("says how sure the ranking is, as the record has it", async (t) => {
  const { page } = await opened(t);
  const { against, probability_best } = report.record.answers.confidence;
  assert.match(await page.textContent("#confidence p"), new RegExp(`fastest of ${against.length + 1} contenders with ${(probability_best * 100).toFixed(0)} %`));
  const rows = await page.$$eval("#confidence table tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(rows.slice(0, against.length).map((row) => Number(row[2])), against.map((a) => Number((a.probability_winner_is_faster * 100).toFixed(1))));
  await see(page, "confidence");
  assert.match(await chart(page, "confidence").innerText(), new RegExp(`${(against[0].probability_winner_is_faster * 100).toFixed(0)} %`));
});

test("the tornado tells what an input does, longest bar first", async (t) => {
  const { page } = await opened(t);
  const inputs = report.record.answers.sensitivity;
  const swings = inputs.map((s) => Math.abs(s.high.step_time_seconds - s.low.step_time_seconds));
  assert.deepEqual(swings, [...swings].sort((a, b) => b - a));
  await see(page, "tornado");
  const box = await chart(page, "tornado").boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 20);
  const text = () => chart(page, "tornado").innerText();
  await in_the_end(async () => (await text()).includes(`${inputs[0].label} (${inputs[0].provenance})`));
  assert.match(await text(), /days more or less/);
  for (const s of inputs) {
    assert.ok(Math.abs(Math.log(s.low.factor) + s.relative_spread) < 1e-9, s.label);
    assert.ok(s.unit !== "" || s.high.value <= 1 + 1e-9, s.label);
  }
});

test("says what would change the answer, and what if", async (t) => {
  const { page } = await opened(t);
  const { crossovers, what_ifs } = report.record.answers;
  const text = await page.textContent("#sensitivity");
  for (const crossover of crossovers.slice(0, 1)) assert.ok(text.includes(crossover.sentence));
  assert.equal(what_ifs.length, 1);
  assert.ok(text.includes(what_ifs[0].sentence));
  assert.equal(await page.locator('figure[data-chart="crossovers"]').count(), crossovers.length > 0 ? 1 : 0);
  const needs = make_report("priced", [...kPlan, "--price", "2", "--what-if", "price_per_gpu_hour=2x"]).record;
  const { needs: doubled, needs_today } = needs.answers.what_ifs[0];
  assert.ok(Math.abs(doubled.cost / needs_today.cost - 2) < 1e-9);
  assert.match(needs.capacity.verdict, /days .* for [\d.]+ M USD \(P10-P90: [\d.]+ to [\d.]+ M\)/);
});

test("draws the ranks of the first nodes and the load of each link", async (t) => {
  const { page } = await opened(t);
  const placement = report.record.placement;
  await see(page, "links");
  assert.equal(await page.locator("#topology svg.placement rect").count(), placement.nodes.reduce((sum, node) => sum + node.ranks.length, 0));
  const busy = await page.$$eval("#topology .scroll table tbody tr", (rows) => rows.map((row) => Number(row.cells[5]?.textContent)));
  assert.deepEqual(busy, placement.axes.map((axis) => Number((axis.share_of_step * 100).toFixed(1))));
  await see(page, "links");
  assert.ok((await chart(page, "links").innerText()).includes(placement.links[0].link));
});

test("shows noise and slow devices of the profile", async (t) => {
  const { page } = await opened(t);
  assert.match(await page.textContent("#calibration"), /4 points were timed\. .* 1 stayed noisy/);
  assert.match(await page.textContent("#calibration"), /rank 2 takes 1\.30 times as long/);
  assert.match(await page.textContent("#certainty"), /1 of 4 calibrated points stayed noisy/);
  await see(page, "noise");
});

test("shows what each term was off by in every run", async (t) => {
  const { page } = await opened(t);
  await see(page, "term_errors");
  const box = await chart(page, "term_errors").boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 2);
  await in_the_end(async () => /1: [\d.]+ m?s predicted, [\d.]+ m?s measured/.test(await chart(page, "term_errors").innerText()));
});

test("rejections name their rule, what was needed and what there is", async (t) => {
  const { page } = await opened(t);
  const rows = await page.$$eval("#rejections tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(rows.map((row) => row[0]), report.record.rejections.map((r) => r.rule));
  const memory = rows.find((row) => row[0] === "memory_capacity");
  assert.match(memory[3], /^[\d.]+ GiB$/);
  assert.match(memory[4], /^[\d.]+ GiB$/);
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [390, 1024, 1440]) {
    const either = colorScheme === "light" && width !== 1024 ? smoke : test;
    either(`has no serious accessibility fault in the ${colorScheme} theme at ${width}`, async (t) => {
      const { page } = await opened(t, report.page, { colorScheme, viewport: { width, height: 900 } });
      await see_all(page);
      await page.$$eval("details", (all) => all.forEach((details) => (details.open = true)));
      assert.deepEqual(await serious_faults(page), []);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
      // The first stop is the way past the first screen; everything after it can be reached and seen.
      await page.evaluate(() => scrollTo(0, 0));
      await page.keyboard.press("Tab");
      assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
      await page.keyboard.press("Enter");
      await page.keyboard.press("Tab");
      assert.ok(await page.evaluate(() => document.querySelector("main").contains(document.activeElement)));
    });
  }
}

test("reads with neither script nor style, as build servers show it", async (t) => {
  // Jenkins serves reports with this policy: no script, no inline style.
  const policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src \'self\'; style-src \'self\'">';
  writeFileSync(file("bare.html"), readFileSync(report.page, "utf8").replace("<head>", `<head>${policy}`));
  const { page } = await opened(t, file("bare.html"));
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector(".verdict")).fontSize), "16px");
  assert.ok(await page.locator(".verdict").isVisible());
  assert.equal(await page.locator("h1").count(), 1);
  const parts = ["step-time", "ranking", "confidence", "sensitivity", "traffic", "topology", "memory", "heat-map", "scaling", "validation",
    "rejections", "calibration", "provenance"];
  for (const id of parts) {
    assert.ok(await page.locator(`#${id} h2`).isVisible(), id);
    assert.ok(await page.locator(`#${id} table tbody tr`).first().isVisible(), id);
  }
});

test("hostile names stay text everywhere", async (t) => {
  const hostile = "</script><script>globalThis.stung=1</script><img src=x onerror=\"globalThis.stung=2\">'\"\u2028\u2029\u202eevil\u202c`${1}";
  const model = { ...read_json(config("models/llama-3-8b.json")), name: hostile };
  writeFileSync(file("hostile-model.json"), JSON.stringify(model));
  const cluster = read_json(config("clusters/h100-8.json"));
  cluster.name = hostile;
  for (const part of ["device", "framework"]) {
    cluster[part] = { ...read_json(config(`clusters/${cluster[part]}`)), name: hostile, source: hostile };
  }
  cluster.intra_node.name = hostile;
  writeFileSync(file("hostile-cluster.json"), JSON.stringify(cluster));
  const evil = make_report("hostile", ["--model", file("hostile-model.json"), "--cluster", file("hostile-cluster.json")], 3);
  const { page, errors, requests } = await opened(t, evil.page);
  assert.equal(evil.record.model.name, hostile);
  for (const name of ["step_time", "memory", "pareto", "parity"]) {
    if ((await chart(page, name).count()) === 0) continue;
    await see(page, name);
    const box = await chart(page, name).boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  }
  assert.equal(await page.evaluate(() => globalThis.stung), undefined);
  assert.equal(await page.locator("img").count(), 0);
  assert.match(await page.textContent("h1"), /<\/script><script>globalThis/); // the subject
  assert.doesNotMatch(await page.locator("body").innerText(), /[\u202e\u2028]/);
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, []);
});

test("any number of reports stand side by side, with intervals and charts", async (t) => {
  const records = [file("seventy.report.json")];
  for (const gpus of ["128", "256"]) {
    make_report(`on${gpus}`, [...kPlan, "--gpus", gpus]);
    records.push(file(`on${gpus}.report.json`));
  }
  meshwright("report", "--compare", ...records, "--out", file("all.html"));
  const { page, errors, requests } = await opened(t, file("all.html"));
  const comparison = read_json(file("all.report.json"));
  assert.equal(await page.textContent(".verdict"), comparison.sentence);
  const names = comparison.reports.map((one) => one.name);
  assert.deepEqual(names, ["seventy", "on128", "on256"]);
  for (const { verdict } of comparison.reports) assert.ok((await page.textContent(".tiles")).includes(verdict));
  await see_all(page);
  assert.equal(await page.locator("figure.chart .canvas.drawn").count(), 3);
  // Words, not pointers; ranges beside the numbers.
  const tables = await page.locator("#changes").innerText();
  assert.doesNotMatch(tables, /\/cluster\/|\/job\//);
  assert.match(tables, /time to train, days\s+[\d.]+ \([\d.]+ to [\d.]+\)/);
  // Differences are bars, as long as the changes of the record.
  const bars = await page.$$eval("#differences rect", (all) => all.map((bar) => Number(bar.getAttribute("width"))));
  const changes = comparison.quantities.flatMap((one) => (one.change_percent.some((c) => c !== null && Math.abs(c) >= 0.05) ? one.change_percent.slice(1).filter((c) => c !== null) : []));
  assert.equal(bars.length, changes.length);
  const longest = Math.max(...changes.map(Math.abs));
  bars.forEach((width, index) => assert.ok(Math.abs(width / 180 - Math.abs(changes[index]) / longest) < 0.01, `${width} ${changes[index]}`));
  // The baseline is the reader's choice.
  await page.selectOption('#changes select', "2");
  const gpus = comparison.quantities.find((one) => one.name === "gpus").values;
  const cells = await page.$$eval("#changes table", (all) => [...all[0].tBodies[0].rows[0].cells].map((cell) => cell.textContent));
  assert.ok(Math.abs(Number(cells[1 + names.length]) - (gpus[0] / gpus[2] - 1) * 100) < 0.1, cells.join());
  assert.match(await page.textContent("#changes thead"), /seventy against on256/);
  await page.click('#changes th button:has-text("term")');
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, []);
  assert.deepEqual(await serious_faults(page), []);
  await page.setViewportSize({ width: 390, height: 800 });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
});

test("numbers in charts read as those of the page", async (t) => {
  const { page } = await opened(t);
  const source = config("../reports/viewer/src/format.ts");
  const format = execFileSync(process.env.MESHWRIGHT_ESBUILD, [source, "--bundle", "--format=iife", "--global-name=format"], { encoding: "utf8" });
  const names = { significant: "significant", seconds: "seconds_text", memory: "memory_text", traffic: "traffic_text" };
  for (const [name, cases] of Object.entries(read_json(config("../tests/data/number_texts.json")))) {
    const values = JSON.stringify(cases.map(([value]) => value));
    const texts = await page.evaluate(`${format}; ${values}.map((value) => format.${names[name]}(value))`);
    assert.deepEqual(texts, cases.map(([, text]) => text), name);
  }
});

// Charts that were drawn while `action` ran.
async function drawings(page, action) {
  await page.evaluate(() => {
    globalThis.drawings = new Set();
    const watch = (figure) => new MutationObserver(() => globalThis.drawings.add(figure.dataset.chart)).observe(figure.querySelector(".canvas"), { childList: true });
    document.querySelectorAll("figure.chart").forEach(watch);
  });
  const begin = Date.now();
  await action();
  await page.waitForTimeout(300);
  return { charts: await page.evaluate(() => [...globalThis.drawings]), milliseconds: Date.now() - begin - 300 };
}

test("ten thousand layouts are below 6 MB, and a theme draws only what is near", async (t) => {
  // Near-duplicates fall out of a plan, so that no search keeps ten thousand: each stands several times.
  const plan = read_json(report.plan);
  const distinct = plan.ranked;
  plan.ranked = Array.from({ length: 10_000 }, (_, i) => ({ layout: distinct[Math.floor((i * distinct.length) / 10_000)].layout }));
  plan.search.top = 10_000;
  writeFileSync(file("many.json"), JSON.stringify(plan));
  meshwright("report", file("many.json"), "--out", file("many.html"));
  const many = { page: file("many.html"), record: read_json(file("many.report.json")) };
  assert.equal(many.record.ranked.length, 10_000);
  const size = statSync(many.page).size;
  t.diagnostic(`10,000 layouts, ${(size / 1e6).toFixed(2)} MB`);
  assert.ok(size < 6_000_000, `${size} bytes`);
  const toggle = async (path) => {
    const { page, errors } = await opened(t, path);
    await see_all(page);
    await page.evaluate(() => scrollTo(0, 0));
    await page.waitForTimeout(300);
    const all = await page.locator("figure.chart").count();
    const drawn = await drawings(page, () => page.click("#theme"));
    assert.deepEqual(errors, []);
    return { ...drawn, all };
  };
  const few = await toggle(report.page);
  const large = await toggle(many.page);
  t.diagnostic(`theme: ${few.charts.length} of ${few.all} charts in ${few.milliseconds} ms, ${large.charts.length} of ${large.all} in ${large.milliseconds} ms`);
  assert.ok(large.charts.length <= 3 && few.charts.length <= 3, large.charts.join());
  // Rows beyond those that stand in the page have the page's texts, too.
  const { page } = await opened(t, many.page);
  while ((await page.locator("#ranking .pages button").last().isVisible()) && (await page.locator("#layout-401").count()) === 0) await page.locator("#ranking .pages button").last().click();
  const cells = await page.$$eval("#layout-401 > *", (all) => all.map((cell) => cell.textContent));
  assert.equal(cells[0], "401");
  assert.equal(cells[1], many.record.ranked[400].brief_name);
  assert.equal(cells[6], (many.record.ranked[400].model_flops_utilization * 100).toFixed(1));
});

test("says why when nothing fits", async (t) => {
  const plan = file("none-plan.json");
  try {
    meshwright("plan", "--model", "llama-3-405b", "--cluster", "h100-8", "--out", plan);
  } catch (error) {
    assert.equal(error.status, 1);
  }
  meshwright("report", plan, "--out", file("none.html"));
  const { page, errors } = await opened(t, file("none.html"));
  const verdict = await page.textContent(".verdict");
  assert.match(verdict, /No layout/);
  assert.deepEqual(errors, []);
  // What it recommends runs.
  const gpus = /layout that fits is ([\d,]+) GPU/.exec(verdict)[1].replace(",", "");
  assert.match(verdict, /it is no plan/);
  assert.equal(await page.locator('#decision-table abbr[title="recommended"]').count(), 0);
  meshwright("plan", "--model", "llama-3-405b", "--cluster", "h100-8", "--gpus", gpus, "--ranking-only", "--out", file("enough.json"));
  assert.ok(read_json(file("enough.json")).ranked.length > 0);
});

// The viewer's closed forms, outside a browser.
function closed_forms() {
  const source = config("../reports/viewer/src/closed_forms.ts");
  const text = execFileSync(process.env.MESHWRIGHT_ESBUILD, [source, "--bundle", "--minify", "--format=iife", "--global-name=forms"], { encoding: "utf8" });
  return { text, forms: new Function(`${text}; return forms;`)() };
}

const capacity_of = (...args) => {
  const out = file("capacity-answer.json");
  try {
    meshwright("capacity", ...args, "--rows-only", "--out", out, "--format", "json");
  } catch (error) {
    assert.equal(error.status, 1, args.join(" "));
  }
  return read_json(out).capacity;
};

// |a / b - 1| below 1e-9, through quantiles and nulls.
function assert_same(mine, theirs, what) {
  if (theirs === null || mine === null) return assert.equal(mine, theirs, what);
  if (typeof theirs === "object") {
    for (const key of ["p10", "p50", "p90"]) assert_same(mine[key], theirs[key], `${what}.${key}`);
    return undefined;
  }
  assert.ok(Math.abs(mine - theirs) <= 1e-9 * Math.abs(theirs) + 1e-300, `${what}: ${mine}, not ${theirs}`);
  return undefined;
}

const kEightB = ["--model", "llama-3-8b", "--cluster", "h100-8", "--gpus", "8,16,64", "--train-tokens", "1e12"];
// A job's file with this part "capacity".
function job_with(name, capacity) {
  writeFileSync(file(`${name}.json`), JSON.stringify({ ...read_json(config("jobs/pretrain-4k.json")), name, capacity }));
  return file(`${name}.json`);
}

test("the page's closed forms are those of the program, over ten records, and small", () => {
  const { text, forms } = closed_forms();
  assert.ok(text.length < 10_000, `${text.length} bytes`);
  const priced = [...kEightB, "--prices", "example-2026"];
  const jobs = {
    replicas: { failures: { independent_replicas: 4, catch_up_seconds: 30 } },
    measured: { checkpoint: { persist_seconds: 40, load_seconds: 25, interval_seconds: 900 } },
    synchronous: { checkpoint: { asynchronous: false }, evaluation_share: 0.03, step_time_spread: 0.01 },
    exact: { failures: { per_thousand_node_days: 6.5, detection_seconds: 60, restart_seconds: 300, spare_nodes: 3 }, power: { kilowatts_per_gpu: { value: 0.9, low: 0.8, high: 1.1 }, pue: 1.3 } },
  };
  const questions = [
    kEightB,
    priced,
    [...priced, "--failure-rate", "9", "--restart-time", "1500", "--save-time", "45", "--storage", "0.2", "--pue", "1.4", "--step-factor", "1.2"],
    ["--job", "llama-3-405b"],
    ["--job", "llama-3-405b", "--framework", "megatron-core-2026", "--gpus", "2048,32768", "--global-batch-size", "2048"],
    ["--model", "llama-3-70b", "--cluster", "h100-512,dgx-a100-80gb", "--gpus", "256,512", "--train-tokens", "15e12", "--prices", "example-2026"],
    ...Object.entries(jobs).map(([name, capacity]) => [...priced, "--job", job_with(name, capacity)]),
  ];
  assert.equal(questions.length, 10);
  let rows = 0;
  for (const question of questions) {
    const capacity = capacity_of(...question);
    for (const row of capacity.rows.filter((each) => each.fits)) {
      const run = forms.run_of(row, capacity.run_inputs);
      const what = `${question.join(" ")}: ${row.id}`;
      for (const key of ["days", "gpu_hours", "cost", "goodput", "power_mw", "power_mw_high"]) assert_same(run[key], row[key], `${what} ${key}`);
      assert_same(run.energy_mwh, row.energy_mwh_range, `${what} energy`);
      assert_same(run.failures, row.interruptions.expected.p50, `${what} failures`);
      assert_same(run.mean_time_between_h, row.interruptions.mean_time_between_h, `${what} mtbf`);
      assert_same(run.interval_s, row.checkpoint.interval_s, `${what} interval`);
      assert.equal(run.spare_nodes, row.interruptions.spare_nodes, what);
      rows += 1;
    }
  }
  assert.ok(rows >= 20, `${rows} rows`);
});

let decided; // with deadline, start and levers
const kDecided = [...kPlan, "--gpus", "256,512,1024", "--prices", "example-2026", "--framework", "megatron-core-2026", "--start", "2027-01-04", "--deadline", "2027-12-31"];
const decided_report = () => (decided ??= make_report("decided", kDecided));

test("the recommended row drives headline, table, plan and launch files", async (t) => {
  const { page: path, record } = decided_report();
  const { capacity } = record;
  const row = capacity.rows.find((each) => each.id === capacity.recommended);
  assert.ok(row !== undefined, capacity.reason);
  assert.equal(record.summary.gpus, row.gpus);
  assert.equal(capacity.planned, capacity.recommended);
  assert.equal(record.summary.short_name, row.layout_name);
  assert.equal(record.ranked[0].short_name, row.layout_name);
  const script = record.launch.find((one) => one.text.includes("--nnodes"));
  assert.match(script.text, new RegExp(`--nnodes ${row.gpus / 8} `));
  assert.ok(record.verdict.startsWith(`Reserve ${row.gpus.toLocaleString("en")} GPUs: done by ${row.done.p90} (P90)`), record.verdict);
  const { page, errors } = await opened(t, path, { viewport: { width: 1440, height: 900 } });
  await inside_the_screen(page);
  assert.match(await page.textContent("#recommended"), new RegExp(row.gpus.toLocaleString("en")));
  assert.match(await page.textContent(".tag"), /example prices of 2026-11, no offer/);
  assert.match(await page.textContent("#decision-table thead"), /example prices of 2026-11/);
  // The frontier's prices of a day, again from the rows.
  for (const point of capacity.frontier.filter((each) => each.slower !== null)) {
    const [fast, slow] = [point.row, point.slower].map((id) => capacity.rows.find((each) => each.id === id));
    assert_same(point.cost_per_day_saved, (fast.cost.p50 - slow.cost.p50) / (slow.days.p50 - fast.days.p50), point.row);
  }
  assert.ok(capacity.risks.length >= 5 && capacity.calendar.some((day) => day.name === "latest_start"));
  assert.deepEqual(errors, []);
});

test("without a limit nothing is recommended, and each day saved has its price", async (t) => {
  const open_question = make_report("open", [...kPlan, "--gpus", "256,512", "--prices", "example-2026"]);
  const { capacity, verdict } = open_question.record;
  assert.equal(capacity.recommended, null);
  assert.match(verdict, /^No row is recommended/);
  assert.match(capacity.verdict, /Each day saved costs: 512 GPUs instead of 256 GPUs: [\d.,]+ M? ?USD/);
  const { page } = await opened(t, open_question.page);
  assert.equal(await page.locator('#decision-table abbr[title="recommended"]').count(), 0);
  const worth = capacity.frontier.find((point) => point.cost_per_day_saved !== null).cost_per_day_saved;
  await page.fill('#live input[type="number"] >> nth=-1', `${Math.ceil(worth * 2)}`);
  assert.equal(await page.locator("#live-result .pick").count(), 1);
});

test("where no row meets the budget, page and plan are of the row that misses by least", () => {
  const tight = make_report("tight", [...kPlan, "--gpus", "256,512,1024", "--prices", "example-2026", "--budget", "1e6"]);
  const { capacity, verdict, summary } = tight.record;
  const row = capacity.rows.find((each) => each.id === capacity.closest);
  const excess = capacity.rows.map((each) => each.cost.p90);
  assert.equal(row.cost.p90, Math.min(...excess));
  assert.match(verdict, new RegExp(`^No row meets all limits. Nearest: ${row.gpus} GPUs; P90 cost is`));
  assert.equal(summary.gpus, row.gpus);
});

const words_of = (command) => [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain);

// Moves a slider as a hand does.
async function slide(page, label, value) {
  const input = page.locator(`#live label:has-text("${label}") input`);
  await input.evaluate((element, to) => {
    element.value = to;
    element.dispatchEvent(new Event("input", { bubbles: true }));
  }, `${value}`);
}

test("a live what-if is marked, lives in the address, and its command gives the same numbers", async (t) => {
  const { page, errors, requests } = await opened(t, decided_report().page, { offline: true });
  assert.equal(await page.locator("#live-result table").count(), 0);
  for (const [label, value] of [["price", 1.2], ["failures", 6.5], ["restart", 20], ["save stops", 30], ["PUE", 1.5], ["step", 1.07]]) await slide(page, label, value);
  await page.fill('#live input[type="date"] >> nth=0', "2027-02-01");
  assert.ok(await page.locator("#live.on").count());
  assert.match(await page.textContent("#live-label"), /^Live what-if, not the record/);
  const shown = await page.$$eval("#live-result tbody tr", (rows) => rows.map((row) => ({ days: Number(row.dataset.days), cost: Number(row.dataset.cost), energy: Number(row.dataset.energy), end: row.cells[2].textContent, pick: row.className })));
  const command = words_of(await page.textContent("#live-command"));
  assert.deepEqual(command.slice(0, 2), ["meshwright", "capacity"]);
  const answer = capacity_of(...command.slice(2));
  const rows = answer.rows.filter((row) => row.fits);
  assert.equal(shown.length, rows.length);
  rows.forEach((row, index) => {
    assert_same(shown[index].days, row.days.p50, row.id);
    assert_same(shown[index].cost, row.cost.p90, row.id);
    assert_same(shown[index].energy, row.energy_mwh_range.p50, row.id);
    assert.equal(shown[index].end, row.done.p90);
    assert.equal(shown[index].pick === "pick", row.id === answer.recommended, row.id);
  });
  const again = await opened(t, decided_report().page);
  await again.page.goto(page.url());
  await again.page.reload();
  assert.equal(await again.page.textContent("#live-result tbody"), await page.textContent("#live-result tbody"));
  // Paper shows both; axe finds no fault; Back gives the record.
  assert.deepEqual(await serious_faults(page), []);
  await page.emulateMedia({ media: "print" });
  assert.ok(await page.locator("#live-result table").isVisible());
  assert.ok(await page.locator("#decision-table table").isVisible());
  await page.emulateMedia({ media: "screen" });
  await page.locator('#live button:has-text("Back to the record")').focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#live-result table").count(), 0);
  assert.doesNotMatch(page.url(), /live-/);
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, []);
});

test("every live input moves a number of its table", async (t) => {
  const { page } = await opened(t, decided_report().page);
  const labels = await page.$$eval('#live label:has(input[type="range"])', (all) => all.map((label) => label.firstChild.textContent.trim()));
  assert.ok(labels.includes("PUE"));
  for (const label of labels) {
    const input = page.locator(`#live label:has-text("${label}") input`);
    const value = Number(await input.inputValue());
    await slide(page, label, Number(await input.getAttribute("max")) === value ? value / 1.2 : value * 1.2);
    assert.match(await page.textContent("#live-result tbody"), /\([+−](?!0[.0]*\))[0-9]/, label);
    await page.locator('#live button:has-text("Back to the record")').click();
  }
});

test("the live inputs answer to the keyboard", async (t) => {
  const { page } = await opened(t, decided_report().page);
  await page.locator('#live label:has-text("restart") input').focus();
  await page.keyboard.press("ArrowRight");
  assert.ok(await page.locator("#live-result table").isVisible());
});

test("every command of the page gives its cell again, with framework and job", () => {
  const { capacity } = decided_report().record;
  const entries = [...capacity.levers.flatMap((lever) => [lever.low, lever.high]).filter((end) => end !== null), ...capacity.what_if.cells.filter((_, index) => index % 20 === 0)];
  for (const entry of entries) {
    const answer = capacity_of(...words_of(`${capacity.command} ${entry.options}`).slice(2));
    assert.equal(answer.rows.length, 1, entry.options);
    assert.equal(answer.rows[0].fits, entry.fits, entry.options);
    if (!entry.fits) continue;
    for (const key of ["p10", "p50", "p90"]) assert.ok(Math.abs(answer.rows[0].days[key] / entry.days[key] - 1) < 1e-4, `${entry.options} ${key}`);
  }
  assert.ok(entries.length > 20);
});

smoke("a capacity answer is a page: clusters beside each other, led by cost and end", async (t) => {
  const answer = file("clusters.json");
  meshwright("capacity", "--model", "llama-3-70b", "--cluster", "h100-512,dgx-a100-80gb", "--gpus", "256,512", "--train-tokens", "15e12", "--prices", "example-2026", "--start", "2027-01-04", "--deadline", "2028-12-31", "--out", answer, "--format", "json");
  meshwright("report", answer, "--out", file("clusters.html"));
  const { capacity } = read_json(file("clusters.report.json"));
  const { page, errors, requests } = await opened(t, file("clusters.html"), { viewport: { width: 1440, height: 900 } });
  assert.equal(await page.textContent("#verdict"), capacity.headline);
  const first = await page.locator("#capacity table").first();
  assert.match(await first.innerText(), /cluster[\s\S]*cost, USD[\s\S]*end \(P90\)/);
  assert.equal(await first.locator("tbody tr").count(), 2);
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, []);
  assert.deepEqual(await serious_faults(page), []);
  await slide(page, "failures", 8);
  assert.ok(await page.locator("#live-result table").isVisible());
  await page.setViewportSize({ width: 390, height: 800 });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [390, 1440]) {
    test(`the decision has no serious accessibility fault in the ${colorScheme} theme at ${width}`, async (t) => {
      const { page } = await opened(t, decided_report().page, { colorScheme, viewport: { width, height: 900 } });
      await slide(page, "restart", 20);
      assert.deepEqual(await serious_faults(page), []);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
    });
  }
}

test("the waterfall and the goodput lines are there without script, and are the record's", async (t) => {
  const { page: path, record } = decided_report();
  const { page } = await opened(t, path, { javaScriptEnabled: false });
  const { elapsed, goodput_curves, rows, recommended } = record.capacity;
  const row = rows.find((each) => each.id === recommended);
  const days = elapsed.reduce((sum, part) => sum + part.days, 0);
  assert.ok(Math.abs((days * 86400) / row.time.elapsed_s - 1) < 1e-9, `${days}`);
  const names = await page.$$eval("#waterfall text.label", (all) => all.map((text) => text.textContent));
  assert.deepEqual(names, [...elapsed.map((part) => part.name.replaceAll("_", " ")), "elapsed"]);
  // Bars are as long as their parts: all parts together as the last bar.
  const widths = await page.$$eval('#waterfall rect[fill^="#"]', (all) => all.map((bar) => Number(bar.getAttribute("width"))));
  const productive = elapsed.findIndex((part) => part.name === "productive_steps");
  assert.ok(Math.abs(widths[productive] / widths.at(-1) - elapsed[productive].days / days) < 0.01, widths.join());
  assert.equal(await page.locator("#goodput path.curve").count(), goodput_curves.curves.length);
  assert.equal(await page.locator("#goodput circle").count(), goodput_curves.curves.length * (goodput_curves.gpus.length + 1));
  const own = goodput_curves.curves[2].goodput[goodput_curves.gpus.indexOf(row.gpus)];
  assert.ok(Math.abs(own - row.goodput) < 1e-9, `${own}`);
});

test("a phone shows bars of where the time goes", async (t) => {
  const { page } = await opened(t, report.page, { viewport: { width: 390, height: 800 } });
  await see(page, "step_time");
  const widths = await chart(page, "step_time").evaluate((canvas) => [...canvas.querySelectorAll("svg path")].map((path) => path.getBBox().width));
  assert.ok(Math.max(...widths.filter((width) => width < 380)) > 100, `${widths}`);
});

test("the widest model's page is as wide as a phone", async (t) => {
  const wide = make_report("deepseek", ["--model", "deepseek-v3", "--cluster", "h800-2048", "--train-tokens", "14.8e12"]);
  const { page } = await opened(t, wide.page, { viewport: { width: 390, height: 800 } });
  await see_all(page);
  await page.$$eval("details", (all) => all.forEach((details) => (details.open = true)));
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
});

test("charts keep their size when the page is captured", async (t) => {
  const { page } = await opened(t);
  await see_all(page);
  const sizes = () => page.$$eval(".canvas.drawn", (all) => all.map((canvas) => {
    const { width, height } = canvas.getBoundingClientRect();
    return `${canvas.closest("figure").dataset.chart} ${width.toFixed(0)} x ${height.toFixed(0)}`;
  }));
  const before = await sizes();
  assert.ok(before.length > 5);
  const picture = await page.screenshot({ fullPage: true });
  assert.ok(picture.length > 50_000);
  assert.deepEqual(await sizes(), before);
});

test("a link to a section lands on it before its charts are drawn", async (t) => {
  const { page } = await opened(t);
  await page.goto(page.url().replace(/#.*/, "") + "#scaling");
  await page.reload();
  const lands = () => page.locator("#scaling").evaluate((section) => Math.abs(section.getBoundingClientRect().top) < 120);
  await in_the_end(lands);
  await page.waitForTimeout(500);
  assert.ok(await lands());
});

test("memory against time has the capacity and the headroom, and scaling its efficiency", async (t) => {
  const { page } = await opened(t);
  await see(page, "pareto");
  const memory = await chart(page, "pareto").locator("svg").textContent();
  assert.match(memory, /capacity/);
  assert.match(memory, /5 % free/);
  await see(page, "scaling");
  const { points, planned_gpus } = report.record.scaling;
  const fitting = points.filter((point) => point.step_time_seconds !== undefined).sort((a, b) => a.gpus - b.gpus);
  const scaling = await chart(page, "scaling").locator("svg").textContent();
  for (const { gpus, tokens_per_second_per_gpu } of fitting) {
    const share = ((tokens_per_second_per_gpu / fitting[0].tokens_per_second_per_gpu) * 100).toFixed(0);
    assert.ok(scaling.includes(`${share} %`), `${gpus} GPUs: ${share} % of ${scaling}`);
  }
  assert.equal(scaling.includes("this plan"), fitting.some((point) => point.gpus === planned_gpus));
});

test("the page has one energy, one cost and one number of days for a count of GPUs", async (t) => {
  const { page } = await opened(t, decided_report().page);
  const headings = await page.$$eval("#scaling thead th", (all) => all.map((th) => th.textContent.trim()));
  assert.ok(headings.length > 4);
  for (const heading of headings) assert.doesNotMatch(heading, /^(days|cost|energy)/);
  assert.match(await page.textContent("#decision-table thead"), /days[\s\S]*cost, USD[\s\S]*energy/);
});

test("the matrix of ranks holds all that they send, and is there without script", async (t) => {
  const { page } = await opened(t, report.page, { javaScriptEnabled: false });
  const { matrix, sent_bytes } = report.record.volume;
  assert.ok(matrix.groups <= 64 && matrix.cells.length > 0);
  const sent = matrix.cells.reduce((sum, [, , bytes]) => sum + bytes, 0);
  // The busiest stage's ranks send most.
  assert.ok(sent <= sent_bytes * report.record.summary.gpus * 1.000001, `${sent}`);
  assert.ok(await page.locator("#rank-traffic path.cell").count() > 0);
  assert.match(await page.textContent("#rank-traffic"), /receiving rank/);
});

test("the roofline has a numbered point for each operator of the record", async (t) => {
  const { page } = await opened(t, report.page, { javaScriptEnabled: false });
  const { operators, peak_flops_per_second } = report.record.roofline;
  assert.ok(operators.length > 3);
  for (const one of operators) assert.ok(one.flops / one.seconds <= peak_flops_per_second, one.name);
  assert.equal(await page.locator("#roofline circle").count(), operators.length);
  assert.equal(await page.locator("#roofline line.roof").count(), 2);
  const names = await page.textContent("#roofline");
  operators.forEach((one, index) => assert.ok(names.includes(`${index + 1} ${one.name}: `), one.name));
});

for (const colorScheme of ["light", "dark"]) {
  test(`static charts keep a phone's page as wide as the phone, in the ${colorScheme} theme`, async (t) => {
    const { page } = await opened(t, decided_report().page, { colorScheme, viewport: { width: 390, height: 800 } });
    for (const id of ["waterfall", "goodput", "rank-traffic", "roofline"]) assert.ok(await page.locator(`#${id} svg[role="img"]`).getAttribute("aria-label"), id);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    assert.deepEqual(await serious_faults(page), []);
  });
}

// The page of a service plan: no script draws it, and the script alone sorts and switches tabs.
let service = null;
function service_report() {
  if (service !== null) return service;
  meshwright("serve", "--model", "llama-3-8b", "--cluster", "h100-8", "--isl", "1000", "--osl", "200", "--rate", "20", "--ttft", "1s", "--tpot", "30ms", "--percentile", "p90", "--num-prompts", "200", "--mode", "both", "--what-if", "--explain", "--format", "json", "--out", file("service.json"));
  meshwright("report", file("service.json"), "--out", file("service.html"));
  service = { page: file("service.html"), record: read_json(file("service.report.json")) };
  return service;
}

smoke("a service plan is a page: its first screen answers, and nothing is loaded", async (t) => {
  const { page: path, record } = service_report();
  const { page, errors, requests } = await opened(t, path, { offline: true, viewport: { width: 1440, height: 900 } });
  assert.equal(await page.textContent("#verdict"), record.verdict);
  await inside_the_screen(page, ["verdict", "why", "tiles", "decision-table", "signatures"]);
  const [best] = record.choices;
  assert.match(await page.textContent("#tiles"), new RegExp(`${best.gpus} GPUs?`));
  assert.ok((await page.textContent("#tiles")).includes(best.deployment.name));
  assert.match(await page.textContent("header .top"), /example prices/);
  assert.equal(await page.locator("#launch [role=tab]").count(), record.launch.length);
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, []);
  assert.ok(statSync(path).size < 1_500_000, `${statSync(path).size} bytes`);
});

test("the charts of a service are there without script, and are the record's", async (t) => {
  const { page: path, record } = service_report();
  const { page } = await opened(t, path, { javaScriptEnabled: false });
  assert.equal(await page.locator("#frontier-chart circle.dot, #frontier-chart circle.dominated").count(), record.pareto.length);
  const meets = record.pareto.filter((point) => point.ttft_seconds <= record.limits.ttft_seconds && point.tpot_seconds <= record.limits.tpot_seconds);
  assert.equal(await page.locator("#frontier-chart circle.dot").count(), meets.length);
  for (const id of ["ttft-chart", "tpot-chart"]) assert.equal(await page.locator(`#${id} path.curve`).count(), 3);
  assert.equal((await page.textContent("#ttft-chart")).includes("knee: "), record.details.ttft_knee !== undefined);
  assert.equal(await page.locator("#latency tbody tr").count(), record.details.loads.length);
  // Bars are as long as their shares of the pool's time.
  for (const [index, pool] of record.details.pools.entries()) {
    const row = page.locator("#use tbody tr").nth(index);
    const widths = await row.locator('rect[fill^="#"]').evaluateAll((all) => all.map((bar) => Number(bar.getAttribute("width"))));
    const shares = [pool.prompt_share, pool.decode_share, pool.idle_share].filter((share) => share > 0);
    assert.deepEqual(widths.map((width) => width.toFixed(0)), shares.map((share) => (share * 1000).toFixed(0)));
  }
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [390, 1440]) {
    test(`the page of a service has no serious accessibility fault in the ${colorScheme} theme at ${width}`, async (t) => {
      const { page } = await opened(t, service_report().page, { colorScheme, viewport: { width, height: 900 } });
      for (const details of await page.locator("details").all()) await details.evaluate((each) => (each.open = true));
      assert.deepEqual(await serious_faults(page), []);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
      for (const id of ["frontier-chart", "ttft-chart", "tpot-chart"]) assert.ok(await page.locator(`#${id} svg[role="img"]`).getAttribute("aria-label"), id);
    });
  }
}

test("the first sheet of a service's printed file holds its first screen", async (t) => {
  const { page } = await opened(t, service_report().page);
  const ids = ["verdict", "why", "tiles", "decision-table", "signatures"];
  await page.evaluate((all) => {
    for (const id of all) document.body.insertAdjacentHTML("beforeend", `<a href="#${id}">.</a>`);
  }, [...ids, "frontier"]);
  const pages = page_of_each(await page.pdf({ format: "A4" }));
  for (const id of ids) assert.equal(pages[id], 1, `${id} on page ${pages[id]}`);
  assert.ok(pages.frontier > 1);
});

// The page of a training and a service on one cluster: a static chart of the GPUs by hour.
let shared = null;
function shared_report() {
  if (shared !== null) return shared;
  meshwright("capacity", "--job", "train-and-serve", "--out", file("both.json"));
  meshwright("report", file("both.json"), "--out", file("both.html"));
  shared = { page: file("both.html"), record: read_json(file("both.report.json")).shared_capacity };
  return shared;
}

test("a training and a service are a page: its chart has the GPUs of each hour", async (t) => {
  const { page: path, record } = shared_report();
  const { page, errors, requests } = await opened(t, path, { offline: true });
  assert.equal(await page.textContent("#verdict"), record.headline);
  const front = record.rows.find((row) => row.id === record.recommended);
  const columns = front.hours.flatMap((hour) => [hour.service_gpus, hour.training_gpus, hour.spare_gpus, hour.free_gpus]).filter((gpus) => gpus > 0);
  assert.equal(await page.locator("#gpus-by-hour rect:has(title)").count(), columns.length);
  assert.equal(await page.locator("#hours table tbody tr").count(), front.hours.length);
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, []);
});

for (const colorScheme of ["light", "dark"]) {
  for (const width of [390, 1440]) {
    test(`the page of a training and a service has no serious accessibility fault in the ${colorScheme} theme at ${width}`, async (t) => {
      const { page } = await opened(t, shared_report().page, { colorScheme, viewport: { width, height: 900 } });
      assert.deepEqual(await serious_faults(page), []);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
    });
  }
}
