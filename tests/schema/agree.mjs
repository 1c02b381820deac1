// SPDX-License-Identifier: Apache-2.0
//
// agree.mjs PROGRAM SCHEMA AJV FOLDER REPORT...: mutates the reports, writes the mutants into FOLDER, and holds the
// verdict of `ecocompute validate` against that of ajv with the schema file, one by one: two thousand drawn at random, and
// a sweep that breaks every key of every report. The mutants are the same each time. A schema with one rule less must be
// told apart, or the comparison shows nothing.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const [program, schemaPath, ajvPath, folder, ...reports] = process.argv.slice(2);
const Ajv = createRequire(import.meta.url)(ajvPath);
const mutantsPerReport = Math.ceil(2000 / reports.length);

// A linear congruential generator modulo 2^32: the upper bits decide.
let state = 20261130;
function below(n) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
}
const pick = (list) => list[below(list.length)];
// Half of the time near the root, where most rules are: long reports are windows for the most part.
const pickPlace = (list) => {
    const near = list.filter((p) => p.depth < 2);
    return pick(near.length > 0 && below(2) === 0 ? near : list);
};

// Every member and element: {holder, key, depth}.
function places(value, depth = 0, out = []) {
    if (value !== null && typeof value === "object") {
        for (const key of Object.keys(value)) {
            out.push({ holder: value, key, depth });
            places(value[key], depth + 1, out);
        }
    }
    return out;
}

const versions = ["1.0", "1.1", "1.2", "1.3", "1.4", "1.03", "2.0"].map((v) => `ecocompute-energy/${v}`);
const others = () => pick([null, true, false, "x", "", 5, 0, 1.5, -2, [], {}, ["a"], [1], [{}], [null], { a: "b" }, { a: 1 }]);
const numbers = () => pick([-1, 0, 1, 0.5, -1e-9, 9, 10, 9.999, 256.5, 1e30, -1e30, 2 ** 63, 2 ** 53 + 2, 1e308, -0]);
const texts = () =>
    pick(["Server", "Offline", "fp16", "FP16", "NF4\u0000", "measured ", "guessed", "replayed", "cold", "steady", "decode",
        "primary", "csv", "perplexity", "none", "ecocompute 9", "xecocompute", "ecocompute\u0000", "ecocompute-energy-methodology"]);

const isNumber = (p) => typeof p.holder[p.key] === "number";
const isText = (p) => typeof p.holder[p.key] === "string";
const remove = (p) => (Array.isArray(p.holder) ? p.holder.splice(Number(p.key), 1) : delete p.holder[p.key]);

// The kinds of the issue. Each takes the report and changes it in place.
const kinds = {
    delete: (r) => remove(pickPlace(places(r))),
    retype: (r) => {
        const p = pickPlace(places(r));
        p.holder[p.key] = others();
    },
    range: (r) => {
        const p = pickPlace(places(r).filter(isNumber));
        p.holder[p.key] = numbers();
    },
    unknown: (r) => {
        const p = pick(places(r).filter((q) => !Array.isArray(q.holder)));
        p.holder[pick(["x_unknown", "energy_wh", "Basis"])] = others();
    },
    word: (r) => {
        const p = pickPlace(places(r).filter(isText));
        p.holder[p.key] = texts();
    },
    block: (r) => remove(pick(places(r).filter((p) => p.depth === 0 && typeof p.holder[p.key] === "object"))),
    version: (r) => {
        r.schema_version = pick(versions);
    },
    tool: (r) => {
        if (r.software !== null && typeof r.software === "object") {
            r.software.tool = pick(["ecocompute 0.1.0", "other 2", "ecocompute", "", null, 7]);
        }
    },
    nothing: () => {},
};

const files = [];
const kindOf = [];
function write(report, kind) {
    const file = `${folder}/${String(files.length).padStart(4, "0")}.json`;
    writeFileSync(file, JSON.stringify(report));
    files.push(file);
    kindOf.push(kind);
}
for (const path of reports) {
    const text = readFileSync(path, "utf8");
    for (let i = 0; i < mutantsPerReport; i++) {
        const report = JSON.parse(text);
        const names = i === 0 ? ["nothing"] : Array.from({ length: 1 + below(2) }, () => pick(Object.keys(kinds)));
        for (const name of names) {
            if (Object.keys(report).length > 1) {
                kinds[name](report);
            }
        }
        write(report, names.join("+"));
    }
}
const nRandom = files.length;

