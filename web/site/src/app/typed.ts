// SPDX-License-Identifier: Apache-2.0
//
// What a reader typed, or a link holds, before it goes to the core or into a command line.

/** The first member that is no plain decimal number, as a line like the core's; null: all are. */
export function wrongNumber(members: Record<string, string>): string | null {
  for (const [name, text] of Object.entries(members)) {
    if (!/^[+-]?\d+(\.\d+)?$/.test(text.trim()) || !Number.isFinite(Number(text))) {
      return `${name}: '${text.slice(0, 40)}' is no number`;
    }
  }
  return null;
}

/** A word of a command line; what a shell would read otherwise is quoted. */
export function shellWord(text: string): string {
  return /^[\w.+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
