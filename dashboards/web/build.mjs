// Writes ../page: index.html, app.js, app.css and the licences of what is bundled. Same sources, same bytes.
import { build } from "esbuild";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const page = new URL(process.argv[2] ? `file://${process.argv[2]}/` : "../page/", import.meta.url);
const path = (name) => new URL(name, page).pathname;
const bundled = [
  ["echarts", ["LICENSE", "NOTICE"]],
  ["zrender", ["LICENSE"]],
  ["tslib", ["LICENSE.txt"]],
];

await mkdir(page, { recursive: true });
await build({
  absWorkingDir: new URL(".", import.meta.url).pathname,
  entryPoints: { app: "src/main.ts", "app-css": "src/page.css" },
  entryNames: "[name]",
  outdir: path("."),
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
});
await writeFile(path("app.css"), await readFile(path("app-css.css")));
await (await import("node:fs/promises")).rm(path("app-css.css"));
await copyFile(new URL("src/index.html", import.meta.url), path("index.html"));
await writeFile(path("LICENSES.txt"), (await Promise.all(bundled.map(licence))).join("\n"));
for (const name of ["index.html", "app.css", "app.js"]) {
  const bytes = await readFile(path(name));
  console.log(`${name.padEnd(12)}${(bytes.length / 1024).toFixed(1).padStart(8)} KB${(gzipSync(bytes).length / 1024).toFixed(1).padStart(8)} KB gz`);
}

async function licence([name, files]) {
  const about = JSON.parse(await readFile(new URL(`node_modules/${name}/package.json`, import.meta.url)));
  const texts = await Promise.all(files.map((file) => readFile(new URL(`node_modules/${name}/${file}`, import.meta.url), "utf8")));
  const rule = "=".repeat(78);
  return `${rule}\n${name} ${about.version} (${about.license})\n${rule}\n\n${texts.map((text) => text.trim()).join("\n\n")}\n`;
}
