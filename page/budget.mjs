// After a build: says how large the page is gzipped, and fails above the budget.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BUDGET = 150_000;
const folder = new URL("../src/numafit/service/page/", import.meta.url);
const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const size = files.reduce(
  (sum, entry) => sum + gzipSync(readFileSync(`${entry.parentPath ?? entry.path}/${entry.name}`)).length,
  0,
);
console.log(`${files.length} files, ${size} bytes gzipped of ${BUDGET}`);
if (size > BUDGET) process.exit(1);
