/**
 * A socket that detects a dead connection. A network failure, or a computer that slept, can leave a socket that looks
 * open for many minutes.
 */

import type { ISocket } from './stream.js';

// Milliseconds between two pings. A message must arrive in between. Timers of hidden pages fire late, so times are not
// compared.
const PING_INTERVAL = 10_000;

export class HeartbeatSocket implements ISocket {
  constructor(private readonly socket: ISocket) {
    socket.onopen = event => {
      this.isOpen = true;
      this.isPingPending = false;
      this.onopen?.(event);
    };
    socket.onmessage = event => {
      this.isPingPending = false;
      this.onmessage?.(event);
    };
    socket.onclose = () => this.fail();
    this.timer = setInterval(() => this.check(), PING_INTERVAL);
  }

  onopen: ((event: never) => void) | null = null;
  onmessage: ((event: MessageEvent) => void) | null = null;
  onclose: ((event: never) => void) | null = null;

  send(text: string): void {
    this.socket.send(text);
  }

  close(): void {
    clearInterval(this.timer);
    this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
    this.socket.close();
  }

  /** Send a ping; close the connection if the previous ping was not answered. */
  check(): void {
    if (this.isPingPending) {
      this.fail();
      return;
    }
    this.isPingPending = true;
    if (this.isOpen) {
      this.socket.send('{"type":"ping"}');
    }
  }

  private fail(): void {
    this.close();
    this.onclose?.(undefined as never);
  }

  private readonly timer: ReturnType<typeof setInterval>;
  private isOpen = false;
  private isPingPending = false;
}
