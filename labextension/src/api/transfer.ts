/**
 * A transfer of files between storages, the workspace and this page: type and parser.
 */

import { list, number, record, string } from './wire.js';

/** A copy to a folder: `done` of `bytes` bytes. `workspacePath` is the path of the folder below the server root. */
export interface ITransfer {
  readonly id: string;
  readonly channel: string;
  readonly folder: string;
  readonly workspacePath: string | null;
  readonly files: number;
  readonly bytes: number;
  readonly done: number;
  readonly leftOut: number;
  /** The first of the files that were left out, with the reason of each. */
  readonly skipped: readonly string[];
  readonly status: string;
  readonly error: string;
}

/** Parse the response of `download`, `copy` or `cancel_copy`. */
export function parseTransfer(value: unknown): ITransfer {
  const transfer = record(value);
  const { message, fix } = record(transfer['error']);
  return {
    id: string(transfer['id']),
    channel: string(transfer['channel']),
    folder: string(transfer['folder']),
    workspacePath: typeof transfer['place'] === 'string' ? transfer['place'] : null,
    files: number(transfer['files']) ?? 0,
    bytes: number(transfer['bytes']) ?? 0,
    done: number(transfer['done']) ?? 0,
    leftOut: number(transfer['left_out']) ?? 0,
    skipped: list(transfer['skipped']).map(string),
    status: string(transfer['status']),
    error: `${string(message)} ${string(fix)}`.trim()
  };
}

/** Return whether a transfer is still active. */
export function isActive(transfer: ITransfer): boolean {
  return transfer.status === 'waiting' || transfer.status === 'running';
}
