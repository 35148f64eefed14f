/**
 * Upload of one file from this page to a storage, in chunks adapted to the connection.
 */

import type { IEngine } from '../api/engine.js';
import { EngineError } from '../api/engine.js';
import type { ICopy } from '../outputs/model.js';
import { isUnderWay, parseCopy } from '../outputs/model.js';

/** A file to upload, and its path below the target folder. */
export interface IItem {
  readonly path: string;
  readonly file: Blob & { readonly lastModified?: number };
}

export interface ITarget {
  readonly uri: string;
  readonly profile: string;
}

const FIRST = 1 << 20;
const LARGEST = 8 << 20;
const SMALLEST = 1 << 16;
// Milliseconds a chunk should take. Larger chunks are faster, smaller ones show progress.
const QUICK = 300;
const SLOW = 3000;
const LOOK_EVERY = 300;
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
  told: (sent: number) => void,
  signal: AbortSignal
): Promise<void> {
  const body = {
    ...target,
    path,
    bytes: file.size,
    modified: Math.max(file.lastModified ?? 0, 0) / 1000,
    overwrite
  };
  let copy = parseCopy(await engine.call('begin_upload', {}, body));
  try {
    copy = await sendAll(engine, copy, file, told, signal);
    while (isUnderWay(copy)) {
      await pause(LOOK_EVERY);
      signal.throwIfAborted();
      copy = parseCopy(await again(() => engine.call('copy', { copy: copy.id }), signal));
    }
  } catch (error) {
    await engine.call('cancel_copy', { copy: copy.id }).catch(() => undefined); // It may have ended already.
    throw error;
  }
  if (copy.status !== 'done') {
    throw new EngineError(copy.trouble);
  }
}

async function sendAll(
  engine: IEngine,
  copy: ICopy,
  file: Blob,
  told: (sent: number) => void,
  signal: AbortSignal
): Promise<ICopy> {
  let [offset, size, most] = [0, FIRST, LARGEST];
  while (offset < file.size) {
    signal.throwIfAborted();
    const bytes = file.slice(offset, offset + size);
    const begun = performance.now();
    try {
      const send = () => engine.sendBytes?.('upload_data', { copy: copy.id, offset }, bytes, signal);
      copy = parseCopy(await again(async () => send(), signal));
    } catch (error) {
      if (error instanceof EngineError && error.status === TOO_LARGE && size > SMALLEST) {
        size = most = Math.max(Math.floor(size / 4), SMALLEST); // The limit of a proxy.
        continue;
      }
      return await afterAll(engine, copy, error, signal);
    }
    offset += bytes.size;
    told(offset);
    const took = performance.now() - begun;
    size = took < QUICK ? Math.min(2 * size, most) : took > SLOW ? Math.max(size / 2, SMALLEST) : size;
  }
  return copy;
}

/**
 * Return the transfer if a chunk was refused because the server already has all of them: the last response was lost.
 */
async function afterAll(engine: IEngine, { id }: ICopy, error: unknown, signal: AbortSignal): Promise<ICopy> {
  const isOver = error instanceof EngineError && error.status === CONFLICT && !('received' in error.details);
  const copy = isOver ? parseCopy(await again(() => engine.call('copy', { copy: id }), signal)) : null;
  if (!copy || copy.status === 'cancelled') {
    throw error;
  }
  return copy;
}

/** Call `ask`, retrying while there is no response. */
async function again<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (wasHeard(error) || attempt === ATTEMPTS) {
        throw error;
      }
      await pause(LOOK_EVERY * 2 ** attempt);
    }
  }
}

/** Whether an error is a response of the engine, rather than of a network failure or a proxy. */
export function wasHeard(error: unknown): boolean {
  const isOurs = (status: number, code: string) => status !== 0 && (code !== '' || !GATEWAY.includes(status));
  return !(error instanceof EngineError) || isOurs(error.status, error.code);
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds));
}
