/**
 * The last lines of a log as plain text. (Colours and cursor movements are for the rich view.)
 */

// Escape sequences of terminals: CSI, OSC, and the two-character ones.
const SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
// What `report` writes: its numbers have places of their own. It may come while a bar's line is not at its end.
const REPORT = '[pai] {';
const LONGEST_LINE = 2_000;
// With what is not shown of it: colours.
const LONGEST_RAW = 10 * LONGEST_LINE;

/** Keeps the last lines of a text that comes in pieces. */
export class Tail {
  constructor(private readonly lines: number) {}

  /** Add a piece of log. */
  push(text: string): void {
    const rows = (this.rest + text).split('\n');
    const rest = rows.pop() ?? '';
    const whole: string[] = [];
    let begun = '';
    for (const row of rows) {
      const before = beforeReport(row);
      if (before === null) {
        whole.push(shortened(begun + row));
      }
      begun = before === null ? '' : shortened(begun + before);
    }
    this.rest = shortened(begun + rest);
    this.rows = [...this.rows, ...whole].slice(-this.lines);
  }

  /** The lines as they would stand in a terminal. */
  toString(): string {
    const rest = beforeReport(this.rest) ?? this.rest;
    const rows = rest ? [...this.rows, rest] : this.rows;
    return rows.slice(-this.lines).map(printable).join('\n');
  }

  private rows: string[] = [];
  private rest = '';
}

/** What stands before a report at the end of a row, which the report has ended in its stead; null if there is none. */
function beforeReport(row: string): string | null {
  const end = row.endsWith('\r') ? row.length - 1 : row.length;
  const start = row[end - 1] === '}' ? row.lastIndexOf(REPORT) : -1;
  return start < 0 ? null : row.slice(0, start);
}

/** What of a row may still be seen: what comes after the last carriage return that something follows. */
function shortened(row: string): string {
  let end = row.length;
  while (row[end - 1] === '\r') {
    end--; // By no pattern: `\r+$` takes the square of their number to look at many.
  }
  const start = row.lastIndexOf('\r', end - 1) + 1;
  return row.slice(start, Math.min(end, start + LONGEST_RAW)) + (end < row.length ? '\r' : '');
}

function printable(row: string): string {
  // A carriage return went back to the line's beginning: the last text stands, as of a progress bar.
  return row.replace(SEQUENCES, '').replace(/\r$/, '').slice(0, LONGEST_LINE).replace(CONTROL, '\ufffd');
}
