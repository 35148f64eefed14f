/**
 * A window of lines of a log of any length. The terminal shows this window; the rest stays on the server.
 */

import { list, number, parseMap, record, string, strings } from '../api/wire.js';
import type { ILogLine } from './text.js';

/** A page of lines; see `LogPage` in the OpenAPI document. */
export interface ILogPage {
  /** The number of the first line, from 0. */
  readonly line: number;
  /** Number of lines of the log. */
  readonly total: number;
  readonly lines: readonly ILogLine[];
  /** The byte offset where the stream of each instance continues. */
  readonly ends: ReadonlyMap<string, number>;
  /** True if the last line has no line end yet. */
  readonly isOpen: boolean;
}

// Longer lines are truncated, as on the server.
const MAX_LINE_LENGTH = 4096;
const MAX_LINES = 3000;
const MAX_CHARACTERS = 1 << 20;

/** Parse a page. */
export function parsePage(value: unknown): ILogPage {
  const page = record(value);
  const line = number(page['line']) ?? 0;
  const long = record(page['long']);
  const instances = strings(page['instances']);
  const lines = list(page['texts']).map((text, k) => ({
    text: string(text),
    bytes: number(long[String(line + k)]) ?? 0,
    instance: instances[k] ?? ''
  }));
  const ends = parseMap(page['ends'], end => number(end) ?? 0);
  return { line, total: number(page['lines']) ?? 0, lines, ends, isOpen: page['open'] === true };
}

export class LogWindow {
  lines: ILogLine[] = [];
  /** The number of the first loaded line. */
  first = 0;
  /** Number of lines of the log, as far as known. */
  total = 0;
  isOpen = false;
  /** The byte offset where the stream of each instance continues after this window. */
  ends = new Map<string, number>();
  /** Increased when lines at the start change, so that everything must be redrawn. */
  generation = 0;
  /** Increased by every change. */
  version = 0;

  /** The number after the last loaded line. */
  get end(): number {
    return this.first + this.lines.length;
  }

  get isAtEnd(): boolean {
    return this.end >= this.total;
  }

  /** Replace the lines by those of consecutive pages. */
  show(...pages: readonly ILogPage[]): void {
    const last = pages.at(-1);
    if (!last) {
      return;
    }
    const nonEmpty = pages.filter(page => page.lines.length > 0);
    this.lines = nonEmpty.flatMap(page => page.lines);
    this.first = (nonEmpty[0] ?? last).line;
    this.partialLines.clear();
    this.generation++;
    this.finishUpdate(last);
  }

  /** Add lines at the start. Lines at the end may be dropped. */
  prepend(page: ILogPage): void {
    if (page.line + page.lines.length !== this.first || page.lines.length === 0) {
      return;
    }
    this.lines = [...page.lines, ...this.lines];
    this.first = page.line;
    const keptCount = this.fittingCount(this.lines);
    if (keptCount < this.lines.length) {
      this.lines.length = keptCount;
      this.isOpen = false;
    }
    this.total = Math.max(this.total, page.total);
    this.generation++;
    this.version++;
  }

  /** Add lines at the end. Lines at the start may be dropped. An open last line is replaced by its longer version. */
  append(page: ILogPage): void {
    if (page.line !== this.end - (this.isOpen ? 1 : 0)) {
      return;
    }
    if (this.isOpen) {
      this.lines.pop();
    }
    this.lines.push(...page.lines);
    this.trim();
    this.finishUpdate(page);
  }

  /** Add a piece of an instance's stream. `end` is its end offset. The window must be at the end of the log. */
  push(instance: string, text: string, end: number, isMerged: boolean): void {
    this.ends.set(instance, end);
    if (isMerged) {
      const rows = ((this.partialLines.get(instance) ?? '') + text).split('\n');
      this.partialLines.set(instance, truncateLine(rows.pop() ?? '').text);
      // `push(...rows)` could exceed the maximum number of arguments.
      rows.forEach(row => this.lines.push({ ...truncateLine(row), instance }));
    } else {
      this.pushOpen(text);
    }
    this.trim();
    this.total = Math.max(this.total, this.end);
    this.version++;
  }

  /** The stream of an instance ended: complete its last line. */
  finish(instance: string): void {
    const partialLine = this.partialLines.get(instance);
    if (partialLine) {
      this.partialLines.delete(instance);
      this.push(instance, `${partialLine}\n`, this.ends.get(instance) ?? 0, true);
    }
  }

  /** Update the number of lines. */
  count(total: number): void {
    if (total > this.total) {
      this.total = total;
      this.version++;
    }
  }

  private pushOpen(text: string): void {
    const rows = text.split('\n');
    const openLine = this.isOpen ? this.lines.pop() : undefined;
    const extendedLine = rows.length === 1 && openLine ? appendText(openLine, rows[0] ?? '') : null;
    if (extendedLine) {
      this.lines.push(extendedLine);
      return;
    }
    rows.forEach((row, k) => {
      if (k < rows.length - 1 || row) {
        this.lines.push(k === 0 && openLine ? appendText(openLine, row) : truncateLine(row));
      }
    });
    this.isOpen = rows.at(-1) !== '';
  }

  private finishUpdate(page: ILogPage): void {
    this.total = Math.max(page.total, this.end);
    this.isOpen = page.isOpen;
    this.ends = new Map(page.ends);
    this.version++;
  }

  /** Drop lines at the start if there are too many. Drops half of them, since each time everything is redrawn. */
  private trim(): void {
    const { length } = this.lines;
    if (length <= MAX_LINES && this.fittingCount(this.lines) === length) {
      return;
    }
    const keptCount = Math.min(this.fittingCount([...this.lines].reverse()), MAX_LINES / 2);
    this.first += length - keptCount;
    this.lines = this.lines.slice(length - keptCount);
    this.generation++;
  }

  /** Return how many of the first lines fit into a window. */
  private fittingCount(lines: readonly ILogLine[]): number {
    let available = MAX_CHARACTERS;
    const candidates = lines.slice(0, MAX_LINES);
    const overflow = candidates.findIndex(line => (available -= line.text.length) < 0);
    return overflow < 0 ? candidates.length : Math.max(overflow, 1);
  }

  /** Incomplete last lines by instance, while several are merged. */
  private readonly partialLines = new Map<string, string>();
}

/** Return a line with text appended. */
function appendText(line: ILogLine, more: string): ILogLine {
  if (line.bytes && !more.includes('\r') && !line.text.endsWith('\r')) {
    return { ...line, bytes: line.bytes + bytes(more) };
  }
  return truncateLine(line.text + more, line.bytes && line.bytes + bytes(more));
}

/** Truncate a long line: of a progress bar keep its last state, of other lines the start. */
function truncateLine(row: string, length = 0): ILogLine {
  const text = withoutReturns(row);
  // The next text overwrites this one.
  const back = text.length < row.length ? '\r' : '';
  const lineOf = (content: string, size = 0) => ({ text: content + back, bytes: size, instance: '' });
  if (text.length <= MAX_LINE_LENGTH) {
    return lineOf(text);
  }
  const redraw = text.indexOf('\r', text.length - MAX_LINE_LENGTH);
  if (redraw >= 0) {
    return lineOf(text.slice(redraw + 1));
  }
  const start = text.lastIndexOf('\r') + 1;
  return lineOf(text.slice(start, start + MAX_LINE_LENGTH), length || bytes(text));
}

function withoutReturns(row: string): string {
  let end = row.length;
  while (row[end - 1] === '\r') {
    end--;
  }
  return row.slice(0, end);
}

function bytes(text: string): number {
  return new TextEncoder().encode(text).length;
}
