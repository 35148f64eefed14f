/**
 * The last lines of a job's log, updated live.
 */

import * as React from 'react';

import type { ITabProps } from '../ui/context.js';

const LINES = 10;
// Bytes. Of larger pieces only the end is needed.
const MAX_PIECE = 1 << 16;

/** Renders nothing until the job has written output. */
export function LogTail({ engine, model, trans, isVisible }: ITabProps): React.JSX.Element | null {
  const [text, setText] = React.useState('');
  const box = React.useRef<HTMLPreElement>(null);
  const isAtEnd = React.useRef(true);
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    const controller = new AbortController();
    let tail = new LogTailBuffer(LINES);
    let end = 0;
    // More than displayed, since lines of `report` are hidden.
    const topic = { topic: 'log', job: model.jobId, tail: 10 * LINES, latest: MAX_PIECE } as const;
    engine.subscribe(
      topic,
      message => {
        if (message.type === 'log') {
          if (message.offset > end) {
            tail = new LogTailBuffer(LINES); // A part of the log was skipped.
          }
          end = message.end;
          tail.push(message.text);
          setText(tail.toString());
        }
      },
      controller.signal
    );
    return () => controller.abort();
  }, [engine, model, isVisible]);
  React.useLayoutEffect(() => {
    if (isAtEnd.current) {
      box.current?.scrollTo(0, box.current.scrollHeight);
    }
  }, [text]);
  const onScroll = ({ currentTarget: { scrollTop, clientHeight, scrollHeight } }: React.UIEvent) => {
    isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 4;
  };
  return text ? (
    <pre
      className="jp-pai-Job-log"
      role="log"
      aria-label={trans.__('Last log lines')}
      tabIndex={0}
      ref={box}
      onScroll={onScroll}
    >
      {text}
    </pre>
  ) : null;
}

// Terminal escape sequences: CSI, OSC, and two-character ones.
const SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
// Lines of `report` are hidden, since metrics are shown elsewhere. They may follow an incomplete line, such as a
// progress bar.
const REPORT = '[pai] {';
const MAX_LINE_LENGTH = 2_000;
// Including control sequences, which are removed.
const MAX_RAW_LENGTH = 10 * MAX_LINE_LENGTH;

/** Keeps the last lines of a text that arrives in pieces. */
export class LogTailBuffer {
  constructor(private readonly lines: number) {}

  /** Append a piece of log. */
  push(text: string): void {
    const rows = (this.rest + text).split('\n');
    const rest = rows.pop() ?? '';
    const complete: string[] = [];
    let pending = '';
    for (const row of rows) {
      const beforeText = textBeforeReport(row);
      if (beforeText === null) {
        complete.push(visiblePart(pending + row));
      }
      pending = beforeText === null ? '' : visiblePart(pending + beforeText);
    }
    this.rest = visiblePart(pending + rest);
    this.rows = [...this.rows, ...complete].slice(-this.lines);
  }

  /** Return the lines as a terminal would show them. */
  toString(): string {
    const rest = textBeforeReport(this.rest) ?? this.rest;
    const rows = rest ? [...this.rows, rest] : this.rows;
    return rows.slice(-this.lines).map(printable).join('\n');
  }

  private rows: string[] = [];
  private rest = '';
}

/**
 * Return the text before a report at the end of a row; null if there is none. The report's line end completes that
 * text.
 */
function textBeforeReport(row: string): string | null {
  const end = row.endsWith('\r') ? row.length - 1 : row.length;
  const start = row[end - 1] === '}' ? row.lastIndexOf(REPORT) : -1;
  return start < 0 ? null : row.slice(0, start);
}

/**
 * Return the part of a row that may still be visible: the text after the last carriage return, unless nothing follows
 * it.
 */
function visiblePart(row: string): string {
  let end = row.length;
  while (row[end - 1] === '\r') {
    end--; // A loop, since `\r+$` takes quadratic time.
  }
  const start = row.lastIndexOf('\r', end - 1) + 1;
  return row.slice(start, Math.min(end, start + MAX_RAW_LENGTH)) + (end < row.length ? '\r' : '');
}

function printable(row: string): string {
  // Text after a carriage return overwrites the line, as in a progress bar.
  return row.replace(SEQUENCES, '').replace(/\r$/, '').slice(0, MAX_LINE_LENGTH).replace(CONTROL, '\ufffd');
}
