/**
 * The width of texts in columns: a Latin letter takes one, a Chinese one two. An estimate, so that no text is measured.
 */

/** Return the number of columns of a text. */
export function columns(text: string): number {
  let sum = 0;
  for (const letter of text) {
    sum += (letter.codePointAt(0) ?? 0) > 0x2e7f ? 2 : 1;
  }
  return sum;
}

/** Return a text of at most `most` columns; its end is cut. */
export function cut(text: string, most: number): string {
  if (columns(text) <= most) {
    return text;
  }
  let kept = '';
  for (const letter of text) {
    if (columns(kept) + columns(letter) > most - 1) {
      break;
    }
    kept += letter;
  }
  return `${kept}…`;
}
