// SPDX-License-Identifier: Apache-2.0
// What a reader does with a report, in a real browser, from file://.
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { config, file, launch, make_report, meshwright, open, read_json, remove_folder } from "./page.mjs";

const kAxe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const kPlan = ["--model", "llama-3-70b", "--cluster", "h100-512", "--train-tokens", "15e12"];
let browser;
let report;

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

async function serious_faults(page) {
  await page.evaluate(kAxe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  return violations
    .filter((fault) => fault.impact === "serious" || fault.impact === "critical")
    .map((fault) => `${fault.id}: ${fault.nodes.map((node) => node.html).slice(0, 3).join(" | ")}`);
}

test("opens offline with no complaint and no request, below 1.5 MB", async (t) => {
  const { page, errors, requests } = await opened(t, report.page, { offline: true });
  await page.waitForSelector('figure[data-chart="step_time"] svg');
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, []);
  assert.ok(statSync(report.page).size < 1_500_000, `${statSync(report.page).size} bytes`);
});

test("shows the verdict and the tiles of its record", async (t) => {
  const { page } = await opened(t);
  assert.equal(await page.textContent(".verdict"), report.record.verdict);
  for (const tile of report.record.tiles) {
    assert.equal(await page.textContent(`#tile-${tile.id} .value`), tile.value);
    assert.equal(await page.textContent(`#tile-${tile.id} .detail`), tile.detail);
  }
});

test("draws a chart in every figure", async (t) => {
  const { page } = await opened(t);
  const empty = await page.$$eval("figure.chart", (figures) =>
    figures.filter((f) => f.querySelector(".canvas svg, .canvas canvas") === null).map((f) => f.dataset.chart));
  assert.deepEqual(empty, []);
});

test("the static rows of the ranking are the rows that the viewer writes", async (t) => {
  const plain = await opened(t, report.page, { javaScriptEnabled: false });
  const live = await opened(t);
  const text = (page) => page.$$eval("#ranking .scroll", (tables) => [...tables[0].querySelectorAll("tbody tr")].map((row) => row.innerText.trim()));
  assert.deepEqual(await text(live.page), await text(plain.page));
});

test("filters the ranking by sizes and switches", async (t) => {
  const { page } = await opened(t);
  await page.fill("#ranking input[type=search]", "tp2 zero");
  const expected = report.record.ranked.filter((l) => / ?\btp2\b/.test(l.short_name) && l.short_name.includes("zero"));
  assert.ok(expected.length > 0 && expected.length < report.record.ranked.length);
  assert.deepEqual(await rows_of(page), expected.map((l) => l.brief_name));
  assert.match(await page.textContent("#ranking output"), new RegExp(`^${expected.length} of ${report.record.ranked.length} `));
  await page.fill("#ranking input[type=search]", "tp3");
  assert.deepEqual(await rows_of(page), []);
});

test("shows every layout of the record when asked for more", async (t) => {
  const { page } = await opened(t);
  assert.equal((await rows_of(page)).length, report.record.top);
  await page.click('#ranking button:text-matches("^Show \\\\d+ more")');
  assert.deepEqual(await rows_of(page), report.record.ranked.map((l) => l.brief_name));
});

test("sorts the ranking by the record's numbers, up and down", async (t) => {
  const { page } = await opened(t);
  await page.fill("#ranking input[type=search]", "tp"); // all that say a tensor size
  const all = report.record.ranked.filter((l) => / ?tp\d/.test(l.short_name));
  const by_memory = [...all].sort((a, b) => a.peak_memory_bytes - b.peak_memory_bytes || a.rank - b.rank).map((l) => l.brief_name);
  await page.click('#ranking th button:has-text("peak memory")');
  assert.deepEqual(await rows_of(page), by_memory);
  assert.equal(await page.getAttribute('#ranking th:has(button:has-text("peak memory"))', "aria-sort"), "ascending");
  await page.click('#ranking th button:has-text("peak memory")');
  assert.equal((await rows_of(page))[0], [...all].sort((a, b) => b.peak_memory_bytes - a.peak_memory_bytes)[0].brief_name);
});

test("sorts other tables by number, not by letter", async (t) => {
  const { page } = await opened(t);
  await page.click('#rejections th button:has-text("layouts")');
  const counts = await page.$$eval("#rejections tbody tr", (rows) => rows.map((row) => Number(row.cells[1].textContent.replaceAll(",", ""))));
  assert.ok(counts.length > 2);
  assert.deepEqual(counts, [...counts].sort((a, b) => a - b));
});

