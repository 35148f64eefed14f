/**
 * Copies of outputs to the workspace. The server makes them; this module polls their progress.
 */

import * as React from 'react';

import { EngineError, errorText } from '../api/engine.js';
import type { ITransfer } from '../api/transfer.js';
import { isActive, parseTransfer } from '../api/transfer.js';
import { list, record } from '../api/wire.js';
import type { ITabProps } from '../ui/context.js';
import { count, plural, size } from '../ui/format.js';
import { joinPath } from './model.js';

const POLL_INTERVAL = 300;
const RETRY_INTERVAL = 2000;

/** A transfer and its files: null for a whole channel, undefined if another page started it. */
interface IDownload {
  readonly transfer: ITransfer;
  readonly files?: readonly string[] | null;
}

/** The transfers of a job, and actions on them. */
export interface IDownloads {
  /** True if there is a workspace. */
  readonly canStart: boolean;
  readonly downloads: readonly IDownload[];
  readonly error: string;
  /** Copy files of a channel, or all of it, to a folder that the user enters. */
  start(channel: string, files: readonly string[] | null): Promise<void>;
  cancel(id: string): void;
  hide(id: string): void;
  /** Return the path of a copied file, below the server root; null if it was not copied. */
  copiedPath(channel: string, path: string): string | null;
}

export function useDownloads(props: ITabProps): IDownloads {
  const { engine, host, trans, model, folder: notebookFolder } = props;
  const [downloads, setDownloads] = React.useState<readonly IDownload[]>([]);
  const [error, setError] = React.useState('');
  const job = model.jobId;
  usePolling(props, downloads, setDownloads);
  const put = (transfer: ITransfer, files?: readonly string[] | null) =>
    setDownloads(known => withTransfer(known, transfer, files));
  const begin = async (channel: string, files: readonly string[] | null, folder: string, overwrite: boolean) =>
    put(parseTransfer(await engine.call('download', { job }, { channel, folder, files, overwrite })), files);
  const start = async (channel: string, files: readonly string[] | null) => {
    const title = files ? trans.__('Copy files from %1', channel) : trans.__('Copy all files from %1', channel);
    const folder = joinPath(notebookFolder?.() ?? host.folder?.() ?? '', `${channel}-${job}`);
    const input = await host.askText(title, trans.__('Workspace folder'), folder);
    if (input === null) {
      return;
    }
    setError('');
    const target = input.replace(/^\/+/, '');
    try {
      await begin(channel, files, target, false).catch(async (reason: unknown) => {
        const isConflict = reason instanceof EngineError && reason.status === 409;
        const question = { title: trans.__('Replace files?'), yes: trans.__('Replace'), warn: true };
        if (!isConflict || !(await host.confirm({ ...question, text: reason.message }))) {
          throw reason;
        }
        await begin(channel, files, target, true);
      });
    } catch (reason) {
      setError(errorText(reason));
    }
  };
  const cancel = (id: string) =>
    void engine.call('cancel_copy', { copy: id }).then(
      value => put(parseTransfer(value)),
      (reason: unknown) => setError(errorText(reason))
    );
  const hide = (id: string) => setDownloads(known => known.filter(download => download.transfer.id !== id));
  const copiedPath = (channel: string, path: string) => {
    const contains = ({ transfer, files }: IDownload) =>
      transfer.status === 'done' && transfer.channel === channel && (files === null || files?.includes(path));
    const folder = downloads.filter(contains).at(-1)?.transfer.workspacePath ?? null;
    return folder === null ? null : joinPath(folder, path);
  };
  return { canStart: host.openFile !== undefined, downloads, error, start, cancel, hide, copiedPath };
}

