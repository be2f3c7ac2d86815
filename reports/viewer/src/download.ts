// SPDX-License-Identifier: Apache-2.0
// Files out of the page, without a network.

export function download(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(content);
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

type Field = string | number | boolean | null;

// RFC 4180, and a text that a spreadsheet would run as a formula is led by an apostrophe: as
// reports/tables/csv.cc writes it.
function field_text(field: Field): string {
  if (field === null) return "";
  if (typeof field !== "string") return `${field}`;
  const safe = /^[=+\-@\t\r]/.test(field) ? `'${field}` : field;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export function csv_text(rows: Field[][]): string {
  return rows.map((row) => `${row.map(field_text).join(",")}\r\n`).join("");
}

export function download_csv(name: string, rows: Field[][]): void {
  download(`${name}.csv`, new Blob([csv_text(rows)], { type: "text/csv" }));
}
