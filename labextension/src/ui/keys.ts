/**
 * Keys in a cell output. On the page around it, single letters and Enter are shortcuts for cells: X cuts one.
 */

/** Keep a key from the page, except Escape and combinations with Ctrl, Cmd or Alt. */
export function keepPlainKey(
  event: Pick<KeyboardEvent, 'ctrlKey' | 'metaKey' | 'altKey' | 'key' | 'stopPropagation'>
): void {
  const isShortcut = event.ctrlKey || event.metaKey || event.altKey || event.key === 'Escape';
  if (!isShortcut || event.key === 'Enter') {
    event.stopPropagation();
  }
}