test("a brush in the scatter chart filters the table, and lets go again", async (t) => {
  const { page } = await opened(t);
  const figure = page.locator('figure[data-chart="pareto"]');
  await figure.locator('button:has-text("Select layouts")').click();
  await chart(page, "pareto").scrollIntoViewIfNeeded();
  const box = await chart(page, "pareto").boundingBox();
  // The left half of the chart: the layouts that need less memory.
  await page.mouse.move(box.x + 68, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height - 60, { steps: 5 });
  await page.mouse.up();
  const taken = new Set(await page.$$eval("#ranking tbody tr", (rows) => rows.map((row) => Number(row.cells[0].textContent))));
  const memories = (inside) => report.record.ranked.filter((l) => taken.has(l.rank) === inside).map((l) => l.peak_memory_bytes);
  assert.ok(taken.size > 0 && taken.size < report.record.ranked.length, `${taken.size} taken`);
  assert.ok(Math.max(...memories(true)) < Math.min(...memories(false)));
  await figure.locator('button:has-text("Clear")').click();
  assert.equal((await rows_of(page)).length, report.record.top);
});

test("shows layouts that are too large when the legend is asked", async (t) => {
  assert.ok(report.record.too_large.length > 0);
  const { page } = await opened(t);
  // Crosses have the colour of soft text, as axis labels have, which are no paths.
  const marks = () => chart(page, "pareto").locator('svg path[fill="#5b6776"]').count();
  const before = await marks();
  await chart(page, "pareto").locator("svg text", { hasText: "too large" }).click();
  assert.equal(await marks(), before + report.record.too_large.length + 1); // and the legend's own
});

test("a button shows and hides the layouts that are too large", async (t) => {
  const { page } = await opened(t);
  const button = page.locator('figure[data-chart="pareto"] button:has-text("too large")');
  const svg = () => chart(page, "pareto").locator("svg").innerHTML();
  assert.ok((await button.textContent()).includes(`${report.record.too_large.length} `));
  const before = await svg();
  await button.focus();
  await page.keyboard.press("Enter");
  assert.equal(await button.getAttribute("aria-pressed"), "true");
  assert.notEqual(await svg(), before);
  await page.keyboard.press("Enter");
  assert.equal(await button.getAttribute("aria-pressed"), "false");
});

test("the legend takes a term out of the step-time chart", async (t) => {
  const { page } = await opened(t);
  const svg = () => chart(page, "step_time").locator("svg").innerHTML();
  const before = await svg();
  await chart(page, "step_time").locator("svg text", { hasText: "optimizer" }).click();
  assert.notEqual(await svg(), before);
});

test("the timeline zooms", async (t) => {
  const { page } = await opened(t);
  await chart(page, "timeline").scrollIntoViewIfNeeded();
  const box = await chart(page, "timeline").boundingBox();
  const blocks = () => chart(page, "timeline").locator("svg path").count();
  const before = await blocks();
  await page.mouse.move(box.x + box.width / 3, box.y + 60);
  await page.keyboard.down("Control");
  for (let i = 0; i < 5; i++) await page.mouse.wheel(0, -240);
  await page.keyboard.up("Control");
  await page.waitForTimeout(200);
  assert.ok((await blocks()) < before, `${await blocks()} of ${before} blocks`);
});

test("tells about a point under the mouse, as text", async (t) => {
  const { page } = await opened(t);
  await chart(page, "step_time").scrollIntoViewIfNeeded();
  const box = await chart(page, "step_time").boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 80);
  await page.waitForTimeout(200);
  assert.match(await chart(page, "step_time").innerText(), /forward compute: [\d.]+ m?s/);
});

test("changes its theme, and paper stays light", async (t) => {
  const { page } = await opened(t, report.page, { colorScheme: "light" });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await background(), "rgb(255, 255, 255)");
  await page.click("#theme");
  assert.equal(await background(), "rgb(18, 23, 30)");
  assert.equal(await page.textContent("#theme"), "Light");
  assert.match(await chart(page, "memory").locator("svg").innerHTML(), /#9aa7b6|rgb\(154,\s*167,\s*182\)/i);
  await page.emulateMedia({ media: "print" });
  assert.equal(await background(), "rgb(255, 255, 255)");
});

test("follows the system's dark theme", async (t) => {
  const { page } = await opened(t, report.page, { colorScheme: "dark" });
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(18, 23, 30)");
});

test("prints every chart and no control", async (t) => {
  const { page } = await opened(t);
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 50_000);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".controls:visible, nav:visible").count(), 0);
  const wide = await page.$$eval(".canvas svg", (all) => all.filter((svg) => svg.getBoundingClientRect().width > document.body.clientWidth + 1).length);
  assert.equal(wide, 0);
  const flat = await page.$$eval(".canvas svg", (all) => all.filter((svg) => svg.parentElement.getBoundingClientRect().height < 60).length);
  assert.equal(flat, 0);
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

