// SPDX-License-Identifier: Apache-2.0
//
// From what a reader drops or picks to names and texts. Nothing is read before its size is known, and nothing is sent.

/** As the core has it: a request of 64 MiB. */
export const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** Of one drop. */
export const FILES_MAX = 2000;
const FOLDER_DEPTH_MAX = 8;

export interface Given {
  /** The name, with its folders where a folder was dropped. */
  name: string;
  file: File;
}

export type FileProblem = { kind: "size"; bytes: number } | { kind: "unreadable" } | { kind: "encoding" };

export type FileText = { ok: true; text: string; sha256: string | null } | { ok: false; problem: FileProblem };

/** The hash that a report has of its traces; null where the browser gives none (a page over plain HTTP). */
async function sha256(bytes: ArrayBuffer): Promise<string | null> {
  if (globalThis.crypto?.subtle === undefined) {
    return null;
  }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export async function readText({ file }: Given): Promise<FileText> {
  if (file.size > FILE_BYTES_MAX) {
    return { ok: false, problem: { kind: "size", bytes: file.size } };
  }
  let bytes: ArrayBuffer;
  try {
    bytes = await file.arrayBuffer();
  } catch {
    return { ok: false, problem: { kind: "unreadable" } };
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return { ok: true, text, sha256: await sha256(bytes) };
  } catch {
    return { ok: false, problem: { kind: "encoding" } };
  }
}

const listed = (reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> =>
  new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));

const opened = (entry: FileSystemFileEntry): Promise<File | null> => new Promise((resolve) => entry.file(resolve, () => resolve(null)));

/** Reports and traces of a folder; other files of it are passed over. */
async function walk(entry: FileSystemEntry, path: string, depth: number, found: Given[]): Promise<void> {
  if (found.length > FILES_MAX) {
    return;
  }
  if (entry.isFile) {
    const file = /\.(json|csv)$/i.test(entry.name) || depth === 0 ? await opened(entry as FileSystemFileEntry) : null;
    if (file !== null) {
      found.push({ name: path + entry.name, file });
    }
  } else if (entry.isDirectory && depth < FOLDER_DEPTH_MAX && entry.name !== "journal") {
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (let batch = await listed(reader); batch.length > 0; batch = await listed(reader)) {
      for (const one of batch) {
        await walk(one, `${path}${entry.name}/`, depth + 1, found);
      }
    }
  }
}

/** Must be called before the drop event ends: its list is emptied then. */
export async function dropped(data: DataTransfer): Promise<Given[]> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  if (entries.every((entry) => entry === null)) {
    return picked(data.files);
  }
  const found: Given[] = [];
  for (const entry of entries) {
    if (entry !== null) {
      await walk(entry, "", 0, found);
    }
  }
  return found;
}

export function picked(files: FileList | null): Given[] {
  return [...(files ?? [])].map((file) => ({ name: file.webkitRelativePath || file.name, file }));
}
