/**
 * The last lines of a job's log, updated live.
 */

import * as React from 'react';

import type { ITabProps } from '../ui/context.js';
import { Tail } from './tail.js';

const LINES = 10;
// Bytes. Of larger pieces only the end is needed.
const LATEST = 1 << 16;

/** Renders nothing until the job has written output. */
export function TailView({ engine, model, trans, isVisible }: ITabProps): React.JSX.Element | null {
  const [text, setText] = React.useState('');
  const box = React.useRef<HTMLPreElement>(null);
  const isAtEnd = React.useRef(true);
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    const life = new AbortController();
    let tail = new Tail(LINES);
    let end = 0;
    // More than displayed, since lines of `report` are hidden.
    const topic = { topic: 'log', job: model.jobId, tail: 10 * LINES, latest: LATEST } as const;
    engine.subscribe(
      topic,
      message => {
        if (message.type === 'log') {
          if (message.offset > end) {
            tail = new Tail(LINES); // A part of the log was skipped.
          }
          end = message.end;
          tail.push(message.text);
          setText(tail.toString());
        }
      },
      life.signal
    );
    return () => life.abort();
  }, [engine, model, isVisible]);
  React.useLayoutEffect(() => {
    if (isAtEnd.current) {
      box.current?.scrollTo(0, box.current.scrollHeight);
    }
  }, [text]);
  const look = ({ currentTarget: { scrollTop, clientHeight, scrollHeight } }: React.UIEvent) => {
    isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 4;
  };
  return text ? (
    <pre
      className="jp-pai-Job-log"
      role="log"
      aria-label={trans.__('Last log lines')}
      tabIndex={0}
      ref={box}
      onScroll={look}
    >
      {text}
    </pre>
  ) : null;
}
