// Writes ../page: index.html, app.js, app.css and the licences of what is bundled. Same sources, same bytes.
import { createHash } from "node:crypto";
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
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
  entryPoints: [
    { in: "src/main.ts", out: "app" },
    { in: "src/page.css", out: "app" },
  ],
  outdir: path("."),
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  legalComments: "none",
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
});
let index = await readFile(new URL("src/index.html", import.meta.url), "utf8");
for (const name of ["app.js", "app.css"]) index = index.replace(`assets/${name}`, `assets/${name}?v=${await hash(name)}`);
await writeFile(path("index.html"), index);
await writeFile(path("LICENSES.txt"), (await Promise.all(bundled.map(licence))).join("\n"));
for (const name of ["index.html", "app.css", "app.js"]) {
  const bytes = await readFile(path(name));
  console.log(`${name.padEnd(12)}${(bytes.length / 1024).toFixed(1).padStart(8)} KB${(gzipSync(bytes).length / 1024).toFixed(1).padStart(8)} KB gz`);
}

// In the address, so that a browser may keep the file for ever.
async function hash(name) {
  return createHash("sha256").update(await readFile(path(name))).digest("hex").slice(0, 12);
}

async function licence([name, files]) {
  const about = JSON.parse(await readFile(new URL(`node_modules/${name}/package.json`, import.meta.url)));
  const texts = await Promise.all(files.map((file) => readFile(new URL(`node_modules/${name}/${file}`, import.meta.url), "utf8")));
  const rule = "=".repeat(78);
  return `${rule}\n${name} ${about.version} (${about.license})\n${rule}\n\n${texts.map((text) => text.trim()).join("\n\n")}\n`;
}
