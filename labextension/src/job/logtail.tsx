/**
 * The last lines of a job's log, updated live.
 */

import * as React from 'react';

import type { ITabProps } from '../ui/context.js';
import { LogTailBuffer } from './tail.js';

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
