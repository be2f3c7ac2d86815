// SPDX-License-Identifier: Apache-2.0
// Writes src/record.ts from the report's JSON Schema, so that a chart cannot ask for what the record
// does not have, and src/chart_list.ts from the sources that export a chart, so that a new one is a
// file and nothing else. usage: node record_types.mjs [--check]
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const kSchema = new URL("../schema/report.schema.json", import.meta.url);
const kTypes = new URL("src/record.ts", import.meta.url);
const kPlain = { string: "string", number: "number", integer: "number", boolean: "boolean", null: "null" };

function object_type(schema, indent) {
  const required = new Set(schema.required ?? []);
  const inner = `${indent}  `;
  const members = Object.entries(schema.properties ?? {}).map(([key, value]) => `${inner}${key}${required.has(key) ? "" : "?"}: ${type_of(value, inner)};\n`);
  if (schema.additionalProperties !== false && members.length === 0) return "Record<string, unknown>";
  return `{\n${members.join("")}${indent}}`;
}

function array_type(schema, indent) {
  const items = schema.items === undefined ? "unknown" : type_of(schema.items, indent);
  return /[|]/.test(items.replace(/\{[^]*\}/g, "")) ? `(${items})[]` : `${items}[]`;
}

function type_of(schema, indent) {
  if (schema.$ref !== undefined) return name_of(schema.$ref.split("/").at(-1));
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.oneOf !== undefined && schema.properties === undefined) return schema.oneOf.map((one) => type_of(one, indent)).join(" | ");
  if (Array.isArray(schema.type)) return schema.type.map((one) => kPlain[one] ?? "unknown").join(" | ");
  if (schema.type === "array") return array_type(schema, indent);
  if (schema.type === "object" || schema.properties !== undefined) return object_type(schema, indent);
  return kPlain[schema.type] ?? "unknown";
}

const name_of = (word) => word[0].toUpperCase() + word.slice(1);
const schema = JSON.parse(readFileSync(kSchema, "utf8"));
const types = Object.entries(schema.definitions ?? {}).map(([name, one]) => `export type ${name_of(name)} = ${type_of(one, "")};\n`);
const text = `// SPDX-License-Identifier: Apache-2.0
// Made by record_types.mjs from reports/schema/report.schema.json.

${types.join("\n")}
export interface Record_ ${object_type(schema, "")}
`.replace("Record_", "ReportRecord");

// "src/tornado.ts" exports tornado_chart.
const kSources = new URL("src/", import.meta.url);
const kCharts = new URL("src/chart_list.ts", import.meta.url);
const charts = readdirSync(kSources)
  .map((file) => file.replace(/[.]ts$/, ""))
  .filter((name) => readFileSync(new URL(`${name}.ts`, kSources), "utf8").includes(`export function ${name}_chart(`))
  .sort();
const list = `// SPDX-License-Identifier: Apache-2.0
// Made by record_types.mjs from the sources that export a chart.

${charts.map((name) => `import { ${name}_chart } from "./${name}";\n`).join("")}import type { MakeChart } from "./charts";

export const kCharts: Record<string, MakeChart> = {
${charts.map((name) => `  ${name}: ${name}_chart,\n`).join("")}};
`;

let stale = false;
for (const [path, made] of [[kTypes, text], [kCharts, list]]) {
  if (!process.argv.includes("--check")) writeFileSync(path, made);
  else if (readFileSync(path, "utf8") !== made) {
    console.error(`${path.pathname} is not what the schema and the sources say: node reports/viewer/record_types.mjs`);
    stale = true;
  }
}
if (stale) process.exit(1);