// A path by its keys alone: of an array the first element stands for all.
function swept(value, path = [], out = []) {
    if (value !== null && typeof value === "object") {
        for (const key of Array.isArray(value) ? Object.keys(value).slice(0, 1) : Object.keys(value)) {
            out.push([...path, key]);
            swept(value[key], [...path, key], out);
        }
    }
    return out;
}
for (const path of reports) {
    const text = readFileSync(path, "utf8");
    for (const keys of swept(JSON.parse(text))) {
        const at = keys.slice(0, -1).reduce((v, k) => v[k], JSON.parse(text))[keys.at(-1)];
        const values = typeof at === "number" ? [-1, 9, 0.5, "1"] : typeof at === "string" ? ["Server", 1] : [true];
        for (const value of [undefined, null, ...values]) {
            const report = JSON.parse(text);
            const holder = keys.slice(0, -1).reduce((v, k) => v[k], report);
            if (value === undefined) {
                remove({ holder, key: keys.at(-1) });
            } else {
                holder[keys.at(-1)] = value;
            }
            write(report, `${keys.join(".")} = ${value}`);
        }
    }
}

// validate ends with 4 when a report was refused; what it printed is what counts.
function verdicts(part) {
    try {
        return JSON.parse(execFileSync(program, ["validate", "--json", ...part], { maxBuffer: 2 ** 28 }));
    } catch (error) {
        if (error.status !== 4) {
            throw error;
        }
        return JSON.parse(error.stdout);
    }
}
const ours = [];
for (let i = 0; i < files.length; i += 1000) {
    ours.push(...verdicts(files.slice(i, i + 1000)));
}
const ajvOf = (schema) => new Ajv({ strict: true, strictTypes: false }).compile(schema);

// Mutants on which the two differ, printed if asked.
function differences(schema, print) {
    const check = ajvOf(schema);
    let n = 0;
    files.forEach((file, i) => {
        const theirs = check(JSON.parse(readFileSync(file, "utf8")));
        if (theirs !== ours[i].valid) {
            n++;
            if (print && n <= 10) {
                console.log(`${file} (${kindOf[i]}): ajv ${theirs}, validate ${ours[i].valid}`);
                console.log(`  ${theirs ? ours[i].findings : JSON.stringify(check.errors)}`);
            }
        }
    });
    return n;
}

const text = readFileSync(schemaPath, "utf8");
const nDifferent = differences(JSON.parse(text), true);
const nValid = ours.filter((v) => v.valid).length;
console.log(`${nRandom} mutants at random and ${files.length - nRandom} of the sweep, of ${reports.length} reports: ` +
    `${nValid} valid, ${files.length - nValid} not; ajv and validate differ on ${nDifferent}`);
let failed = nDifferent > 0 || nRandom < 2000;
for (const [index, path] of reports.entries()) {
    const part = ours.slice(index * mutantsPerReport, (index + 1) * mutantsPerReport);
    const n = part.filter((v) => v.valid).length;
    console.log(`  ${path.split("/").slice(-2).join("/")}: ${n} valid of ${part.length}`);
    if (!part[0].valid || n === part.length || n < part.length / 20) {
        console.log("  FAILED: as it is it must be valid, and its mutants of both kinds");
        failed = true;
    }
}
// One rule less, and the comparison must see it.
const planted = [
    (s) => delete s.definitions["1.0"].properties.results.properties.basis.enum,
    (s) => delete s.definitions["1.3"].properties.measurement.properties.sample_rate_hz.minimum,
    (s) => delete s.definitions.ecocompute.properties.trials.properties.arms.items.properties.windows.items.required,
];
for (const plant of planted) {
    const schema = JSON.parse(text);
    plant(schema);
    const n = differences(schema, false);
    console.log(`with one rule taken out (${plant.toString().replace("(s) => delete s.", "")}): ${n} differ`);
    failed ||= n === 0;
}
process.exit(failed ? 1 : 0);
