// SPDX-License-Identifier: Apache-2.0
//
// From what a reader drops or picks to names and texts. Nothing is read before its size is known, and nothing is sent.

/** As the core has it: a request of 64 MiB. */
export const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** Of one drop. */
export const FILES_MAX = 2000;
const FOLDER_DEPTH_MAX = 8;
const JOURNAL = "journal"; // of an unfinished run: many small JSON files that are no reports

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

/** What came in: files to be read, and by name what was left out or could not be opened. */
export interface Delivery {
  given: Given[];
  skipped: string[];
  failed: string[];
}

/** A file or folder; browsers have two ways to it. */
interface Place {
  name: string;
  open?: () => Promise<File>;
  list?: () => Promise<Place[]>;
}

type Folder = FileSystemDirectoryHandle & { values(): AsyncIterable<FileSystemHandle> };

/** Chromium's: the only one that it lets a page from disk use. */
function ofHandle(handle: FileSystemHandle): Place {
  const { name } = handle;
  if (handle.kind === "file") {
    return { name, open: () => (handle as FileSystemFileHandle).getFile() };
  }
  return {
    name,
    list: async () => {
      const all: Place[] = [];
      for await (const one of (handle as Folder).values()) {
        all.push(ofHandle(one));
      }
      return all;
    },
  };
}

/** Everybody's. A reader gives its entries in parts, an empty one at the end. */
function ofEntry(entry: FileSystemEntry): Place {
  const { name } = entry;
  if (entry.isFile) {
    return { name, open: () => new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)) };
  }
  return {
    name,
    list: async () => {
      const reader = (entry as FileSystemDirectoryEntry).createReader();
      const part = (): Promise<FileSystemEntry[]> => new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      const all: FileSystemEntry[] = [];
      for (let some = await part(); some.length > 0; some = await part()) {
        all.push(...some);
      }
      return all.map(ofEntry);
    },
  };
}

const isRead = (name: string): boolean => /\.(json|csv)$/i.test(name);

/** Reports and traces of a folder; what else is in it, and a run's journal, is named and left out. */
async function walk(place: Place, path: string, depth: number, found: Delivery): Promise<void> {
  const name = path + place.name;
  if (found.given.length > FILES_MAX) {
    return;
  }
  try {
    if (place.list === undefined) {
      if (isRead(name) && place.open !== undefined) {
        found.given.push({ name, file: await place.open() });
      } else {
        found.skipped.push(name);
      }
    } else if (depth >= FOLDER_DEPTH_MAX || place.name === JOURNAL) {
      found.skipped.push(`${name}/`);
    } else {
      const inside = await place.list();
      for (const one of inside.sort((a, b) => (a.name < b.name ? -1 : 1))) {
        await walk(one, `${name}/`, depth + 1, found);
      }
    }
  } catch {
    found.failed.push(name);
  }
}

type Item = DataTransferItem & { getAsFileSystemHandle?: () => Promise<FileSystemHandle | null> };

/** Must be called before the drop event ends: its list is emptied then. Single files are all read. */
export async function dropped(data: DataTransfer): Promise<Delivery> {
  const items = [...data.items].map((item: Item) => {
    const entry = item.webkitGetAsEntry?.() ?? null;
    return entry?.isDirectory === true ? { entry, handle: item.getAsFileSystemHandle?.() } : { file: item.getAsFile() };
  });
  const found: Delivery = { given: [], skipped: [], failed: [] };
  for (const one of items) {
    if (one.entry !== undefined) {
      const handle = await one.handle?.catch(() => null);
      await walk(handle ? ofHandle(handle) : ofEntry(one.entry), "", 0, found);
    } else if (one.file !== null) {
      found.given.push({ name: one.file.name, file: one.file });
    }
  }
  return found;
}

/** Single files are all read; of a folder what `walk` reads of one. */
export function picked(files: FileList | null): Delivery {
  const all = [...(files ?? [])].map((file) => ({ name: file.webkitRelativePath || file.name, file, inFolder: file.webkitRelativePath !== "" }));
  const read = ({ name, inFolder }: (typeof all)[number]): boolean => !inFolder || (isRead(name) && !name.split("/").slice(0, -1).includes(JOURNAL));
  return { given: all.filter(read).map(({ name, file }) => ({ name, file })), skipped: all.filter((one) => !read(one)).map((one) => one.name), failed: [] };
}
