/**
 * A window of lines in a log of any length: what a terminal shows is taken from here, the rest stays on the server.
 */

import { list, mapped, number, record, string, strings } from '../api/wire.js';
import type { ILogLine } from './text.js';

/** A page of lines as the server gives it; see `LogPage` in its document. */
export interface ILogPage {
  /** The number of the first line, from 0 on. */
  readonly line: number;
  /** How many lines there are in all. */
  readonly total: number;
  readonly lines: readonly ILogLine[];
  /** For each instance, the byte from which its stream goes on. */
  readonly ends: ReadonlyMap<string, number>;
  /** The last line has no end yet. */
  readonly isOpen: boolean;
}

// As on the server: of one line, not more than this is kept.
const LONGEST = 4096;
const MOST_LINES = 3000;
const MOST_CHARACTERS = 1 << 20;

/** The page in a JSON value. */
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
  const ends = mapped(page['ends'], end => number(end) ?? 0);
  return { line, total: number(page['lines']) ?? 0, lines, ends, isOpen: page['open'] === true };
}

export class LogWindow {
  lines: ILogLine[] = [];
  /** The number of the first line that is held. */
  first = 0;
  /** How many lines the log has, as far as is known. */
  total = 0;
  isOpen = false;
  /** Where each instance's stream goes on after the window's end. */
  ends = new Map<string, number>();
  /** Grows when lines went or came at the beginning, so that all must be drawn anew. */
  generation = 0;
  /** Grows with every change. */
  version = 0;

  /** The number of the line after the last one that is held. */
  get end(): number {
    return this.first + this.lines.length;
  }

  get isAtEnd(): boolean {
    return this.end >= this.total;
  }

  /** Hold other lines instead. Pages must follow each other. */
  show(...pages: readonly ILogPage[]): void {
    const last = pages.at(-1);
    if (!last) {
      return;
    }
    const held = pages.filter(page => page.lines.length > 0);
    this.lines = held.flatMap(page => page.lines);
    this.first = (held[0] ?? last).line;
    this.rest.clear();
    this.generation++;
    this.closeWith(last);
  }

  /** Hold lines before the first one as well; others at the end may go. */
  prepend(page: ILogPage): void {
    if (page.line + page.lines.length !== this.first || page.lines.length === 0) {
      return;
    }
    this.lines = [...page.lines, ...this.lines];
    this.first = page.line;
    const kept = this.fitting(this.lines);
    if (kept < this.lines.length) {
      this.lines.length = kept;
      this.isOpen = false;
    }
    this.total = Math.max(this.total, page.total);
    this.generation++;
    this.version++;
  }

  /** Hold lines after the last one as well; others at the beginning may go. A line that was open comes again, longer. */
  append(page: ILogPage): void {
    if (page.line !== this.end - (this.isOpen ? 1 : 0)) {
      return;
    }
    if (this.isOpen) {
      this.lines.pop();
    }
    this.lines.push(...page.lines);
    this.trim();
    this.closeWith(page);
  }

  /** Take in what the stream brings of an instance; `end` is the byte after it. The window must be at the log's end. */
  push(instance: string, text: string, end: number, isMerged: boolean): void {
    this.ends.set(instance, end);
    if (isMerged) {
      const rows = ((this.rest.get(instance) ?? '') + text).split('\n');
      this.rest.set(instance, shortened(rows.pop() ?? '').text);
      // Not by spreading: a piece may have more lines than a call may have arguments.
      rows.forEach(row => this.lines.push({ ...shortened(row), instance }));
    } else {
      this.pushOpen(text);
    }
    this.trim();
    this.total = Math.max(this.total, this.end);
    this.version++;
  }

  /** The stream of an instance has ended: a last line without an end counts as one. */
  finish(instance: string): void {
    const rest = this.rest.get(instance);
    if (rest) {
      this.rest.delete(instance);
      this.push(instance, `${rest}\n`, this.ends.get(instance) ?? 0, true);
    }
  }

  /** There are more lines by now. */
  count(total: number): void {
    if (total > this.total) {
      this.total = total;
      this.version++;
    }
  }

  private pushOpen(text: string): void {
    const rows = text.split('\n');
    const before = this.isOpen ? this.lines.pop() : undefined;
    const opened = rows.length === 1 && before ? extended(before, rows[0] ?? '') : null;
    if (opened) {
      this.lines.push(opened);
      return;
    }
    rows.forEach((row, k) => {
      if (k < rows.length - 1 || row) {
        this.lines.push(k === 0 && before ? extended(before, row) : shortened(row));
      }
    });
    this.isOpen = rows.at(-1) !== '';
  }

  private closeWith(page: ILogPage): void {
    this.total = Math.max(page.total, this.end);
    this.isOpen = page.isOpen;
    this.ends = new Map(page.ends);
    this.version++;
  }

  /** Let go of the first lines where there are too many. Not at each line: then all is drawn anew. */
  private trim(): void {
    const { length } = this.lines;
    if (length <= MOST_LINES && this.fitting(this.lines) === length) {
      return;
    }
    const kept = Math.min(this.fitting([...this.lines].reverse()), MOST_LINES / 2);
    this.first += length - kept;
    this.lines = this.lines.slice(length - kept);
    this.generation++;
  }

  /** How many of the first of these lines a window can hold. */
  private fitting(lines: readonly ILogLine[]): number {
    let room = MOST_CHARACTERS;
    const most = lines.slice(0, MOST_LINES);
    const tooMuch = most.findIndex(line => (room -= line.text.length) < 0);
    return tooMuch < 0 ? most.length : Math.max(tooMuch, 1);
  }

  /** Of several instances, the beginnings of lines that have no end yet. */
  private readonly rest = new Map<string, string>();
}

/** A line with more text at its end. */
function extended(line: ILogLine, more: string): ILogLine {
  if (line.bytes && !more.includes('\r') && !line.text.endsWith('\r')) {
    return { ...line, bytes: line.bytes + bytes(more) };
  }
  return shortened(line.text + more, line.bytes && line.bytes + bytes(more));
}

/** What is kept of a long line: of a progress bar how it was drawn last, of another one its beginning. */
function shortened(row: string, length = 0): ILogLine {
  const text = withoutReturns(row);
  // What comes next will be drawn over it.
  const back = text.length < row.length ? '\r' : '';
  const keep = (kept: string, size = 0) => ({ text: kept + back, bytes: size, instance: '' });
  if (text.length <= LONGEST) {
    return keep(text);
  }
  const redraw = text.indexOf('\r', text.length - LONGEST);
  if (redraw >= 0) {
    return keep(text.slice(redraw + 1));
  }
  const start = text.lastIndexOf('\r') + 1;
  return keep(text.slice(start, start + LONGEST), length || bytes(text));
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
