// SPDX-License-Identifier: Apache-2.0
//
// run_browser.mjs SOURCE_DIR BUILD_DIR: serves the page on the loopback interface, lets Chromium open it and waits for what
// the page sends back.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { allCases } from "./cases.mjs";
import { compare, nativeAnswers } from "./native.mjs";

const DEADLINE_MS = 120_000;
const [source, build] = process.argv.slice(2);
const cases = allCases(source);

const files = {
  "/": ["text/html", join(source, "tests/wasm/page.html")],
  "/page.mjs": ["text/javascript", join(source, "tests/wasm/page.mjs")],
  "/core.wasm": ["application/wasm", join(build, "wasm/ecocompute_core.wasm")],
};
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'";

function serve(request, response, done) {
  const path = new URL(request.url, "http://localhost").pathname;
  if (request.method === "POST" && path === "/outcome") {
    text(request).then((body) => done(JSON.parse(body)));
    response.end();
    return;
  }
  const script = /^\/core\/\w+\.js$/.test(path) && ["text/javascript", join(build, "wasm/web", basename(path))];
  const [type, file] = files[path] ?? (script || []);
  response.setHeader("content-security-policy", policy);
  if (path === "/cases.json") {
    response.setHeader("content-type", "application/json").end(JSON.stringify(cases));
  } else if (file) {
    response.setHeader("content-type", type);
    createReadStream(file).pipe(response);
  } else {
    response.writeHead(404).end();
  }
}

function startChromium(profile, url) {
  const options = [
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking",
    "--disable-component-update --disable-sync --disable-extensions --disable-dev-shm-usage",
  ];
  return spawn(
    "chromium",
    [
      ...options.join(" ").split(" "),
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
      `--user-data-dir=${profile}`,
      url,
    ],
    { detached: true, stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: profile } },
  );
}

/** What the page sends, or an error that holds what Chromium said. */
async function outcomeOfPage() {
  const profile = mkdtempSync(join(tmpdir(), "eco-chromium-"));
  let browser;
  let server;
  try {
    return await new Promise((resolve, reject) => {
      let said = "";
      server = createServer((request, response) => serve(request, response, resolve));
      server.listen(0, "127.0.0.1", () => {
        browser = startChromium(profile, `http://127.0.0.1:${server.address().port}/`);
        browser.stderr.on("data", (data) => (said += data));
        browser.on("error", reject);
        browser.on("exit", (code) => reject(new Error(`chromium ended with ${code}: ${said.slice(-2000)}`)));
      });
      setTimeout(() => reject(new Error(`no answer in ${DEADLINE_MS / 1000} s: ${said.slice(-2000)}`)), DEADLINE_MS).unref();
    });
  } finally {
    if (browser?.pid && browser.exitCode === null) {
      const ended = new Promise((resolve) => browser.once("exit", resolve));
      process.kill(-browser.pid, "SIGKILL"); // the group: its helpers too
      await ended;
    }
    server?.closeAllConnections();
    server?.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

const outcome = await outcomeOfPage();
assert.equal(outcome.error, undefined);
console.log(outcome.agent);
compare(cases, nativeAnswers(join(build, "tests/run_jobs"), cases), outcome.answers, "chromium");
