/**
 * TensorBoards, as the server tells of them.
 */

import type { IEngine } from '../api/engine.js';
import { list, number, record, string } from '../api/wire.js';

/** A TensorBoard that runs. `address` is a path on the server; times are in milliseconds. */
export interface IBoard {
  readonly id: string;
  readonly jobs: readonly { readonly id: string; readonly name: string }[];
  readonly address: string;
  readonly startedAt: number;
  readonly idleTimeout: number;
}

/** The TensorBoard in a JSON value; null if there is none. */
export function parseBoard(value: unknown): IBoard | null {
  const board = record(value);
  const [id, address] = [string(board['id']), string(board['address'])];
  // Only what is on the server: an address becomes a link and a frame.
  if (!id || !/^\/(?![/\\])/.test(address)) {
    return null;
  }
  return {
    id,
    address,
    jobs: list(board['jobs']).map(job => ({ id: string(record(job)['id']), name: string(record(job)['name']) })),
    startedAt: 1000 * (number(board['started_at']) ?? 0),
    idleTimeout: 1000 * (number(board['idle_timeout']) ?? 0)
  };
}

/** Where the browser finds it; null where the page knows no server. */
export function boardAddress(engine: IEngine, board: IBoard): string | null {
  const server = engine.address('about', {});
  return server === null ? null : new URL(board.address, new URL(server, location.href)).href;
}

/** Those that show a job, the one of it alone first. */
export function boardsOf(value: unknown, jobId: string): readonly IBoard[] {
  return list(record(value)['tensorboards'])
    .map(parseBoard)
    .filter(board => board !== null)
    .filter(board => board.jobs.some(job => job.id === jobId))
    .sort((one, other) => one.jobs.length - other.jobs.length);
}
