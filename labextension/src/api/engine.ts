/**
 * The engine as views see it: the Jupyter server, or a kernel where there is no server extension.
 *
 * Views take what they show from here and from nowhere else, so the same view works in JupyterLab, in Notebook 7 and as
 * a widget in VS Code or Colab.
 */

import type { Verb } from './routes.js';
import type { Json, Message, Topic } from './wire.js';

/** What a verb is given: the names in its path and its query. */
export type Parameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface IEngine {
  /** Who answers: it is named where it does not. */
  readonly kind: 'server' | 'kernel';

  /**
   * Call a verb; the JSON of its answer.
   *
   * @throws EngineError with the engine's own words.
   */
  call(verb: Verb, parameters?: Parameters, body?: unknown): Promise<unknown>;

  /**
   * Call a verb that takes bytes as they are. Left out where only JSON has a way.
   *
   * @throws EngineError, also when `signal` is aborted.
   */
  sendBytes?(verb: Verb, parameters: Parameters, bytes: Blob, signal: AbortSignal): Promise<unknown>;

  /** Receive what a topic brings until it ends or `signal` is aborted; nothing is missed or doubled by a broken connection. */
  subscribe(topic: Topic, receive: (message: Message) => void, signal: AbortSignal): void;

  /** An address from which the browser gets the bytes of a verb, as of a file; null where there is none. */
  address(verb: Verb, parameters: Parameters): string | null;

  /** Be told how the connection is, now and whenever that changes, until `signal` is aborted. */
  watch(receive: (connection: IConnection) => void, signal: AbortSignal): void;
}

/** `retryAt`: when a broken connection is tried again, in milliseconds since 1970. */
export interface IConnection {
  readonly state: 'idle' | 'connecting' | 'open' | 'broken';
  readonly retryAt: number | null;
}

/** What the engine said instead of an answer. `status` is HTTP's; 0 if nothing was heard at all. `details` are for programs. */
export class EngineError extends Error {
  constructor(
    message: string,
    readonly fix = '',
    readonly code = '',
    readonly status = 0,
    readonly details: Json = {}
  ) {
    super(message);
    this.name = 'EngineError';
  }
}
