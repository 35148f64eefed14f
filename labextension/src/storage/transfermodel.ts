/**
 * Transfers between this page, the server and storages, active and finished.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IEngine } from '../api/engine.js';
import { EngineError } from '../api/engine.js';
import { list, string } from '../api/wire.js';
import type { ICopy } from '../outputs/model.js';
import { isUnderWay, parseCopy, said } from '../outputs/model.js';
import { numbered } from './entries.js';
import type { IItem, ITarget } from './upload.js';
import { pause, uploadFile, wasHeard } from './upload.js';

export type TransferState = 'running' | 'asking' | 'done' | 'failed' | 'cancelled';
/** The answer to a conflict with existing files. */
export type Answer = 'replace' | 'keep' | 'skip';

const LOOK_EVERY = 300;
const RETRY = 2000;
// Concurrent uploads; the server writes two files to a storage at once.
const AT_A_TIME = 3;

/** A transfer that takes a while. */
export abstract class Transfer {
  constructor(
    readonly title: string,
    protected readonly engine: IEngine,
    protected readonly tell: () => void
  ) {}

  state: TransferState = 'running';
  /** Bytes; `bytes` is 0 if unknown. */
  done = 0;
  bytes = 0;
  files = 0;
  /** The error; also while running, if a part failed or the server does not respond. */
  trouble = '';
  /** Names of existing files while the transfer waits for an answer, and the possible answers. */
  taken: readonly string[] = [];
  readonly answers: readonly Answer[] = ['replace', 'skip'];

  get isOver(): boolean {
    return this.state === 'done' || this.state === 'failed' || this.state === 'cancelled';
  }

  get isRunning(): boolean {
    return this.state === 'running';
  }

  /** Whether a failed transfer can be resumed. */
  get canGoOn(): boolean {
    return false;
  }

  /** Start or resume; resolved when the transfer ended or needs an answer. */
  abstract run(answer?: Answer): Promise<void>;

  abstract cancel(): void;

  protected end(state: TransferState, trouble = ''): void {
    this.state = state;
    this.trouble = trouble;
    this.tell();
  }
}

/** A transfer that the server performs; it continues independent of this page. */
export class ServerTransfer extends Transfer {
  constructor(
    title: string,
    engine: IEngine,
    tell: () => void,
    /** Calls the verb and returns its response. */
    private readonly begin: (overwrite: boolean) => Promise<unknown>
  ) {
    super(title, engine, tell);
  }

