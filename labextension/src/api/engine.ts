/**
 * The engine as views see it: a Jupyter server, or a kernel without the server extension.
 *
 * Views get all their data through this interface, so the same view works in JupyterLab, in Notebook 7, and as a widget
 * in VS Code or Colab.
 */

import type { Verb } from './routes.js';
import type { Json, Message, Topic } from './wire.js';

/** Parameters of a call: the names in the path of its route, and the query. */
export type Parameters = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface IEngine {
  /** The side that responds, a server or a kernel. Named in error messages. */
  readonly kind: 'server' | 'kernel';

  /**
   * Call a verb and return the parsed JSON of the response.
   *
   * @throws EngineError with the engine's message.
   */
  call(verb: Verb, parameters?: Parameters, body?: unknown): Promise<unknown>;

  /**
   * Call a verb with a binary body. Undefined where only JSON can be sent.
   *
   * @throws EngineError, also when `signal` is aborted.
   */
  sendBytes?(verb: Verb, parameters: Parameters, bytes: Blob, signal: AbortSignal): Promise<unknown>;

  /** Subscribe to a topic until it ends or `signal` is aborted. Reconnects lose and repeat no messages. */
  subscribe(topic: Topic, receive: (message: Message) => void, signal: AbortSignal): void;

  /** Return the URL from which a browser downloads the response of a verb, such as a file; null if there is none. */
  url(verb: Verb, parameters: Parameters): string | null;

  /** Report the state of the connection, now and on every change, until `signal` is aborted. */
  watch(receive: (connection: IConnection) => void, signal: AbortSignal): void;
}

/** `retryAt`: time of the next attempt to reconnect, in milliseconds since 1970. */
export interface IConnection {
  readonly state: 'idle' | 'connecting' | 'open' | 'broken';
  readonly retryAt: number | null;
}

/** An error response. `status` is the HTTP status, 0 if there was no response. `details` are for programs. */
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

/** A message for the user, and how to fix the problem. `code` names its kind. */
export interface IErrorMessage {
  readonly message: string;
  readonly fix: string;
  readonly code?: string;
}

/** The code of an error of credentials that are missing, wrong or expired. */
export const CREDENTIALS_ERROR = 'CredentialsError';

/** Return an error as a message with its fix. */
export function errorMessageOf(error: unknown): IErrorMessage {
  const { fix, code } = error instanceof EngineError ? error : { fix: '', code: '' };
  return { message: error instanceof Error ? error.message : String(error), fix, ...(code && { code }) };
}

/** Return an error as one text, with its fix. */
export function errorText(error: unknown): string {
  const { message, fix } = errorMessageOf(error);
  return `${message} ${fix}`.trim();
}
