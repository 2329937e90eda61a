// Builds the page anew in a folder of its own and compares with the committed one, byte for byte.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const committed = fileURLToPath(new URL("../src/numafit/service/page", import.meta.url));
const fresh = mkdtempSync(join(tmpdir(), "numafit-page-"));
const contents = (folder) =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
      .map((path) => [relative(folder, path), readFileSync(path)]),
  );
try {
  await build({
    root: fileURLToPath(new URL(".", import.meta.url)),
    logLevel: "warn",
    build: { outDir: fresh, emptyOutDir: true },
  });
  const [old, now] = [contents(committed), contents(fresh)];
  const different = [...new Set([...old.keys(), ...now.keys()])].filter(
    (name) => !old.get(name)?.equals(now.get(name) ?? Buffer.alloc(0)),
  );
  if (different.length > 0)
    console.error(
      `The built page is not what page/ builds: ${different.sort().join(", ")}. Run \`./dev page\` and commit the result.`,
    );
  process.exitCode = different.length > 0 ? 1 : 0;
} finally {
  rmSync(fresh, { recursive: true, force: true });
}