  async run(answer?: Answer): Promise<void> {
    if (answer === 'skip') {
      this.end('cancelled');
      return;
    }
    this.state = 'running';
    this.trouble = '';
    this.tell();
    try {
      let copy = parseCopy(await this.begin(answer === 'replace'));
      this.id = copy.id;
      for (;;) {
        [this.done, this.bytes, this.files] = [copy.done, copy.bytes, copy.files];
        if (!isUnderWay(copy)) {
          break;
        }
        this.tell();
        copy = await this.look();
      }
      this.end(copy.status === 'done' ? 'done' : copy.status === 'cancelled' ? 'cancelled' : 'failed', copy.trouble);
    } catch (error) {
      this.taken = takenNames(error);
      this.end(this.taken.length ? 'asking' : 'failed', said(error));
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
  private async look(): Promise<ICopy> {
    for (let wait = LOOK_EVERY; ; wait = RETRY) {
      await pause(wait);
      try {
        const copy = parseCopy(await this.engine.call('copy', { copy: this.id }));
        this.trouble = '';
        return copy;
      } catch (error) {
        if (wasHeard(error)) {
          throw error;
        }
        this.trouble = said(error);
        this.tell();
      }
    }
  }

  private id = '';
}

/** An upload of local files to a folder. Each file is written completely or not at all. */
export class Uploading extends Transfer {
  constructor(
    title: string,
    engine: IEngine,
    tell: () => void,
    private readonly target: ITarget,
    items: readonly IItem[]
  ) {
    super(title, engine, tell);
    this.waiting = [...items];
    this.bytes = items.reduce((sum, item) => sum + item.file.size, 0);
  }

  override readonly answers: readonly Answer[] = ['replace', 'keep', 'skip'];

  override get canGoOn(): boolean {
    return this.state === 'failed' && this.waiting.length > 0;
  }

  async run(answer?: Answer): Promise<void> {
    this.answer = answer;
    this.life = new AbortController();
    this.state = 'running';
    this.trouble = '';
    if (answer) {
      this.waiting.push(...(answer === 'skip' ? [] : this.refused));
      this.bytes -= answer === 'skip' ? this.refused.reduce((sum, item) => sum + item.file.size, 0) : 0;
      this.refused = [];
    }
    this.tell();
    await Promise.all(Array.from({ length: AT_A_TIME }, () => this.work(this.life.signal)));
    this.taken = this.refused.map(item => item.path);
    if (this.isRunning) {
      this.end(this.trouble ? 'failed' : this.taken.length ? 'asking' : 'done', this.trouble);
    }
  }

  cancel(): void {
    this.end('cancelled');
    this.life.abort();
  }

  private async work(signal: AbortSignal): Promise<void> {
    // After a failure, started files are finished; the rest can be resumed.
    const next = () => (this.isRunning && !this.trouble ? this.waiting.shift() : undefined);
    for (let item = next(); item; item = next()) {
      let sent = 0;
      const told = (now: number) => {
        this.done += now - sent;
        sent = now;
        this.tell();
      };
      try {
        await this.upload(item, told, signal);
        told(item.file.size);
        this.files += 1;
      } catch (error) {
        told(0);
        this.refuse(item, error);
      }
    }
  }

  private async upload(item: IItem, told: (sent: number) => void, signal: AbortSignal): Promise<void> {
    const overwrite = this.answer === 'replace';
    for (let count = this.answer === 'keep' ? 2 : 1; ; count++) {
      const path = count === 1 ? item.path : numbered(item.path, count);
      try {
        await uploadFile(this.engine, this.target, { path, file: item.file }, overwrite, told, signal);
        return;
      } catch (error) {
        if (this.answer !== 'keep' || !takenNames(error).length) {
          throw error;
        }
      }
    }
  }

  private refuse(item: IItem, error: unknown): void {
    if (this.isRunning && takenNames(error).length) {
      this.refused.push(item);
    } else {
      this.waiting.push(item);
      this.trouble ||= this.isRunning ? `${item.path}: ${said(error)}` : '';
    }
    this.tell();
  }

  private readonly waiting: IItem[];
  private refused: IItem[] = [];
  private answer: Answer | undefined;
  private life = new AbortController();
}

/** All transfers, the newest first. */
export class Transfers {
  constructor(private readonly engine: IEngine) {}

  known: readonly Transfer[] = [];

  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Emitted when a transfer ended, successfully or not. */
  get ended(): ISignal<this, Transfer> {
    return this.endedSignal;
  }

  /** Whether an upload is active, which closing this page would cancel. */
  get isUploading(): boolean {
    return this.known.some(transfer => transfer instanceof Uploading && transfer.isRunning);
  }

  /** Start a transfer on the server; resolved when it ended or needs an answer. */
  begin(title: string, call: (overwrite: boolean) => Promise<unknown>): Promise<Transfer> {
    return this.add(new ServerTransfer(title, this.engine, this.tell, call));
  }

  upload(title: string, target: ITarget, items: readonly IItem[]): Promise<Transfer> {
    return this.add(new Uploading(title, this.engine, this.tell, target, items));
  }

  /** Answer the question of a transfer, or resume it. */
  async goOn(transfer: Transfer, answer?: Answer): Promise<void> {
    await transfer.run(answer);
    this.endedSignal.emit(transfer);
  }

  hide(transfer: Transfer): void {
    this.known = this.known.filter(one => one !== transfer);
    this.tell();
  }

  private async add(transfer: Transfer): Promise<Transfer> {
    this.known = [transfer, ...this.known];
    await this.goOn(transfer);
    return transfer;
  }

  private readonly tell = (): void => this.signal.emit();
  private readonly signal = new Signal<this, void>(this);
  private readonly endedSignal = new Signal<this, Transfer>(this);
}

/** Return the names of existing files from a conflict error; empty for other errors. */
function takenNames(error: unknown): readonly string[] {
  const isConflict = error instanceof EngineError && error.status === 409;
  return isConflict ? list(error.details['files']).map(string) : [];
}
