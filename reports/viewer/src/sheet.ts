// SPDX-License-Identifier: Apache-2.0
// The day of the print at the foot of every sheet, beside the record's hash.

export function add_sheet_footer(): void {
  const hash = document.body.dataset.hash ?? "";
  if (hash === "") return;
  const style = document.createElement("style");
  document.head.append(style);
  addEventListener("beforeprint", () => {
    const day = new Date().toISOString().slice(0, 10);
    style.textContent = `@page { @bottom-left { content: "record ${hash} \\00b7  printed ${day}"; font: 8pt system-ui, sans-serif; } }`;
  });
}
