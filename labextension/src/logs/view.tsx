/**
 * The tab Logs of the job view: a terminal with a window of lines, a scrollbar for the whole log, and a toolbar.
 */

import * as React from 'react';

import { hasEnded } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { useChanges } from '../ui/context.js';
import { count } from '../ui/format.js';
import { ABOVE, useSearch } from './search.js';
import { LogSession } from './session.js';
import { destination, plain } from './text.js';
import { Goto, InstanceChoice, LogSearch } from './toolbar.js';

// Browsers limit the height of an element.
const TALLEST = 4_000_000;
const ROW = 16;

export function Logs(props: ITabProps): React.JSX.Element {
  const { engine, host, trans, model } = props;
  useChanges(model);
  const { job } = model;
  const instances = job?.instances ?? [];
  const [choice, choose] = React.useState<string | null>(null);
  const instance = instances.length < 2 ? '' : choice;
  const node = React.useRef<HTMLDivElement>(null);
  const bar = React.useRef<HTMLDivElement>(null);
  const field = React.useRef<HTMLInputElement>(null);
  const session = useSession(props, instance, node, bar);
  const { look, hit, trouble } = useSearch(session);
  const { pager, seen } = session;
  const isRunning = job !== null && !hasEnded(job);

  const goTo = async (words: string) => {
    const place = destination(words, job?.startedAt ?? null);
    const line = place && ('line' in place ? place.line : await pager.lineAt(place.at));
    if (line === null) {
      host.notify(trans.__('Not a line number or time: `%1`.', words), 'warning');
    } else {
      await session.go(line, ABOVE, true);
    }
  };
  const firstError = async () => {
    const found = await look({ text: '', regex: false, case: false, errors: true }, 0);
    if (found?.line === null) {
      host.notify(trans.__('No errors found in the log.'), 'info');
    }
  };
  const copy = async () => {
    try {
      const selected = session.terminal?.terminal.getSelection();
      await navigator.clipboard.writeText(selected || pager.window.lines.map(plain).join('\n'));
      host.notify(trans.__('Copied.'), 'info');
    } catch {
      host.notify(trans.__('The browser blocked copying.'), 'warning');
    }
  };
  const search = (event: React.KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'f') {
      event.preventDefault();
      field.current?.select();
    }
  };
  const { total } = pager.window;
  const address = engine.address('log', { job: model.jobId, instance: instance ?? instances[0] });
  return (
    <div className="jp-pai-Log" data-lm-suppress-shortcuts="true" onKeyDown={search}>
      <div className="jp-pai-Log-tools">
        <LogSearch
          trans={trans}
          search={(query, step) => void look(query, step)}
          hit={hit}
          trouble={trouble}
          field={field}
          close={() => session.terminal?.terminal.focus()}
        />
        <button type="button" onClick={() => void firstError()}>
          {trans.__('First error')}
        </button>
        <Goto trans={trans} go={words => void goTo(words)} />
        <InstanceChoice trans={trans} instances={instances} chosen={choice} choose={choose} />
        <button type="button" onClick={() => void copy()} title={trans.__('Copy the selection, or all loaded lines')}>
          {trans.__('Copy')}
        </button>
        {address && (
          <a href={address} download={`${model.jobId}.log`}>
            {trans.__('Download')}
          </a>
        )}
      </div>
      <div className="jp-pai-Log-view">
        <div className="jp-pai-Log-terminal" ref={node} key={instance} />
        <div className="jp-pai-Log-bar" ref={bar} onScroll={() => session.scrolledBar()} tabIndex={-1} aria-hidden>
          <div style={{ height: Math.min(total * ROW, TALLEST) }} />
        </div>
      </div>
      <div className="jp-pai-Log-foot">
        <span className="jp-pai-Log-place">
          {total > 0
            ? trans.__('Lines %1 to %2 of %3', count(seen.from + 1), count(seen.to), count(total))
            : isRunning || !job
              ? trans.__('No log output yet.')
              : trans.__('The log is empty.')}
        </span>
        {pager.trouble && <span className="jp-pai-Job-trouble">{pager.trouble}</span>}
        <button
          type="button"
          className="jp-pai-Log-follow"
          disabled={isRunning ? pager.isFollowing : seen.to >= total}
          onClick={() => session.toEnd()}
        >
          {isRunning ? trans.__('Follow') : trans.__('Jump to end')}
        </button>
      </div>
      <pre className="jp-pai-Log-text" role="region" aria-label={trans.__('Visible lines')}>
        {seen.text}
      </pre>
    </div>
  );
}

/** Return the session of a log; active while visible. */
function useSession(
  { engine, model, trans, isVisible }: ITabProps,
  instance: string | null,
  node: React.RefObject<HTMLElement>,
  bar: React.RefObject<HTMLElement>
): LogSession {
  const [, redraw] = React.useReducer((n: number) => n + 1, 0);
  const label = trans.__('Log');
  const session = React.useMemo(
    () => new LogSession(engine, model.jobId, instance, label, redraw),
    [engine, model, instance, label]
  );
  React.useEffect(() => {
    const life = new AbortController();
    if (node.current && bar.current) {
      void session.attach(node.current, bar.current, life.signal);
    }
    return () => life.abort();
  }, [session]);
  const { job } = model;
  const isRunning = job !== null && !hasEnded(job);
  const isKnown = job !== null;
  // Retry failed requests after a reconnect.
  const isBroken = model.connection.state === 'broken';
  React.useEffect(() => {
    if (isVisible && isKnown && !(isBroken && session.pager.trouble)) {
      session.wake(isRunning);
      return;
    }
    session.sleep();
  }, [session, isVisible, isKnown, isRunning, isBroken]);
  return session;
}
