// node query.mjs MODULES: runs the SQL statements that standard input holds as a
// JSON list and prints the rows of each as JSON, every value as text or null.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { DuckDBInstance } = createRequire(join(process.argv[2], 'here.js'))('@duckdb/node-api');
const connection = await (await DuckDBInstance.create(':memory:')).connect();
const results = [];
for (const sql of JSON.parse(readFileSync(0, 'utf8'))) {
  const reader = await connection.runAndReadAll(sql);
  results.push(reader.getRows().map((row) => row.map((v) => (v === null ? null : String(v)))));
}
console.log(JSON.stringify(results));
