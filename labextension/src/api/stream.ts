/**
 * The one socket of this browser tab, shared by any number of subscriptions.
 *
 * A lost connection is opened again. Each subscription then states its position, so no message is lost or repeated.
 * Without subscriptions, the socket is closed.
 */

import type { IConnection } from './engine.js';
import type { Message, Topic } from './wire.js';
import { parseMessage } from './wire.js';

/** The part of a WebSocket used here. */
export interface ISocket {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onclose: ((event: never) => void) | null;
  send(text: string): void;
  close(): void;
  /** Check whether the other end still responds. */
  check?(): void;
}

interface ISubscription {
  readonly topic: Topic;
  readonly receive: (message: Message) => void;
  /** The position to resume from: fields that replace those of the topic. */
  position: Readonly<Record<string, unknown>>;
}

const FIRST_DELAY = 500;
const LONGEST_DELAY = 30_000;

export class JobStream {
  /**
   * @param open - opens a socket to the stream of the server.
   */
  constructor(private readonly open: () => ISocket) {}

  /** Subscribe to a topic until it ends or `signal` is aborted. */
  subscribe(topic: Topic, receive: (message: Message) => void, signal: AbortSignal): void {
    if (signal.aborted) {
      return;
    }
    const id = this.nextId++;
    const subscription: ISubscription = { topic, receive, position: {} };
    this.subscriptions.set(id, subscription);
    signal.addEventListener('abort', () => this.unsubscribe(id), { once: true });
    if (this.isOpen) {
      this.sendSubscribe(id, subscription);
    } else {
      this.connect();
    }
  }

  /** Report the state of the connection, now and on every change, until `signal` is aborted. */
  watch(receive: (connection: IConnection) => void, signal: AbortSignal): void {
    this.watchers.add(receive);
    signal.addEventListener('abort', () => this.watchers.delete(receive), { once: true });
    receive(this.connection);
  }

  /** The network may have changed: reconnect a lost connection now, or check an open one. */
  check(): void {
    if (this.timer !== null) {
      clearTimeout(this.timer);
      this.timer = null;
      this.connect();
    } else {
      this.socket?.check?.();
    }
  }

  private unsubscribe(id: number): void {
    if (!this.subscriptions.delete(id)) {
      return;
    }
    if (this.isOpen) {
      this.socket?.send(JSON.stringify({ type: 'unsubscribe', id }));
    }
    if (this.subscriptions.size === 0) {
      this.disconnect();
    }
  }

  private connect(): void {
    if (this.socket || this.timer !== null) {
      return;
    }
    const socket = this.open();
    this.socket = socket;
    if (this.connection.state === 'idle') {
      this.setState('connecting');
    }
    socket.onopen = () => {
      this.isOpen = true;
      this.retryDelay = FIRST_DELAY;
      this.setState('open');
      this.subscriptions.forEach((subscription, id) => this.sendSubscribe(id, subscription));
    };
    socket.onmessage = event => this.receive(String(event.data));
    socket.onclose = () => this.reconnect();
  }

  private disconnect(): void {
    if (this.timer !== null) {
      clearTimeout(this.timer);
      this.timer = null;
    }
    if (this.socket) {
      this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
      this.socket.close();
    }
    this.socket = null;
    this.isOpen = false;
    this.setState('idle');
  }

  private reconnect(): void {
    this.socket = null;
    this.isOpen = false;
    if (this.subscriptions.size === 0) {
      this.setState('idle');
      return;
    }
    this.timer = setTimeout(() => {
      this.timer = null;
      this.connect();
    }, this.retryDelay);
    this.setState('broken', Date.now() + this.retryDelay);
    this.retryDelay = Math.min(this.retryDelay * 2, LONGEST_DELAY);
  }

  private setState(state: IConnection['state'], retryAt: number | null = null): void {
    if (this.connection.state !== state || this.connection.retryAt !== retryAt) {
      this.connection = { state, retryAt };
      this.watchers.forEach(receive => receive(this.connection));
    }
  }

  private sendSubscribe(id: number, { topic, position: place }: ISubscription): void {
    this.socket?.send(JSON.stringify({ type: 'subscribe', id, ...topic, ...place }));
  }

  private receive(text: string): void {
    const message = parseMessage(text);
    const subscription = message && this.subscriptions.get(message.id);
    if (!message || !subscription) {
      return;
    }
    subscription.position = positionAfter(message, subscription.position);
    if (message.type === 'end' || message.type === 'error') {
      this.subscriptions.delete(message.id);
    }
    subscription.receive(message);
    if (this.subscriptions.size === 0) {
      this.disconnect();
    }
  }

  private readonly subscriptions = new Map<number, ISubscription>();
  private readonly watchers = new Set<(connection: IConnection) => void>();
  private connection: IConnection = { state: 'idle', retryAt: null };
  private socket: ISocket | null = null;
  private isOpen = false;
  private nextId = 1;
  private retryDelay = FIRST_DELAY;
  private timer: ReturnType<typeof setTimeout> | null = null;
}

/** Return the position of a subscription after a message. An offset replaces a `tail`. */
function positionAfter(
  message: Message,
  position: Readonly<Record<string, unknown>>
): Readonly<Record<string, unknown>> {
  switch (message.type) {
    case 'log':
      return { offset: message.end, tail: 0 };
    case 'jobs':
      return { after: message.event };
    case 'metrics': {
      const ends = [...message.metrics].map(([name, points]) => [name, points.end] as const);
      const sources = [...message.metrics].map(([name, points]) => [name, points.source] as const);
      return {
        counts: { ...(position['counts'] as Record<string, number> | undefined), ...Object.fromEntries(ends) },
        sources: { ...(position['sources'] as Record<string, string> | undefined), ...Object.fromEntries(sources) }
      };
    }
    default:
      return position;
  }
}
