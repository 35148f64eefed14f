/**
 * Transfers between this page, the server and storages, active and finished.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IEngine } from '../api/engine.js';
import { EngineError, errorText } from '../api/engine.js';
import type { ITransfer } from '../api/transfer.js';
import { isActive, parseTransfer } from '../api/transfer.js';
import { list, string } from '../api/wire.js';
import { numberedName } from './entries.js';
import type { IItem, ITarget } from './upload.js';
import { isResponse, pause, uploadFile } from './upload.js';

export type TransferState = 'running' | 'asking' | 'done' | 'failed' | 'cancelled';
/** The answer to a conflict with existing files. */
export type ConflictAnswer = 'replace' | 'keep' | 'skip';

const POLL_INTERVAL = 300;
const RETRY_INTERVAL = 2000;
// Concurrent uploads; the server writes two files to a storage at once.
const CONCURRENCY = 3;

/** A transfer that takes a while. */
export abstract class Transfer {
  constructor(
    readonly title: string,
    protected readonly engine: IEngine,
    protected readonly notify: () => void
  ) {}

  state: TransferState = 'running';
  /** Bytes; `bytes` is 0 if unknown. */
  done = 0;
  bytes = 0;
  files = 0;
  /** The error; also while running, if a part failed or the server does not respond. */
  error = '';
  /** Names of existing files while the transfer waits for an answer, and the possible answers. */
  existing: readonly string[] = [];
  readonly answers: readonly ConflictAnswer[] = ['replace', 'skip'];

  get hasEnded(): boolean {
    return this.state === 'done' || this.state === 'failed' || this.state === 'cancelled';
  }

  get isRunning(): boolean {
    return this.state === 'running';
  }

  /** True if a failed transfer can be resumed. */
  get canResume(): boolean {
    return false;
  }

  /** Start or resume; resolved when the transfer ended or needs an answer. */
  abstract run(answer?: ConflictAnswer): Promise<void>;

  abstract cancel(): void;

  protected end(state: TransferState, error = ''): void {
    this.state = state;
    this.error = error;
    this.notify();
  }
}

/** A transfer that the server performs; it continues independent of this page. */
export class ServerTransfer extends Transfer {
  constructor(
    title: string,
    engine: IEngine,
    notify: () => void,
    /** Calls the verb and returns its response. */
    private readonly start: (overwrite: boolean) => Promise<unknown>
  ) {
    super(title, engine, notify);
  }

  async run(answer?: ConflictAnswer): Promise<void> {
    if (answer === 'skip') {
      this.end('cancelled');
      return;
    }
    this.state = 'running';
    this.error = '';
    this.notify();
    try {
      let response = parseTransfer(await this.start(answer === 'replace'));
      this.id = response.id;
      for (;;) {
        [this.done, this.bytes, this.files] = [response.done, response.bytes, response.files];
        if (!isActive(response)) {
          break;
        }
        this.notify();
        response = await this.poll();
      }
      this.end(
        response.status === 'done' ? 'done' : response.status === 'cancelled' ? 'cancelled' : 'failed',
        response.error
      );
    } catch (error) {
      this.existing = existingNames(error);
      this.end(this.existing.length ? 'asking' : 'failed', errorText(error));
    }
  }

  cancel(): void {
    if (this.state === 'asking') {
      this.end('cancelled');
    } else if (this.id) {
      void this.engine.call('cancel_copy', { copy: this.id }).catch(() => undefined);
    }
  }

  /** Poll the transfer after a pause, retrying while the server does not respond. */
  private async poll(): Promise<ITransfer> {
    for (let wait = POLL_INTERVAL; ; wait = RETRY_INTERVAL) {
      await pause(wait);
      try {
        const response = parseTransfer(await this.engine.call('copy', { copy: this.id }));
        this.error = '';
        return response;
      } catch (error) {
        if (isResponse(error)) {
          throw error;
        }
        this.error = errorText(error);
        this.notify();
      }
    }
  }

  private id = '';
}

/** An upload of local files to a folder. Each file is written completely or not at all. */
export class Upload extends Transfer {
  constructor(
    title: string,
    engine: IEngine,
    notify: () => void,
    private readonly target: ITarget,
    items: readonly IItem[]
  ) {
    super(title, engine, notify);
    this.queue = [...items];
    this.bytes = items.reduce((sum, item) => sum + item.file.size, 0);
  }

  override readonly answers: readonly ConflictAnswer[] = ['replace', 'keep', 'skip'];

