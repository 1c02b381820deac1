// SPDX-License-Identifier: Apache-2.0
//
// Where files come in, and what was wrong with them, each beside its name.

import example from "ecocompute-example";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { setParams } from "../../app/route.js";
import { dropped, picked, type FileProblem } from "./files.js";
import { lineWords } from "./lines.js";
import { addFiles, clear, items, problems, reading, traces, type Problem } from "./store.js";
import type { TraceError } from "./trace.js";
import { words } from "./words.js";

const MIB = 1024 * 1024;
const SHOWN_MAX = 50;
const NAMED_MAX = 20;

function fileWords(problem: FileProblem): string {
  const t = words();
  switch (problem.kind) {
    case "size":
      return t.tooLarge(String(Math.ceil(problem.bytes / MIB)));
    case "unreadable":
      return t.unreadable;
    case "encoding":
      return t.encoding;
  }
}

function traceWords({ reason, line }: TraceError): string {
  const says = words().trace[reason];
  return typeof says === "string" ? says : says(line);
}

function problemText(one: Problem): string {
  const t = words();
  switch (one.kind) {
    case "file":
      return fileWords(one.problem);
    case "trace":
      return traceWords(one.error);
    case "report":
      return lineWords(one.line);
    case "link":
      return t.skipped + t.colon + lineWords(one.line);
    case "too_many":
      return t.tooManyFiles(one.most);
    case "skipped":
      return t.skippedFiles(one.files.length, t.files(one.files.slice(0, NAMED_MAX)), one.files.length > NAMED_MAX);
  }
}

function Problems(): JSX.Element | null {
  const t = words();
  const all = problems.value;
  return (
    <div role="alert" class="file-problems">
      {all.length > 0 && (
        <>
          <p class="visually-hidden">{t.problems}</p>
          <ul>
            {all.slice(0, SHOWN_MAX).map((one) => (
              <li key={one.id} class={one.kind === "skipped" ? "quiet file-name" : "problem"}>
                {(one.kind === "link" || one.name !== "") && <b class="file-name">{one.kind === "link" ? t.link(one.place) : one.name}</b>} {problemText(one)}
              </li>
            ))}
            {all.length > SHOWN_MAX && <li>… {all.length}</li>}
          </ul>
        </>
      )}
    </div>
  );
}

/** A file that misses the zone must not make the browser leave the page, so the whole view takes it. */
function useWindowDrop(over: (is: boolean) => void): void {
  useEffect(() => {
    const files = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") === true;
    const drag = (event: DragEvent): void => {
      if (files(event)) {
        event.preventDefault();
        over(true);
      }
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) {
        over(false);
      }
    };
    const drop = (event: DragEvent): void => {
      over(false);
      if (event.dataTransfer !== null && files(event)) {
        event.preventDefault();
        void dropped(event.dataTransfer).then(addFiles);
      }
    };
    addEventListener("dragover", drag);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", drag);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, []);
}

function showExample(): void {
  void addFiles({ given: example.files.map(({ name, text }) => ({ name, file: new File([text], name) })), skipped: [], failed: [] });
}

export function Drop(): JSX.Element {
  const t = words();
  const input = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  useWindowDrop(setOver);
  const filled = items.value.length + traces.value.length + problems.value.length > 0;
  return (
    <div class="stack-y">
      <button type="button" class={over ? "drop over" : "drop"} onClick={() => input.current?.click()}>
        <b>{t.drop}</b>
        <span class="quiet">{t.dropHint}</span>
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        accept=".json,.csv,application/json,text/csv"
        aria-label={t.dropLabel}
        onChange={(event) => {
          void addFiles(picked(event.currentTarget.files));
          event.currentTarget.value = "";
        }}
      />
      <input
        ref={folder}
        type="file"
        {...{ webkitdirectory: true } /* Preact's types do not have it */}
        hidden
        aria-label={t.folder}
        onChange={(event) => {
          void addFiles(picked(event.currentTarget.files));
          event.currentTarget.value = "";
        }}
      />
      <div class="row drop-tools">
        <button type="button" onClick={() => folder.current?.click()}>
          {t.folder}
        </button>
        <button type="button" onClick={showExample}>
          {t.example}
        </button>
        {!filled && <span class="quiet">{t.exampleNote}</span>}
        {filled && (
          <button
            type="button"
            onClick={() => {
              clear();
              setParams({ overlay: null });
            }}
          >
            {t.clear}
          </button>
        )}
        <span class="quiet" role="status">
          {reading.value ? t.reading : filled ? t.shown(items.value.length, traces.value.length) : ""}
        </span>
      </div>
      <Problems />
    </div>
  );
}
