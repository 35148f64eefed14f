/**
 * The one socket of this browser tab, with any number of subscriptions.
 *
 * A socket that breaks is opened again, sooner or later; each subscription then says where it stood, so nothing is
 * missed and nothing comes twice. Without subscriptions there is no socket.
 */

import type { Message } from './wire.js';
import { parseMessage } from './wire.js';

/** What of a WebSocket is used here. */
export interface ISocket {
  onopen: ((event: never) => void) | null;
  onmessage: ((event: MessageEvent) => void) | null;
  onclose: ((event: never) => void) | null;
  send(text: string): void;
  close(): void;
}

/** What is subscribed to: a job's state, or its log from a place on. */
export type Topic =
  | { readonly topic: 'job'; readonly job: string }
  | { readonly topic: 'log'; readonly job: string; readonly tail: number };

interface ISubscription {
  readonly topic: Topic;
  readonly receive: (message: Message) => void;
  /** Byte offset up to which the log has come; null before any of it has. */
  offset: number | null;
}

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;

export class JobStream {
  /**
   * @param open - opens a socket to the server's stream.
   */
  constructor(private readonly open: () => ISocket) {}

  /**
   * Receive what a topic brings until it ends or `signal` is aborted.
   */
  subscribe(topic: Topic, receive: (message: Message) => void, signal: AbortSignal): void {
    if (signal.aborted) {
      return;
    }
    const id = this.nextId++;
    const subscription: ISubscription = { topic, receive, offset: null };
    this.subscriptions.set(id, subscription);
    signal.addEventListener('abort', () => this.drop(id), { once: true });
    if (this.isOpen) {
      this.ask(id, subscription);
    } else {
      this.connect();
    }
  }

  private drop(id: number): void {
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
    socket.onopen = () => {
      this.isOpen = true;
      this.pause = FIRST_PAUSE;
      this.subscriptions.forEach((subscription, id) => this.ask(id, subscription));
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
  }

  private reconnect(): void {
    this.socket = null;
    this.isOpen = false;
    if (this.subscriptions.size === 0) {
      return;
    }
    this.timer = setTimeout(() => {
      this.timer = null;
      this.connect();
    }, this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
  }

  private ask(id: number, { topic, offset }: ISubscription): void {
    const place = topic.topic === 'log' ? (offset === null ? { tail: topic.tail } : { offset }) : {};
    this.socket?.send(JSON.stringify({ type: 'subscribe', id, topic: topic.topic, job: topic.job, ...place }));
  }

  private receive(text: string): void {
    const message = parseMessage(text);
    const subscription = message && this.subscriptions.get(message.id);
    if (!message || !subscription) {
      return;
    }
    if (message.type === 'log') {
      subscription.offset = message.end;
    }
    if (message.type === 'end' || message.type === 'error') {
      this.subscriptions.delete(message.id);
    }
    subscription.receive(message);
    if (this.subscriptions.size === 0) {
      this.disconnect();
    }
  }

  private readonly subscriptions = new Map<number, ISubscription>();
  private socket: ISocket | null = null;
  private isOpen = false;
  private nextId = 1;
  private pause = FIRST_PAUSE;
  private timer: ReturnType<typeof setTimeout> | null = null;
}
