/**
 * The engine behind a kernel: calls and the stream as messages on the comm of a widget. The kernel's end is
 * `jupyter_pai/client/widgets/comm.py`.
 *
 * `JobStream` keeps the positions of subscriptions and reconnects; this module provides its socket.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IConnection, IEngine, Parameters } from './engine.js';
import { EngineError } from './engine.js';
import type { Verb } from './routes.js';
import type { ISocket } from './stream.js';
import { JobStream } from './stream.js';
import type { Json, Message, Topic } from './wire.js';
import { number, record, string } from './wire.js';

/** The part of an anywidget model used here. */
export interface IWidgetModel {
  get(name: string): unknown;
  send(message: object): void;
  on(event: string, receive: (message: unknown, buffers?: readonly DataView[]) => void): void;
  off(event: string, receive: (message: unknown, buffers?: readonly DataView[]) => void): void;
}

// Milliseconds without any message after which the kernel counts as silent. It sends a heartbeat every five seconds.
const TIMEOUT = 16_000;

export class KernelEngine implements IEngine {
  constructor(
    private readonly model: IWidgetModel,
    private readonly trans: Pick<TranslationBundle, '__'>
  ) {
    model.on('msg:custom', this.receive);
    this.stream = new JobStream(() => {
      this.socket = new KernelSocket(message => this.send(message), ++this.streamCount);
      return this.socket;
    });
    this.watchdog = setInterval(() => this.rejectOverdue(), TIMEOUT / 4);
  }

  readonly kind = 'kernel';

  /** Stop listening and reject pending calls. */
  dispose(): void {
    clearInterval(this.watchdog);
    this.socket?.close();
    this.model.off('msg:custom', this.receive);
    this.pending.forEach(({ reject }) => reject(this.timeoutError()));
    this.pending.clear();
  }

  call(verb: Verb, parameters: Parameters = {}, body?: unknown): Promise<unknown> {
    const id = ++this.callCount;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, since: Date.now() });
      this.send({ type: 'call', id, verb, parameters, ...(body === undefined ? {} : { body }) });
    });
  }

  subscribe(topic: Topic, receive: (message: Message) => void, signal: AbortSignal): void {
    this.stream.subscribe(topic, receive, signal);
  }

  watch(receive: (connection: IConnection) => void, signal: AbortSignal): void {
    this.stream.watch(receive, signal);
  }

  url(): null {
    return null;
  }

  private send(message: object): void {
    this.model.send({ ...message, page: this.page });
  }

  private readonly receive = (data: unknown): void => {
    const message = record(data);
    if (message['page'] !== this.page) {
      return; // Addressed to another view of this widget.
    }
    this.lastMessageAt = Date.now();
    const call = this.pending.get(number(message['id']) ?? 0);
    if (message['type'] === 'result' || message['type'] === 'error') {
      this.pending.delete(number(message['id']) ?? 0);
      if (message['type'] === 'result') {
        call?.resolve(message['value']);
      } else {
        const { message: text, fix, code, status, details } = message;
        call?.reject(new EngineError(string(text), string(fix), string(code), number(status) ?? 0, record(details)));
      }
    } else {
      this.socket?.receive(message);
    }
  };

  /**
   * Reject calls that have waited too long. A live kernel sends heartbeats, even if its answer is late because a cell
   * runs.
   */
  private rejectOverdue(): void {
    const now = Date.now();
    this.pending.forEach(({ reject, since }, id) => {
      if (now - Math.max(since, this.lastMessageAt) > TIMEOUT) {
        this.pending.delete(id);
        reject(this.timeoutError());
      }
    });
  }

  private timeoutError(): EngineError {
    return new EngineError(
      this.trans.__('The kernel does not respond: it is busy or has exited.'),
      this.trans.__('Wait for the running cell, or rerun the cell that shows the job.')
    );
  }

  private readonly stream: JobStream;
  private readonly page = `${Math.random().toString(36).slice(2)}${Date.now().toString(36)}`;
  private readonly pending = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: EngineError) => void; since: number }
  >();
  private readonly watchdog: ReturnType<typeof setInterval>;
  private socket: KernelSocket | null = null;
  private streamCount = 0;
  private callCount = 0;
  private lastMessageAt = 0;
}

/** The stream of one page. It closes when a message was lost or no heartbeat arrives. */
class KernelSocket implements ISocket {
  constructor(
    private readonly post: (message: object) => void,
    private readonly number: number
  ) {
    this.timer = setTimeout(() => this.fail(), TIMEOUT);
    // The creator attaches its handlers first.
    queueMicrotask(() => this.isClosed || post({ type: 'open', stream: number }));
    // The kernel treats a page without heartbeats as closed.
    this.heartbeat = setInterval(() => post({ type: 'ping' }), TIMEOUT);
  }

  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onclose: ((event: never) => void) | null = null;

  send(text: string): void {
    this.post({ type: 'send', stream: this.number, text });
  }

  close(): void {
    if (!this.isClosed) {
      this.end();
      this.post({ type: 'close', stream: this.number });
    }
  }

  /** Process a stream message from the kernel. */
  receive(message: Json): void {
    if (this.isClosed || message['stream'] !== this.number) {
      return;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fail(), TIMEOUT);
    const n = number(message['n']) ?? 0;
    switch (message['type']) {
      case 'open-ack':
        this.onopen?.(undefined as never);
        break;
      case 'data':
        if (n === this.count + 1) {
          this.count = n;
          this.onmessage?.({ data: string(message['text']) } as MessageEvent);
        } else {
          this.fail();
        }
        break;
      case 'heartbeat':
        if (n !== this.count) {
          this.fail();
        }
        break;
      default:
        this.fail();
    }
  }

  private fail(): void {
    const { onclose } = this;
    this.close();
    onclose?.(undefined as never);
  }

  private end(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    clearInterval(this.heartbeat);
  }

  private isClosed = false;
  private count = 0;
  private timer: ReturnType<typeof setTimeout>;
  private readonly heartbeat: ReturnType<typeof setInterval>;
}
