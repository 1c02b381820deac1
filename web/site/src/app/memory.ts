// SPDX-License-Identifier: Apache-2.0
//
// Small choices of a reader (language, theme) that outlive the page, where the browser keeps anything: a page that was
// opened from disk, or a private window, may not.

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(`ecocompute.${key}`);
  } catch {
    return null;
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(`ecocompute.${key}`, value);
  } catch {
    // It holds for this visit only.
  }
}
