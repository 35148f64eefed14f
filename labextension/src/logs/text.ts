/**
 * Preparation of log lines for a terminal.
 *
 * Colors and cursor movements within the line are kept. All other control sequences (titles, links, clipboard access,
 * queries, alternate screens) are removed.
 */

import { record, string } from '../api/wire.js';
import { size } from '../ui/format.js';

// Control sequences (CSI), strings with their ends (OSC, DCS, PM, APC, SOS), and the short ones.
const SEQUENCES = /\x1b(?:\[([0-?]*)([ -/]*)([@-~])?|[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]+[0-~]?|[0-Z\\`-~])?/g;
const CONTROL = /[\x00-\x07\x0a-\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
// Colors; erase in line; cursor right, left, and to a column.
const ALLOWED: Readonly<Record<string, RegExp>> = {
  m: /^[0-9;:]{0,60}$/,
  K: /^[0-2]?$/,
  C: /^[0-9]{0,4}$/,
  D: /^[0-9]{0,4}$/,
  G: /^[0-9]{0,4}$/
};
const RESET = '\x1b[0m';
const DIM = '\x1b[2m';
const REPORT = '[pai] {';
const MAX_STATES = 50;

/** A line of a window. `bytes` is its full length if `text` is truncated, else 0. */
export interface ILogLine {
  readonly text: string;
  readonly bytes: number;
  readonly instance: string;
}

/** Return the text written to a terminal with a number of columns, without a line end. */
export function terminalText(line: ILogLine, columns: number): string {
  const before = line.instance ? `${DIM}${sanitize(line.instance)} ${RESET}` : '';
  const after = line.bytes ? `${RESET} ${DIM}… [${size(line.bytes)}]` : '';
  const [text, report] = splitReport(line.text);
  const shown = report === null ? '' : DIM + sanitize(report);
  return before + progressText(sanitize(text), columns - line.instance.length - 1) + shown + after + RESET;
}

/**
 * Split a record of `report` from the output before it on the same line, if there is one. Return the record in words:
 * `loss = 0.12`.
 */
function splitReport(text: string): [string, string | null] {
  const at = text.endsWith('}') ? text.indexOf(REPORT) : -1;
  if (at < 0) {
    return [text, null];
  }
  try {
    // Python writes numbers that JSON does not have.
    const json = text.slice(at + REPORT.length - 1).replace(/: (NaN|-?Infinity)(?=[,}])/g, ': "$1"');
    const fields = record(JSON.parse(json) as unknown);
    return [text.slice(0, at), words(fields)];
  } catch {
    return [text, null];
  }
}

function words(fields: Readonly<Record<string, unknown>>): string {
  const { metric, output_parameter: parameter, value, ...others } = fields;
  const name = metric ?? parameter;
  const own = name === undefined ? {} : { [string(name)]: value };
  return Object.entries({ ...own, ...others })
    .map(([key, one]) => `${key} = ${typeof one === 'string' ? one : JSON.stringify(one)}`)
    .join(', ');
}

/** Return a line as plain text, without colors and overwritten parts. */
export function plainText(line: ILogLine): string {
  const [output, report] = splitReport(line.text);
  const text = lastState(sanitize(output))
    .replace(SEQUENCES, '')
    .replace(/[\r\b]/g, '');
  return (
    (line.instance && `${line.instance} `) +
    text +
    sanitize(report ?? '') +
    (line.bytes ? ` … [${size(line.bytes)}]` : '')
  );
}

/** Remove all control sequences except colors and movements within a line. */
function sanitize(text: string): string {
  const result = text.replace(SEQUENCES, (sequence: string, parameters?: string, between?: string, final?: string) =>
    final !== undefined && !between && ALLOWED[final]?.test(parameters ?? '') ? sequence : ''
  );
  return result.replace(CONTROL, '\ufffd');
}

/**
 * Keep the carriage returns of a progress bar while all states fit into one row. In a wrapped line, a carriage return
 * goes back to its last row only, so just the last state is kept.
 */
function progressText(text: string, columns: number): string {
  const states = text.split('\r').filter(state => state !== '');
  if (states.length < 2) {
    return states[0] ?? '';
  }
  const recent = states.slice(-MAX_STATES);
  return recent.every(state => maxColumns(state) <= columns) ? recent.join('\r') : lastState(text);
}

function lastState(text: string): string {
  const states = text.split('\r').filter(state => state !== '');
  return states.at(-1) ?? '';
}

/** Return an upper bound of the columns of a text. */
function maxColumns(text: string): number {
  let columns = 0;
  for (const character of text.replace(SEQUENCES, '')) {
    columns += (character.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2;
  }
  return columns;
}

/** Parse a line number, counted from 1, or a time during the run of the job. */
export function parseDestination(input: string, startedAt: number | null): { line: number } | { at: string } | null {
  const text = input.trim();
  if (/^[0-9][0-9,. ]*$/.test(text)) {
    return { line: Math.max(Number(text.replace(/[,. ]/g, '')) - 1, 0) };
  }
  const clock = /^([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?$/.exec(text);
  const moment = new Date(clock ? (startedAt ?? Date.now()) : text);
  if (clock) {
    moment.setHours(Number(clock[1]), Number(clock[2]), Number(clock[3] ?? 0), 0);
    // Allow for times without seconds; earlier times are after midnight.
    if (startedAt !== null && moment.getTime() < startedAt - 60_000) {
      moment.setDate(moment.getDate() + 1);
    }
  }
  return Number.isNaN(moment.getTime()) ? null : { at: String(moment.getTime() / 1000) };
}
