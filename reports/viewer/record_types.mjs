// SPDX-License-Identifier: Apache-2.0
// Writes src/record.ts from the report's JSON Schema, so that a chart cannot ask for what the record
// does not have, and src/chart_list.ts from the sources that export a chart, so that a new one is a
// file and nothing else. usage: meshwright schema report | node record_types.mjs [--check] [SCHEMA]
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { text as text_of } from "node:stream/consumers";

const kTypes = new URL("src/record.ts", import.meta.url);
const kPlain = { string: "string", number: "number", integer: "number", boolean: "boolean", null: "null" };

function object_type(schema, indent) {
  const inner = `${indent}  `;
  const required = new Set(schema.required);
  const members = Object.entries(schema.properties ?? {}).map(([key, value]) => `${inner}${key}${required.has(key) ? "" : "?"}: ${type_of(value, inner)};\n`);
  if (members.length > 0) return `{\n${members.join("")}${indent}}`;
  return `Record<string, ${type_of(schema.additionalProperties || {}, indent)}>`;
}

function array_type(schema, indent) {
  const items = type_of(schema.items ?? {}, indent);
  return /[|]/.test(items.replace(/\{[^]*\}/g, "")) ? `(${items})[]` : `${items}[]`;
}

const union = (types) => [...new Set(types)].join(" | ");

function type_of(schema, indent) {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map((value) => JSON.stringify(value)));
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => type_of({ ...schema, type }, indent)));
  if (schema.type === "array") return array_type(schema, indent);
  if (schema.type === "object") return object_type(schema, indent);
  if (schema.type !== undefined) return kPlain[schema.type];
  const parts = schema.oneOf ?? schema.anyOf ?? schema.allOf; // of "allOf" one: a reference beside a description
  return parts === undefined ? "unknown" : union(parts.map((part) => type_of(part, indent)));
}

const [file] = process.argv.slice(2).filter((word) => word !== "--check");
const schema = JSON.parse(file === undefined ? await text_of(process.stdin) : readFileSync(file, "utf8"));
const types = Object.entries(schema.definitions ?? {}).map(([name, one]) => `export type ${name} = ${type_of(one, "")};\n\n`);
const text = `// SPDX-License-Identifier: Apache-2.0
// Made by record_types.mjs from what "meshwright schema report" prints.

${types.join("")}export type ReportRecord = ${type_of(schema, "")};
`;

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
    console.error(`${path.pathname} is not what the schema and the sources say: meshwright schema report | node reports/viewer/record_types.mjs`);
    stale = true;
  }
}
if (stale) process.exit(1);
