/**
 * Copies of outputs to the workspace. The server makes them; this module polls their progress.
 */

import * as React from 'react';

import { EngineError } from '../api/engine.js';
import { list, record } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { count, plural, size } from '../ui/format.js';
import type { ICopy } from './model.js';
import { isUnderWay, joined, parseCopy, said } from './model.js';

const EVERY = 300;
const RETRY = 2000;

/** A transfer and its files: null for a whole channel, undefined if another page started it. */
interface IBegun {
  readonly copy: ICopy;
  readonly files?: readonly string[] | null;
}

/** The transfers of a job, and actions on them. */
export interface ICopies {
  /** Whether there is a workspace. */
  readonly canStart: boolean;
  readonly begun: readonly IBegun[];
  readonly trouble: string;
  /** Copy files of a channel, or all of it, to a folder that the user enters. */
  start(channel: string, files: readonly string[] | null): Promise<void>;
  cancel(id: string): void;
  hide(id: string): void;
  /** Return the path of a copied file, below the server root; null if it was not copied. */
  placeOf(channel: string, path: string): string | null;
}

export function useCopies({ engine, host, trans, model, isVisible, folder: here }: ITabProps): ICopies {
  const [begun, setBegun] = React.useState<readonly IBegun[]>([]);
  const [trouble, setTrouble] = React.useState('');
  const job = model.jobId;
  const put = (copy: ICopy, files?: readonly string[] | null) =>
    setBegun(known => {
      const before = known.find(one => one.copy.id === copy.id);
      const now: IBegun = before ? { ...before, copy } : files === undefined ? { copy } : { copy, files };
      return before ? known.map(one => (one === before ? now : one)) : [...known, now];
    });
  const latest = React.useRef(begun);
  latest.current = begun;
  const isBusy = begun.some(one => isUnderWay(one.copy));

  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    // Includes transfers that were started before this page was loaded.
    const look = async () => {
      let pause = EVERY;
      const asked = new Set(latest.current.map(one => one.copy.id));
      try {
        const found = list(record(await engine.call('copies', { job }))['copies']).map(parseCopy);
        if (!isOver) {
          const broken = trans.__('The server was restarted. Copy again.');
          setBegun(known => merged(known, found, asked, broken));
        }
      } catch {
        pause = RETRY; // The transfer continues on the server.
      }
      if (!isOver && isBusy) {
        timer = setTimeout(() => void look(), pause);
      }
    };
    void look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [engine, job, isVisible, isBusy, trans]);

  const begin = async (channel: string, files: readonly string[] | null, folder: string, overwrite: boolean) =>
    put(parseCopy(await engine.call('download', { job }, { channel, folder, files, overwrite })), files);

  const start = async (channel: string, files: readonly string[] | null) => {
    const title = files ? trans.__('Copy files from %1', channel) : trans.__('Copy all files from %1', channel);
    const folder = joined(here?.() ?? host.folder?.() ?? '', `${channel}-${job}`);
    const answer = await host.ask(title, trans.__('Workspace folder'), folder);
    if (answer === null) {
      return;
    }
    setTrouble('');
    const target = answer.replace(/^\/+/, '');
    try {
      await begin(channel, files, target, false).catch(async (error: unknown) => {
        const isConflict = error instanceof EngineError && error.status === 409;
        const question = { title: trans.__('Replace files?'), yes: trans.__('Replace'), warn: true };
        if (!isConflict || !(await host.confirm({ ...question, text: error.message }))) {
          throw error;
        }
        await begin(channel, files, target, true);
      });
    } catch (error) {
      setTrouble(said(error));
    }
  };

  const cancel = (id: string) =>
    void engine.call('cancel_copy', { copy: id }).then(
      value => put(parseCopy(value)),
      (error: unknown) => setTrouble(said(error))
    );
  const hide = (id: string) => setBegun(known => known.filter(one => one.copy.id !== id));
  const placeOf = (channel: string, path: string) => {
    const has = ({ copy, files }: IBegun) =>
      copy.status === 'done' && copy.channel === channel && (files === null || files?.includes(path));
    const place = begun.filter(has).at(-1)?.copy.place ?? null;
    return place === null ? null : joined(place, path);
  };
  return { canStart: host.openFile !== undefined, begun, trouble, start, cancel, hide, placeOf };
}