/** Poll the transfers while one is active. Includes transfers that were started before this page was loaded. */
function usePolling(
  { engine, trans, model, isVisible }: ITabProps,
  downloads: readonly IDownload[],
  setDownloads: React.Dispatch<React.SetStateAction<readonly IDownload[]>>
): void {
  const job = model.jobId;
  const latest = React.useRef(downloads);
  latest.current = downloads;
  const isAnyActive = downloads.some(download => isActive(download.transfer));
  React.useEffect(() => {
    if (!isVisible) {
      return;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isStopped = false;
    const poll = async () => {
      let pause = POLL_INTERVAL;
      const requested = new Set(latest.current.map(download => download.transfer.id));
      try {
        const current = list(record(await engine.call('copies', { job }))['copies']).map(parseTransfer);
        if (!isStopped) {
          const lostError = trans.__('The server was restarted. Copy again.');
          setDownloads(known => mergeTransfers(known, current, requested, lostError));
        }
      } catch {
        pause = RETRY_INTERVAL; // The transfer continues on the server.
      }
      if (!isStopped && isAnyActive) {
        timer = setTimeout(() => void poll(), pause);
      }
    };
    void poll();
    return () => {
      isStopped = true;
      clearTimeout(timer);
    };
  }, [engine, job, isVisible, isAnyActive, trans]);
}

/** Return the downloads with a transfer added or updated. */
function withTransfer(
  known: readonly IDownload[],
  transfer: ITransfer,
  files?: readonly string[] | null
): readonly IDownload[] {
  return known.some(download => download.transfer.id === transfer.id)
    ? known.map(download => (download.transfer.id === transfer.id ? { ...download, transfer } : download))
    : [...known, files === undefined ? { transfer } : { transfer, files }];
}

/**
 * Update the known transfers, and add active ones that were not known. A transfer that was known at the time of the
 * request and is missing in the response has failed.
 */
function mergeTransfers(
  known: readonly IDownload[],
  current: readonly ITransfer[],
  requested: ReadonlySet<string>,
  lostError: string
): readonly IDownload[] {
  const byId = new Map(current.map(transfer => [transfer.id, transfer]));
  const knownIds = new Set(known.map(download => download.transfer.id));
  const updated = known.map(download => {
    const transfer = byId.get(download.transfer.id);
    const isLost = !transfer && requested.has(download.transfer.id) && isActive(download.transfer);
    return transfer
      ? { ...download, transfer }
      : isLost
        ? { ...download, transfer: { ...download.transfer, status: 'failed', error: lostError } }
        : download;
  });
  const added = current.filter(transfer => isActive(transfer) && !knownIds.has(transfer.id));
  return [...updated, ...added.map(transfer => ({ transfer }))];
}

/** The progress of all transfers. */
export function Downloads(props: ITabProps & { downloads: IDownloads }): React.JSX.Element | null {
  const { downloads, error } = props.downloads;
  return downloads.length > 0 || error ? (
    <div className="jp-pai-Copies">
      {error && (
        <p className="jp-pai-Job-trouble" role="alert">
          {error}
        </p>
      )}
      {downloads.map(download => (
        <Download key={download.transfer.id} {...props} download={download} />
      ))}
    </div>
  ) : null;
}

interface IDownloadProps extends ITabProps {
  readonly downloads: IDownloads;
  readonly download: IDownload;
}

function Download({ trans, downloads, download, host }: IDownloadProps): React.JSX.Element {
  const { transfer, files } = download;
  const path = files?.length === 1 ? downloads.copiedPath(transfer.channel, files[0] ?? '') : null;
  if (isActive(transfer)) {
    const part = trans.__('%1 of %2', size(transfer.done), size(transfer.bytes));
    return (
      <div className="jp-pai-Copy" data-status={transfer.status}>
        <span>{trans.__('Copying %1 to %2', transfer.channel, transfer.workspacePath ?? transfer.folder)}</span>
        <progress value={transfer.done} max={Math.max(transfer.bytes, 1)} aria-label={part} />
        <span className="jp-pai-Channel-facts">{transfer.status === 'waiting' ? trans.__('waiting') : part}</span>
        <button type="button" className="jp-pai-Button" onClick={() => downloads.cancel(transfer.id)}>
          {trans.__('Cancel')}
        </button>
      </div>
    );
  }
  return (
    <div className="jp-pai-Copy" data-status={transfer.status}>
      <span role="status" className={transfer.status === 'failed' ? 'jp-pai-Job-trouble' : ''}>
        {outcome(transfer, trans)}
      </span>
      {host.openFile && path !== null && (
        <button type="button" className="jp-pai-Button" onClick={() => host.openFile?.(path)}>
          {trans.__('Open')}
        </button>
      )}
      <button type="button" className="jp-pai-Button" onClick={() => downloads.hide(transfer.id)}>
        {trans.__('Hide')}
      </button>
    </div>
  );
}

/** Describe the outcome of a transfer. */
function outcome(transfer: ITransfer, trans: ITabProps['trans']): string {
  switch (transfer.status) {
    case 'done': {
      const { files, leftOut } = transfer;
      const args = [count(files), transfer.workspacePath ?? transfer.folder];
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
      return leftOut ? `${text} ${skipped} ${transfer.skipped.join('; ')}`.trim() : text;
    }
    case 'cancelled':
      return trans.__('Cancelled copying %1. Partial files were removed.', transfer.channel);
    default:
      return transfer.error;
  }
}
