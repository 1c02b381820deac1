// SPDX-License-Identifier: Apache-2.0
//
// What the page says of itself, and the files it offers.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

const git = (root, ...args) => execFileSync("git", ["-C", root, ...args], { encoding: "utf8" }).trim();

/** Version, commit and its day: one commit, one page. */
export function buildFacts(root) {
  const version = /^project\([^)]*VERSION\s+([\d.]+)/ms.exec(readFileSync(join(root, "CMakeLists.txt"), "utf8"));
  if (version === null) {
    throw new Error("CMakeLists.txt: no version in project()");
  }
  const changed = git(root, "status", "--porcelain", "--untracked-files=no") === "" ? "" : "+";
  return {
    version: version[1],
    commit: git(root, "rev-parse", "--short=12", "HEAD") + changed,
    date: git(root, "log", "-1", "--format=%cs"),
  };
}

/** Committed tables, in the order of the list. */
export function downloads(root) {
  const listed = git(root, "ls-files", "data/*.csv", "data/published", "data/h200/*/study.csv", "schema/*.json");
  return listed
    .split("\n")
    .filter((path) => /\.(csv|json)$/.test(path) && !/power_trace|\/journal\//.test(path))
    .filter((path) => !/^data\/h200\/.*\/energy/.test(path))
    .map((path) => {
      const bytes = readFileSync(join(root, path));
      const folder = /^data\/h200\/([^/]+)\//.exec(path);
      return {
        file: folder === null ? basename(path) : `h200-${folder[1]}.csv`,
        path: join(root, path),
        bytes: bytes.length,
        sha256: createHash("sha256").update(bytes).digest("hex"),
      };
    });
}