  override get canResume(): boolean {
    return this.state === 'failed' && this.queue.length > 0;
  }

  async run(answer?: ConflictAnswer): Promise<void> {
    this.answer = answer;
    this.controller = new AbortController();
    this.state = 'running';
    this.error = '';
    if (answer) {
      this.queue.push(...(answer === 'skip' ? [] : this.conflicts));
      this.bytes -= answer === 'skip' ? this.conflicts.reduce((sum, item) => sum + item.file.size, 0) : 0;
      this.conflicts = [];
    }
    this.notify();
    await Promise.all(Array.from({ length: CONCURRENCY }, () => this.uploadQueue(this.controller.signal)));
    this.existing = this.conflicts.map(item => item.path);
    if (this.isRunning) {
      this.end(this.error ? 'failed' : this.existing.length ? 'asking' : 'done', this.error);
    }
  }

  cancel(): void {
    this.end('cancelled');
    this.controller.abort();
  }

  private async uploadQueue(signal: AbortSignal): Promise<void> {
    // After a failure, started files are finished; the rest can be resumed.
    const next = () => (this.isRunning && !this.error ? this.queue.shift() : undefined);
    for (let item = next(); item; item = next()) {
      let sent = 0;
      const onProgress = (now: number) => {
        this.done += now - sent;
        sent = now;
        this.notify();
      };
      try {
        await this.uploadItem(item, onProgress, signal);
        onProgress(item.file.size);
        this.files += 1;
      } catch (error) {
        onProgress(0);
        this.handleFailure(item, error);
      }
    }
  }

  private async uploadItem(item: IItem, onProgress: (sent: number) => void, signal: AbortSignal): Promise<void> {
    const overwrite = this.answer === 'replace';
    for (let count = this.answer === 'keep' ? 2 : 1; ; count++) {
      const path = count === 1 ? item.path : numberedName(item.path, count);
      try {
        await uploadFile(this.engine, this.target, { path, file: item.file }, overwrite, onProgress, signal);
        return;
      } catch (error) {
        if (this.answer !== 'keep' || !existingNames(error).length) {
          throw error;
        }
      }
    }
  }

  private handleFailure(item: IItem, error: unknown): void {
    if (this.isRunning && existingNames(error).length) {
      this.conflicts.push(item);
    } else {
      this.queue.push(item);
      this.error ||= this.isRunning ? `${item.path}: ${errorText(error)}` : '';
    }
    this.notify();
  }

  private readonly queue: IItem[];
  private conflicts: IItem[] = [];
  private answer: ConflictAnswer | undefined;
  private controller = new AbortController();
}

/** All transfers, the newest first. */
export class Transfers {
  constructor(private readonly engine: IEngine) {}

  all: readonly Transfer[] = [];

  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Emitted when a transfer ended, successfully or not. */
  get ended(): ISignal<this, Transfer> {
    return this.endedSignal;
  }

  /** True if an upload is active, which closing this page would cancel. */
  get isUploading(): boolean {
    return this.all.some(transfer => transfer instanceof Upload && transfer.isRunning);
  }

  /** Start a transfer on the server; resolved when it ended or needs an answer. */
  start(title: string, call: (overwrite: boolean) => Promise<unknown>): Promise<Transfer> {
    return this.add(new ServerTransfer(title, this.engine, this.emitChanged, call));
  }

  upload(title: string, target: ITarget, items: readonly IItem[]): Promise<Transfer> {
    return this.add(new Upload(title, this.engine, this.emitChanged, target, items));
  }

  /** Answer the question of a transfer, or resume it. */
  async resume(transfer: Transfer, answer?: ConflictAnswer): Promise<void> {
    await transfer.run(answer);
    this.endedSignal.emit(transfer);
  }

  hide(transfer: Transfer): void {
    this.all = this.all.filter(other => other !== transfer);
    this.emitChanged();
  }

  private async add(transfer: Transfer): Promise<Transfer> {
    this.all = [transfer, ...this.all];
    await this.resume(transfer);
    return transfer;
  }

  private readonly emitChanged = (): void => this.signal.emit();
  private readonly signal = new Signal<this, void>(this);
  private readonly endedSignal = new Signal<this, Transfer>(this);
}

/** Return the names of existing files from a conflict error; empty for other errors. */
function existingNames(error: unknown): readonly string[] {
  const isConflict = error instanceof EngineError && error.status === 409;
  return isConflict ? list(error.details['files']).map(string) : [];
}
