/**
 * The tab Logs of the job view: a terminal with a window of lines, a scrollbar for the whole log, and a toolbar.
 */

import * as React from 'react';

import type { IJob } from '../api/wire.js';
import { hasEnded } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { useChanges } from '../ui/context.js';
import { count } from '../ui/format.js';
import type { ISearch } from './search.js';
import { LINES_ABOVE, useSearch } from './search.js';
import { LogSession } from './session.js';
import { parseDestination, plainText } from './text.js';
import { Goto, InstanceChoice, LogSearch } from './toolbar.js';

// Browsers limit the height of an element.
const MAX_HEIGHT = 4_000_000;
const ROW = 16;

export function Logs(props: ITabProps): React.JSX.Element {
  const { engine, trans, model } = props;
  useChanges(model);
  const { job } = model;
  const instances = job?.instances ?? [];
  const [choice, setChoice] = React.useState(props.instance ?? null);
  const instance = instances.length < 2 ? '' : choice;
  const node = React.useRef<HTMLDivElement>(null);
  const bar = React.useRef<HTMLDivElement>(null);
  const field = React.useRef<HTMLInputElement>(null);
  const session = useSession(props, instance, node, bar);
  const { search, match, error } = useSearch(session);
  const { goTo, goToFirstError, copy } = useLogActions(props, session, search);
  const onKeyDown = (event: React.KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'f') {
      event.preventDefault();
      field.current?.select();
    }
  };
  const { total } = session.pager.window;
  const url = engine.url('log', { job: model.jobId, instance: instance ?? instances[0] });
  return (
    <div className="jp-pai-Log" data-lm-suppress-shortcuts="true" onKeyDown={onKeyDown}>
      <div className="jp-pai-Log-tools">
        <LogSearch
          {...{ trans, match, error, field }}
          search={(query, step) => void search(query, step)}
          close={() => session.terminal?.terminal.focus()}
        />
        <button type="button" onClick={() => void goToFirstError()}>
          {trans.__('First error')}
        </button>
        <Goto trans={trans} go={text => void goTo(text)} />
        <InstanceChoice trans={trans} instances={instances} value={choice} onChange={setChoice} />
        <button type="button" onClick={() => void copy()} title={trans.__('Copy the selection, or all loaded lines')}>
          {trans.__('Copy')}
        </button>
        {url && (
          <a href={url} download={`${model.jobId}.log`}>
            {trans.__('Download')}
          </a>
        )}
      </div>
      <div className="jp-pai-Log-view">
        <div className="jp-pai-Log-terminal" ref={node} key={instance} />
        <div className="jp-pai-Log-bar" ref={bar} onScroll={() => session.handleBarScroll()} tabIndex={-1} aria-hidden>
          <div style={{ height: Math.min(total * ROW, MAX_HEIGHT) }} />
        </div>
      </div>
      <Footer {...props} session={session} />
      <pre className="jp-pai-Log-text" role="region" aria-label={trans.__('Visible lines')}>
        {session.visible.text}
      </pre>
    </div>
  );
}

/** The position in the log, errors, and the button that jumps to the end. */
function Footer({ model, trans, session }: ITabProps & { session: LogSession }): React.JSX.Element {
  const { pager, visible } = session;
  const { total } = pager.window;
  const isRunning = isActive(model.job);
  return (
    <div className="jp-pai-Log-foot">
      <span className="jp-pai-Log-place">
        {total > 0
          ? trans.__('Lines %1 to %2 of %3', count(visible.from + 1), count(visible.to), count(total))
          : isRunning || !model.job
            ? trans.__('No log output yet.')
            : trans.__('The log is empty.')}
      </span>
      {pager.error && <span className="jp-pai-Job-trouble">{pager.error}</span>}
      <button
        type="button"
        className="jp-pai-Log-follow"
        disabled={isRunning ? pager.isFollowing : visible.to >= total}
        onClick={() => session.jumpToEnd()}
      >
        {isRunning ? trans.__('Follow') : trans.__('Jump to end')}
      </button>
    </div>
  );
}

interface ILogActions {
  /** Go to a line number or a time. */
  readonly goTo: (text: string) => Promise<void>;
  readonly goToFirstError: () => Promise<void>;
  /** Copy the selection, or all loaded lines. */
  readonly copy: () => Promise<void>;
}

function useLogActions({ host, trans, model }: ITabProps, session: LogSession, search: ISearch['search']): ILogActions {
  const { pager } = session;
  const goTo = async (text: string) => {
    const destination = parseDestination(text, model.job?.startedAt ?? null);
    const line = destination && ('line' in destination ? destination.line : await pager.lineAt(destination.at));
    if (line === null) {
      host.notify(trans.__('Not a line number or time: `%1`.', text), 'warning');
    } else {
      await session.goToLine(line, LINES_ABOVE, true);
    }
  };
  const goToFirstError = async () => {
    const match = await search({ text: '', regex: false, case: false, errors: true }, 0);
    if (match?.line === null) {
      host.notify(trans.__('No errors found in the log.'), 'info');
    }
  };
  const copy = async () => {
    try {
      const selected = session.terminal?.terminal.getSelection();
      await navigator.clipboard.writeText(selected || pager.window.lines.map(plainText).join('\n'));
      host.notify(trans.__('Copied.'), 'info');
    } catch {
      host.notify(trans.__('The browser blocked copying.'), 'warning');
    }
  };
  return { goTo, goToFirstError, copy };
}

function isActive(job: IJob | null): boolean {
  return job !== null && !hasEnded(job);
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
    const controller = new AbortController();
    if (node.current && bar.current) {
      void session.attach(node.current, bar.current, controller.signal);
    }
    return () => controller.abort();
  }, [session]);
  const { job } = model;
  const isRunning = isActive(job);
  const isKnown = job !== null;
  // Retry failed requests after a reconnect.
  const isBroken = model.connection.state === 'broken';
  React.useEffect(() => {
    if (isVisible && isKnown && !(isBroken && session.pager.error)) {
      session.resume(isRunning);
      return;
    }
    session.suspend();
  }, [session, isVisible, isKnown, isRunning, isBroken]);
  return session;
}