test("is usable from the keyboard", async (t) => {
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
  assert.match(await page.textContent("#confidence p"), new RegExp(`fastest with ${(probability_best * 100).toFixed(1)}`));
  const rows = await page.$$eval("#confidence table tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(rows.slice(0, against.length).map((row) => Number(row[2])), against.map((a) => Number((a.probability_winner_is_faster * 100).toFixed(1))));
  await chart(page, "confidence").scrollIntoViewIfNeeded();
  assert.match(await chart(page, "confidence").innerText(), new RegExp(`${(against[0].probability_winner_is_faster * 100).toFixed(0)} %`));
});

test("the tornado tells what an input does, longest bar first", async (t) => {
  const { page } = await opened(t);
  const inputs = report.record.answers.sensitivity;
  const swings = inputs.map((s) => Math.abs(s.high.step_time_seconds - s.low.step_time_seconds));
  assert.deepEqual(swings, [...swings].sort((a, b) => b - a));
  await chart(page, "tornado").scrollIntoViewIfNeeded();
  const box = await chart(page, "tornado").boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 50);
  await page.waitForTimeout(200);
  const text = await chart(page, "tornado").innerText();
  assert.ok(text.includes(`${inputs[0].label} (${inputs[0].provenance})`), text);
});

test("says what would change the answer, and what if", async (t) => {
  const { page } = await opened(t);
  const { crossovers, what_ifs } = report.record.answers;
  const text = await page.textContent("#sensitivity");
  for (const crossover of crossovers.slice(0, 1)) assert.ok(text.includes(crossover.sentence));
  assert.equal(what_ifs.length, 1);
  assert.ok(text.includes(what_ifs[0].sentence));
  assert.equal(await page.locator('figure[data-chart="flips"] svg').count(), crossovers.length > 0 ? 1 : 0);
});

test("draws the ranks of the first nodes and the load of each link", async (t) => {
  const { page } = await opened(t);
  const placement = report.record.placement;
  assert.equal(await page.locator("#topology svg.placement rect").count(), placement.nodes.reduce((sum, node) => sum + node.ranks.length, 0));
  const busy = await page.$$eval("#topology .scroll table tbody tr", (rows) => rows.map((row) => Number(row.cells[5]?.textContent)));
  assert.deepEqual(busy, placement.axes.map((axis) => Number((axis.share_of_step * 100).toFixed(1))));
  await chart(page, "links").scrollIntoViewIfNeeded();
  assert.ok((await chart(page, "links").innerText()).includes(placement.links[0].link));
});

test("shows noise and slow devices of the profile", async (t) => {
  const { page } = await opened(t);
  assert.match(await page.textContent("#calibration"), /4 points were timed: .* 1 stayed noisy/);
  assert.match(await page.textContent("#calibration"), /rank 2 takes 1\.30 times as long/);
  assert.equal(await page.locator('figure[data-chart="noise"] svg').count(), 1);
});

test("shows what each term was off by in every run", async (t) => {
  const { page } = await opened(t);
  await chart(page, "term_errors").scrollIntoViewIfNeeded();
  const box = await chart(page, "term_errors").boundingBox();
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 2);
  await page.waitForTimeout(200);
  assert.match(await chart(page, "term_errors").innerText(), /1: [\d.]+ m?s predicted, [\d.]+ m?s measured/);
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
  test(`has no serious accessibility fault in the ${colorScheme} theme`, async (t) => {
    const { page } = await opened(t, report.page, { colorScheme });
    await page.$$eval("details", (all) => all.forEach((details) => (details.open = true)));
    assert.deepEqual(await serious_faults(page), []);
  });
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

test("is as wide as a phone on a phone", async (t) => {
  const { page } = await opened(t, report.page, { viewport: { width: 390, height: 800 } });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
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
    await chart(page, name).scrollIntoViewIfNeeded();
    const box = await chart(page, name).boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  }
  assert.equal(await page.evaluate(() => globalThis.stung), undefined);
  assert.equal(await page.locator("img").count(), 0);
  assert.match(await page.textContent("h1"), /<\/script><script>globalThis/);
  assert.doesNotMatch(await page.locator("body").innerText(), /[\u202e\u2028]/);
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, []);
});

test("two reports stand side by side", async (t) => {
  const other = make_report("other", [...kPlan, "--gpus", "256"]);
  meshwright("report", "--compare", file("seventy.report.json"), file("other.report.json"), "--out", file("both.html"));
  const { page, errors, requests } = await opened(t, file("both.html"));
  assert.equal(await page.textContent(".verdict"), read_json(file("both.report.json")).sentence);
  assert.ok((await page.textContent(".tiles")).includes(other.record.verdict));
  await page.click('#changes th button:has-text("term")');
  assert.deepEqual(errors, []);
  assert.deepEqual(requests, []);
  assert.deepEqual(await serious_faults(page), []);
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
  assert.match(await page.textContent(".verdict"), /No layout/);
  assert.deepEqual(errors, []);
});
