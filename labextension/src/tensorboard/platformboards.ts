/**
 * Types and parsers of TensorBoards that a platform runs.
 */

import { EngineError } from '../api/engine.js';
import { safeLink } from '../api/jobhistory.js';
import { list, number, record, string } from '../api/wire.js';

export type BoardStatus = 'starting' | 'running' | 'stopped' | 'failed';

const STATUSES: readonly string[] = ['starting', 'running', 'stopped', 'failed'];

/** A TensorBoard. `link` is its URL, null until it can be opened. `user` is its owner, if known. */
export interface IPlatformBoard {
  readonly id: string;
  readonly name: string;
  readonly status: BoardStatus;
  readonly link: string | null;
  readonly reason: string;
  readonly user: string;
}

/** At most `most` of them run at a time; each stops after `minutes`. 0 if unknown. */
export interface IPlatformBoards {
  readonly boards: readonly IPlatformBoard[];
  readonly most: number;
  readonly minutes: number;
}

/** Parse the TensorBoards of a job. */
export function parsePlatformBoards(value: unknown): IPlatformBoards {
  const data = record(value);
  return { boards: boardsIn(data['boards']), most: number(data['most']) ?? 0, minutes: number(data['minutes']) ?? 0 };
}

/** Return the running TensorBoards if an error reports that all slots are in use; else null. */
export function occupiedSlots(error: unknown): readonly IPlatformBoard[] | null {
  if (!(error instanceof EngineError) || error.code !== 'QuotaExceeded') {
    return null;
  }
  const running = boardsIn(error.details['boards']);
  return running.length ? running : null;
}

/** Return whether an error reports that the target does not exist. */
export function isNotFound(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'NotFound';
}

function boardsIn(value: unknown): readonly IPlatformBoard[] {
  return list(value)
    .map(parsePlatformBoard)
    .filter(board => board !== null);
}

function parsePlatformBoard(value: unknown): IPlatformBoard | null {
  const board = record(value);
  const [id, status] = [string(board['id']), string(board['status'])];
  if (!id || !isBoardStatus(status)) {
    return null;
  }
  const link = status === 'running' ? safeLink(string(board['url'])) : null;
  const [name, reason, user] = [string(board['name']) || id, string(board['reason']), string(board['user'])];
  return { id, name, status, link, reason, user };
}

function isBoardStatus(text: string): text is BoardStatus {
  return STATUSES.includes(text);
}
