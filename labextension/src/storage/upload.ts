/**
 * Upload of one file from this page to a storage, in chunks adapted to the connection.
 */

import type { IEngine } from '../api/engine.js';
import { EngineError } from '../api/engine.js';
import type { ITransfer } from '../api/transfer.js';
import { isActive, parseTransfer } from '../api/transfer.js';

/** A file to upload, and its path below the target folder. */
export interface IItem {
  readonly path: string;
  readonly file: Blob & { readonly lastModified?: number };
}

export interface ITarget {
  readonly uri: string;
  readonly profile: string;
}

const FIRST_CHUNK = 1 << 20;
const MAX_CHUNK = 8 << 20;
const MIN_CHUNK = 1 << 16;
// Milliseconds a chunk should take. Larger chunks are faster, smaller ones show progress.
const FAST_CHUNK = 300;
const SLOW_CHUNK = 3000;
const POLL_INTERVAL = 300;
const ATTEMPTS = 4;
const CONFLICT = 409;
const TOO_LARGE = 413;
const GATEWAY: readonly number[] = [502, 503, 504];

/**
 * Upload a file.
 *
 * @param told - called with the number of bytes sent.
 * @throws EngineError: a Conflict with `files` in its details if the file exists.
 */
export async function uploadFile(
  engine: IEngine,
  target: ITarget,
  { path, file }: IItem,
  overwrite: boolean,
  onProgress: (sent: number) => void,
  signal: AbortSignal
): Promise<void> {
  const body = {
    ...target,
    path,
    bytes: file.size,
    modified: Math.max(file.lastModified ?? 0, 0) / 1000,
    overwrite
  };
  let transfer = parseTransfer(await engine.call('begin_upload', {}, body));
  try {
    transfer = await sendChunks(engine, transfer, file, onProgress, signal);
    while (isActive(transfer)) {
      await pause(POLL_INTERVAL);
      signal.throwIfAborted();
      transfer = parseTransfer(await withRetries(() => engine.call('copy', { copy: transfer.id }), signal));
    }
  } catch (error) {
    await engine.call('cancel_copy', { copy: transfer.id }).catch(() => undefined); // It may have ended already.
    throw error;
  }
  if (transfer.status !== 'done') {
    throw new EngineError(transfer.error);
  }
}

async function sendChunks(
  engine: IEngine,
  transfer: ITransfer,
  file: Blob,
  onProgress: (sent: number) => void,
  signal: AbortSignal
): Promise<ITransfer> {
  let [offset, size, maxSize] = [0, FIRST_CHUNK, MAX_CHUNK];
  while (offset < file.size) {
    signal.throwIfAborted();
    const bytes = file.slice(offset, offset + size);
    const startedAt = performance.now();
    try {
      const send = () => engine.sendBytes?.('upload_data', { copy: transfer.id, offset }, bytes, signal);
      transfer = parseTransfer(await withRetries(async () => send(), signal));
    } catch (error) {
      if (error instanceof EngineError && error.status === TOO_LARGE && size > MIN_CHUNK) {
        size = maxSize = Math.max(Math.floor(size / 4), MIN_CHUNK); // The limit of a proxy.
        continue;
      }
      return await recoverLastResponse(engine, transfer, error, signal);
    }
    offset += bytes.size;
    onProgress(offset);
    const elapsed = performance.now() - startedAt;
    size =
      elapsed < FAST_CHUNK ? Math.min(2 * size, maxSize) : elapsed > SLOW_CHUNK ? Math.max(size / 2, MIN_CHUNK) : size;
  }
  return transfer;
}

/**
 * Return the transfer if a chunk was refused because the server already has all of them: the last response was lost.
 */
async function recoverLastResponse(
  engine: IEngine,
  { id }: ITransfer,
  error: unknown,
  signal: AbortSignal
): Promise<ITransfer> {
  const isOver = error instanceof EngineError && error.status === CONFLICT && !('received' in error.details);
  const transfer = isOver ? parseTransfer(await withRetries(() => engine.call('copy', { copy: id }), signal)) : null;
  if (!transfer || transfer.status === 'cancelled') {
    throw error;
  }
  return transfer;
}

/** Call `ask`, retrying until a response arrives. */
async function withRetries<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      signal.throwIfAborted();
      if (isResponse(error) || attempt === ATTEMPTS) {
        throw error;
      }
      await pause(POLL_INTERVAL * 2 ** attempt);
    }
  }
}

/** Return whether an error is a response of the engine, rather than of a network failure or a proxy. */
export function isResponse(error: unknown): boolean {
  const isOurs = (status: number, code: string) => status !== 0 && (code !== '' || !GATEWAY.includes(status));
  return !(error instanceof EngineError) || isOurs(error.status, error.code);
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds));
}