/**
 * Update the known transfers, and add active ones that were not known. A transfer that was known at the time of the
 * request and is missing in the response has failed.
 */
function merged(
  known: readonly IBegun[],
  found: readonly ICopy[],
  asked: ReadonlySet<string>,
  lost: string
): readonly IBegun[] {
  const now = new Map(found.map(copy => [copy.id, copy]));
  const names = new Set(known.map(one => one.copy.id));
  const kept = known.map(one => {
    const copy = now.get(one.copy.id);
    const isLost = !copy && asked.has(one.copy.id) && isUnderWay(one.copy);
    return copy ? { ...one, copy } : isLost ? { ...one, copy: { ...one.copy, status: 'failed', trouble: lost } } : one;
  });
  const others = found.filter(copy => isUnderWay(copy) && !names.has(copy.id));
  return [...kept, ...others.map(copy => ({ copy }))];
}

/** The progress of all transfers. */
export function Copies(props: ITabProps & { copies: ICopies }): React.JSX.Element | null {
  const { begun, trouble } = props.copies;
  return begun.length > 0 || trouble ? (
    <div className="jp-pai-Copies">
      {trouble && (
        <p className="jp-pai-Job-trouble" role="alert">
          {trouble}
        </p>
      )}
      {begun.map(one => (
        <Copy key={one.copy.id} {...props} begun={one} />
      ))}
    </div>
  ) : null;
}

function Copy({ trans, copies, begun, host }: ITabProps & { copies: ICopies; begun: IBegun }): React.JSX.Element {
  const { copy, files } = begun;
  const path = files?.length === 1 ? copies.placeOf(copy.channel, files[0] ?? '') : null;
  if (isUnderWay(copy)) {
    const part = trans.__('%1 of %2', size(copy.done), size(copy.bytes));
    return (
      <div className="jp-pai-Copy" data-status={copy.status}>
        <span>{trans.__('Copying %1 to %2', copy.channel, copy.place ?? copy.folder)}</span>
        <progress value={copy.done} max={Math.max(copy.bytes, 1)} aria-label={part} />
        <span className="jp-pai-Channel-facts">{copy.status === 'waiting' ? trans.__('waiting') : part}</span>
        <button type="button" className="jp-pai-Button" onClick={() => copies.cancel(copy.id)}>
          {trans.__('Cancel')}
        </button>
      </div>
    );
  }
  return (
    <div className="jp-pai-Copy" data-status={copy.status}>
      <span role="status" className={copy.status === 'failed' ? 'jp-pai-Job-trouble' : ''}>
        {outcome(copy, trans)}
      </span>
      {host.openFile && path !== null && (
        <button type="button" className="jp-pai-Button" onClick={() => host.openFile?.(path)}>
          {trans.__('Open')}
        </button>
      )}
      <button type="button" className="jp-pai-Button" onClick={() => copies.hide(copy.id)}>
        {trans.__('Hide')}
      </button>
    </div>
  );
}

/** Describe the outcome of a transfer. */
function outcome(copy: ICopy, trans: ITabProps['trans']): string {
  switch (copy.status) {
    case 'done': {
      const { files, leftOut } = copy;
      const args = [count(files), copy.place ?? copy.folder];
      const text = plural(
        files,
        trans.__('Copied %1 file to %2.', ...args),
        trans.__('Copied %1 files to %2.', ...args)
      );
      const skipped = plural(
        leftOut,
        trans.__('Skipped %1 unreadable file.', count(leftOut)),
        trans.__('Skipped %1 unreadable files.', count(leftOut))
      );
      return leftOut ? `${text} ${skipped}` : text;
    }
    case 'cancelled':
      return trans.__('Cancelled copying %1. Partial files were removed.', copy.channel);
    default:
      return copy.trouble;
  }
}
