// SPDX-License-Identifier: Apache-2.0
// What stands around a chart: a legend of buttons, zoom buttons, a link to the numbers and
// downloads. All of it answers to the keyboard.

import type { Instance } from "./charts";
import { download } from "./download";

interface Series {
  name?: string;
  symbol?: string;
  itemStyle?: { color?: string; pattern?: number };
}

const kMarks: Record<string, string> = { circle: "●", triangle: "▲", rect: "■", diamond: "◆", emptyCircle: "○", emptyTriangle: "△", emptyRect: "□", emptyDiamond: "◇" };

// A bar of controls of one kind; one that is there already is replaced.
export function bar_of(figure: HTMLElement, kind: string, content: Node[]): void {
  const bar = document.createElement("div");
  bar.className = `controls ${kind}`;
  bar.append(...content);
  const old = figure.querySelector(`.controls.${kind}`);
  if (old !== null) old.replaceWith(bar);
  else if (kind === "tools") figure.append(bar);
  else figure.querySelector(".canvas")?.before(bar);
}

export function button_of(text: string, act: () => void, label?: string): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  if (label !== undefined) button.setAttribute("aria-label", label);
  button.addEventListener("click", act);
  return button;
}

function swatch(series: Series): Node {
  const mark = kMarks[series.symbol ?? ""];
  if (mark !== undefined) {
    const text = document.createElement("span");
    text.textContent = `${mark} `;
    text.style.color = series.itemStyle?.color ?? "inherit";
    return text;
  }
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("width", "16");
  svg.setAttribute("height", "12");
  svg.setAttribute("aria-hidden", "true");
  const fills = [series.itemStyle?.color ?? "#777777"];
  if (series.itemStyle?.pattern) fills.push(`url(#pattern${series.itemStyle.pattern})`);
  for (const fill of fills) {
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    rect.setAttribute("width", "16");
    rect.setAttribute("height", "12");
    rect.setAttribute("fill", fill);
    svg.append(rect);
  }
  return svg;
}

// One button a series.
export function add_legend(figure: HTMLElement, instance: Instance): void {
  const option = instance.getOption() as { series?: Series[]; legend?: { selected?: Record<string, boolean> }[] };
  if (option.legend === undefined || option.legend.length === 0) return;
  const series = (option.series ?? []).filter((one) => one.name !== undefined && !one.name.startsWith("series\0"));
  if (series.length === 0) return;
  const selected = option.legend[0].selected ?? {};
  const buttons = series.map((one) => {
    const name = one.name as string;
    const button = button_of("", () => instance.dispatchAction({ type: "legendToggleSelect", name }));
    button.append(swatch(one), ` ${name}`);
    button.dataset.name = name;
    button.setAttribute("aria-pressed", `${selected[name] !== false}`);
    return button;
  });
  instance.on("legendselectchanged", (event: unknown) => {
    const now = (event as { selected: Record<string, boolean> }).selected;
    for (const button of buttons) button.setAttribute("aria-pressed", `${now[button.dataset.name ?? ""] !== false}`);
  });
  bar_of(figure, "legend", buttons);
}

interface Zoom {
  start: number;
  end: number;
}

// Percent of the axis, kept inside it.
function moved(zoom: Zoom, factor: number, shift: number): Zoom {
  const width = Math.min(100, (zoom.end - zoom.start) * factor);
  const middle = (zoom.start + zoom.end) / 2 + shift * width;
  const start = Math.max(0, Math.min(100 - width, middle - width / 2));
  return { start, end: start + width };
}

export function add_zoom(figure: HTMLElement, instance: Instance): void {
  const zoom_of = () => (instance.getOption() as { dataZoom?: Zoom[] }).dataZoom?.[0];
  if (zoom_of() === undefined) return;
  const go = (factor: number, shift: number) => () => {
    const zoom = zoom_of();
    if (zoom !== undefined) instance.dispatchAction({ type: "dataZoom", ...moved(zoom, factor, shift) });
  };
  bar_of(figure, "zoom", [
    button_of("+", go(0.5, 0), "Zoom in"),
    button_of("−", go(2, 0), "Zoom out"),
    button_of("◀", go(1, -0.5), "Earlier"),
    button_of("▶", go(1, 0.5), "Later"),
    button_of("Whole step", () => instance.dispatchAction({ type: "dataZoom", start: 0, end: 100 })),
    "Ctrl and the wheel zoom, dragging moves.",
  ].map((part) => (typeof part === "string" ? document.createTextNode(part) : part)));
}

function blob_of(canvas: HTMLCanvasElement): Promise<Blob | null> {
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

async function png_of(svg: string, width: number, height: number, page: string): Promise<Blob | null> {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * width;
  canvas.height = 2 * height;
  const pen = canvas.getContext("2d");
  if (pen === null) return null;
  pen.fillStyle = page;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return blob_of(canvas);
}

// A drawing on a canvas has no SVG.
function downloads(canvas: HTMLElement, instance: Instance, name: string, page: string): Node[] {
  const svg_text = () => {
    const svg = canvas.querySelector("svg");
    return svg === null ? null : new XMLSerializer().serializeToString(svg);
  };
  const png = button_of("PNG", async () => {
    const text = svg_text();
    const blob =
      text === null
        ? await blob_of(instance.getRenderedCanvas({ pixelRatio: 2, backgroundColor: page }))
        : await png_of(text, canvas.clientWidth, canvas.clientHeight, page);
    if (blob !== null) download(`${name}.png`, blob);
  }, `Download the chart ${name} as PNG`);
  if (svg_text() === null) return [png];
  const svg = button_of("SVG", () => download(`${name}.svg`, new Blob([svg_text() ?? ""], { type: "image/svg+xml" })), `Download the chart ${name} as SVG`);
  return [svg, png];
}

// The next table after the figure in its section: the same numbers.
function link_to_table(figure: HTMLElement): Node[] {
  const section = figure.closest("section");
  const tables = [...(section?.querySelectorAll<HTMLElement>(".scroll:has(> table)") ?? [])];
  const table = tables.find((one) => (figure.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0);
  if (table === undefined || figure.contains(table)) return [];
  if (table.id === "") table.id = `${figure.dataset.chart}-table`;
  const link = document.createElement("a");
  link.href = `#${table.id}`;
  link.textContent = "Numbers as a table";
  link.addEventListener("click", () => {
    const folded = table.closest("details");
    if (folded !== null) folded.open = true;
  });
  return [link];
}

export function add_tools(figure: HTMLElement, canvas: HTMLElement, instance: Instance, page: string): void {
  const name = figure.dataset.chart ?? "chart";
  bar_of(figure, "tools", [...link_to_table(figure), ...downloads(canvas, instance, name, page)]);
}
