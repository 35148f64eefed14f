/**
 * Types and parsers of TensorBoards on the Jupyter server.
 */

import type { IEngine } from '../api/engine.js';
import { list, number, record, string } from '../api/wire.js';

/** A running TensorBoard. `address` is a path on the server; times are in milliseconds. */
export interface IBoard {
  readonly id: string;
  readonly jobs: readonly { readonly id: string; readonly name: string }[];
  readonly path: string;
  readonly startedAt: number;
  readonly idleTimeout: number;
}

/** Parse a TensorBoard; null if the value is none. */
export function parseBoard(value: unknown): IBoard | null {
  const board = record(value);
  const [id, address] = [string(board['id']), string(board['address'])];
  // Only paths on this server are accepted, since they become links and frames.
  if (!id || !/^\/(?![/\\])/.test(address)) {
    return null;
  }
  return {
    id,
    path: address,
    jobs: list(board['jobs']).map(job => ({ id: string(record(job)['id']), name: string(record(job)['name']) })),
    startedAt: 1000 * (number(board['started_at']) ?? 0),
    idleTimeout: 1000 * (number(board['idle_timeout']) ?? 0)
  };
}

/** Return the URL of a TensorBoard; null if the page is not connected to a server. */
export function boardUrl(engine: IEngine, board: IBoard): string | null {
  const server = engine.url('about', {});
  return server === null ? null : new URL(board.path, new URL(server, location.href)).href;
}

/** Return the TensorBoards that show a job, those with the fewest jobs first. */
export function boardsOf(value: unknown, jobId: string): readonly IBoard[] {
  return list(record(value)['tensorboards'])
    .map(parseBoard)
    .filter(board => board !== null)
    .filter(board => board.jobs.some(job => job.id === jobId))
    .sort((board, other) => board.jobs.length - other.jobs.length);
}
