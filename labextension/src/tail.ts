/**
 * The last lines of a log as plain text. (Colours and cursor movements are for the rich view.)
 */

// Escape sequences of terminals: CSI, OSC, and the two-character ones.
const SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
// What `report` writes: its numbers have places of their own.
const REPORTED = /^\[pai\] \{.*\}$/;
const LONGEST_LINE = 2_000;

/** Keeps the last lines of a text that comes in pieces. */
export class Tail {
  constructor(private readonly lines: number) {}

  /** Add a piece of log. */
  push(text: string): void {
    const rows = (this.rest + text).split('\n');
    this.rest = (rows.pop() ?? '').slice(-LONGEST_LINE);
    this.rows = [...this.rows, ...rows.filter(row => !REPORTED.test(row))].slice(-this.lines);
  }

  /** The lines as they would stand in a terminal. */
  toString(): string {
    const rows = this.rest && !REPORTED.test(this.rest) ? [...this.rows, this.rest] : this.rows;
    return rows.slice(-this.lines).map(printable).join('\n');
  }

  private rows: string[] = [];
  private rest = '';
}

function printable(row: string): string {
  const shown = row.replace(SEQUENCES, '').replace(/\r+$/, '');
  // A carriage return goes back to the line's beginning: the last text stands, as of a progress bar.
  return shown.slice(shown.lastIndexOf('\r') + 1, LONGEST_LINE).replace(CONTROL, '\ufffd');
}
