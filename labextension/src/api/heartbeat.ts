/**
 * A socket that notices when its server is not heard any more: a network that drops, or a machine that slept, may leave
 * one that looks open for many minutes.
 */

import type { ISocket } from './stream.js';

// Milliseconds. Something has to be heard between two beats. (In pages behind others beats are rare: no times are compared.)
const BEAT = 10_000;

export class Lifeline implements ISocket {
  constructor(private readonly socket: ISocket) {
    socket.onopen = event => {
      this.isOpen = true;
      this.isAsked = false;
      this.onopen?.(event);
    };
    socket.onmessage = event => {
      this.isAsked = false;
      this.onmessage?.(event);
    };
    socket.onclose = () => this.break();
    this.timer = setInterval(() => this.check(), BEAT);
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

  /** Ask the server for a sign of life; if the last question was not answered, the connection is broken. */
  check(): void {
    if (this.isAsked) {
      this.break();
      return;
    }
    this.isAsked = true;
    if (this.isOpen) {
      this.socket.send('{"type":"ping"}');
    }
  }

  private break(): void {
    this.close();
    this.onclose?.(undefined as never);
  }

  private readonly timer: ReturnType<typeof setInterval>;
  private isOpen = false;
  private isAsked = false;
}
