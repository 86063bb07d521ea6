// Builds dist/report.js and dist/report.css. With --check, it fails if the files in dist/ differ from the build.
// With --test, it builds the tests for Node.
import { build } from "esbuild";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [mode] = process.argv.slice(2);

if (mode === "--test") {
  const out = join(here, "test", "built");
  await rm(out, { recursive: true, force: true });
  const tests = (await readdir(join(here, "test"))).filter((name) => name.endsWith(".test.ts"));
  await build({
    absWorkingDir: here,
    entryPoints: tests.map((name) => join("test", name)),
    outdir: out,
    bundle: true,
    platform: "node",
    format: "esm",
    outExtension: { ".js": ".mjs" },
  });
} else {
  const built = await build({
    absWorkingDir: here,
    entryPoints: { report: "src/main.ts", style: "src/style.css" },
    outdir: "dist",
    bundle: true,
    minify: true,
    format: "iife",
    target: ["es2022", "chrome109", "firefox115", "safari16.4"],
    charset: "ascii",
    legalComments: "none",
    write: false,
  });
  let stale = false;
  for (const file of built.outputFiles) {
    const name = file.path.endsWith(".css") ? "report.css" : "report.js";
    const path = join(here, "dist", name);
    if (mode === "--check") {
      const found = await readFile(path, "utf8").catch(() => "");
      if (found !== file.text) {
        stale = true;
        console.error(`dist/${name}: differs from the build of src/; run npm run build and commit the result`);
      }
    } else {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, file.text);
      console.log(`dist/${name}: ${file.text.length} bytes`);
    }
  }
  process.exitCode = stale ? 1 : 0;
}
